"""What a batch on Spark delivers is written as the embedded runtime writes it."""

import os
import sys
from types import SimpleNamespace

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from thalweg.answers.answer_columns import FactColumns
from thalweg.answers.answer_formats import FORMATS, AnswerFormat, formatter
from thalweg.answers.jsonl import jsonl
from thalweg.answers.record import changes, interval, snapshots
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError, Source, Span
from thalweg.runtimes.spark.bucket_answers import BEGIN, LATE_FACT, OVER
from thalweg.runtimes.spark.delivery import Delivery
from thalweg.runtimes.spark.wire import warning_text
from thalweg.runtimes.watermark import FAR

A, B = "<http://ex.org/C>(<http://ex.org/a>)", "<http://ex.org/p>(<http://ex.org/b>,3)"
DONE = {"kind": OVER, "t": 4, "until": 3, "fact": "", "stream": None}


def row(tick, fact, until=-1, kind=BEGIN):
    return {"kind": kind, "t": tick, "until": until, "fact": fact, "stream": None}


def table(rows):
    """Rows as Spark hands them over."""
    kinds = {"kind": pa.string(), "t": pa.int64(), "until": pa.int64(), "stream": pa.string(), "fact": pa.string()}
    return pa.Table.from_pylist(rows, schema=pa.schema(kinds))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("emit", "rows", "pieces"),
    [
        ("changes", [row(3, B), row(3, A)], [changes(3, (A, B))]),
        ("intervals", [row(3, B, until=3), row(3, A)], [interval(B, 3, 3), interval(A, 3, None)]),
        ("snapshot", [row(3, A), row(4, A), row(4, B)], [snapshots(3, 3, (A,)), snapshots(4, 4, (A, B))]),
    ],
)
def test_every_format(tmp_path, emit, rows, pieces, format):
    write = formatter(format)
    out = tmp_path / "answers"
    delivery = Delivery(
        tmp_path / "delivered.json", str(out), None, emit, AnswerFormat(format, columns=FactColumns(emit))
    )
    delivery.deliver(0, table([*rows, DONE]))
    delivery.close()
    assert out.read_text() == "".join(text for piece in pieces for text in write(piece))


SHED = {"kind": "shed", "t": 3, "until": 3, "fact": "p/1", "stream": "a/1"}


@pytest.mark.parametrize(
    ("emit", "rows", "pieces"),
    [
        (
            "changes",
            [row(3, B, kind="unknown"), row(4, A)],
            [changes(3, unknown=(B,), shed=("p/1",)), changes(4, (A,))],
        ),
        (
            "intervals",
            [row(1, B, until=1), row(1, B, until=2), row(4, A)],
            [interval(B, 1, 1), interval(B, 1, 2, ("p/1",)), interval(A, 4, None, ("p/1",))],
        ),
        ("snapshot", [row(4, A)], [snapshots(3, 3, (), ("p/1",)), snapshots(4, 4, (A,))]),
    ],
)
def test_what_was_shed_is_said(tmp_path, emit, rows, pieces):
    out, found = tmp_path / "answers", []
    delivery = Delivery(tmp_path / "delivered.json", str(out), None, emit, report=found.append)
    delivery.deliver(0, table([*rows, SHED, DONE]))
    delivery.close()
    assert out.read_text() == "".join(text for piece in pieces for text in jsonl(piece))
    assert [each.code for each in found] == ["W414"]
    assert "`a/1` may lack facts" in found[0].message
    assert "between ticks 3 and 3" in delivery.shedding.summary().message


@pytest.mark.parametrize("left", [None, "{"])
def test_a_file_that_lost_answers_is_not_written_on(tmp_path, left):
    """It is gone, or shorter than what was delivered."""
    out = tmp_path / "answers"
    delivery = Delivery(tmp_path / "delivered.json", str(out), None, "changes")
    delivery.deliver(0, table([row(3, A), DONE]))
    delivery.close()
    assert out.stat().st_size > 1
    out.unlink() if left is None else out.write_text(left)
    with pytest.raises(RejectedError, match="does not contain what this run has written"):
        Delivery(tmp_path / "delivered.json", str(out), None, "changes")


def test_a_warning_of_many_buckets_is_given_once(tmp_path):
    place = Span(Source("x.lars", "a(X) :- e(X,Y), Y > 5."), 16, 21)
    texts = [warning_text(Diagnostic("W305", f"`Y > 5` compared `{term}`", place)) for term in "xy"]
    other = warning_text(Diagnostic("W305", "`Y > 7` compared `x`"))
    found = []
    delivery = Delivery(tmp_path / "ledger", str(tmp_path / "out.jsonl"), None, "changes", report=found.append)
    for batch, text in enumerate([texts[1], texts[0], other, other]):
        delivery.deliver(batch, table([row(batch, text, kind="warning"), row(batch, "", 0, "decided")]))
    delivery.close()
    assert [one.message for one in found] == ["`Y > 5` compared `y`", "`Y > 7` compared `x`"]


def test_far_facts_are_not_counted_as_late_before_or_after_they_are_delivered(tmp_path):
    delivery = Delivery(tmp_path / "ledger", str(tmp_path / "out.jsonl"), None, "changes")
    decided = row(6, "", 0, "decided")
    delivery.deliver(0, table([row(3, "p(a)", 6, LATE_FACT), row(2, "p(b)", 6, LATE_FACT), decided]))
    assert [(counted.what, counted.count) for counted in delivery.late.counts()] == [("late", 2)]
    delivery.deliver(1, table([row(1, "p(c)", FAR + 7, LATE_FACT), decided]))
    delivery.close()
    found = delivery.late.summary()
    assert found.message == "2 facts were late and ignored: `p(b) at 2` arrived when the watermark was 6"


def test_far_facts_go_to_the_late_channel(tmp_path):
    late = tmp_path / "late.jsonl"
    delivery = Delivery(tmp_path / "ledger", str(tmp_path / "out.jsonl"), str(late), "changes")
    delivery.deliver(0, table([row(90, "p(c)", FAR + 7, LATE_FACT), row(6, "", 0, "decided")]))
    delivery.close()
    assert late.read_text() == '{"t":90,"watermark":7,"stream":null,"facts":["p(c)"]}\n'


def test_answers_that_cannot_be_written_end_the_run_in_a_sentence(tmp_path):
    delivery = Delivery(tmp_path / "delivered.json", "/dev/full", None, "changes")
    with pytest.raises(FailedError, match="the answers cannot be written: No space left on device"):
        delivery.deliver(0, table([row(3, A), DONE]))
    delivery.close()
    assert delivery.done.batch < 0


def test_a_reader_that_has_seen_enough_is_no_failure(tmp_path, monkeypatch):
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "wb", buffering=0) as pipe, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", SimpleNamespace(buffer=pipe))
        delivery = Delivery(tmp_path / "delivered.json", None, None, "changes")
        with pytest.raises(BrokenPipeError):
            delivery.deliver(0, table([row(3, A), DONE]))
        assert isinstance(delivery.error, BrokenPipeError)
        delivery.close()
