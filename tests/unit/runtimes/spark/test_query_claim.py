"""What must not change while a query goes on, and is refused when it has."""

import json
from dataclasses import replace

import pytest

from buckets import rule_job
from thalweg import api
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import RejectedError
from thalweg.runtimes.spark.query_claim import QueryClaim, claims_in

PLAIN = rule_job(api.load("q(X) :- p(X)."), Settings(emit="changes"), partitions=2)
JOB = replace(PLAIN, groups=64, optional=frozenset(range(64)), by="partition")


def test_a_query_goes_on_with_the_same_column():
    assert JOB.fingerprint == replace(JOB).fingerprint
    QueryClaim.of(JOB, ["p"]).check(json.loads(QueryClaim.of(replace(JOB), ["p"]).as_text()))


@pytest.mark.parametrize(
    ("job", "change"),
    [(replace(JOB, by="device"), "`by='partition'`, not 'device'"), (PLAIN, "`by='partition'`, not None")],
)
def test_watermarks_by_another_column_are_refused(job, change):
    before = json.loads(QueryClaim.of(JOB, ["p"]).as_text())
    with pytest.raises(RejectedError, match="E408") as raised:
        QueryClaim.of(job, ["p"]).check(before, "state")
    assert change in str(raised.value)
    assert job.fingerprint != JOB.fingerprint


def test_another_table_with_the_column_is_refused():
    first = replace(JOB, groups=65, optional=frozenset(range(64)))
    second = replace(JOB, groups=65, optional=frozenset(range(1, 65)))
    assert first.fingerprint != second.fingerprint
    with pytest.raises(RejectedError, match="the same program with other settings"):
        QueryClaim.of(second, ["p", "q"]).check(json.loads(QueryClaim.of(first, ["p", "q"]).as_text()))


def test_offsets_of_a_topic_with_our_name_are_no_claim():
    claim = QueryClaim.of(JOB, ["p"]).as_text()
    offsets = ["v1", '{"batchWatermarkMs":0}', '{"thalweg":{"0":5,"1":7}}', '{"thalweg":5}', claim]
    assert [*claims_in(offsets)] == [json.loads(claim)]
