"""Whatever order facts come in, and however batches are cut: the answers and the late facts of one process."""

import json
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg import api
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.runtimes.embedded import Settings
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.pack import Packer
from thalweg.runtimes.spark.wire import ANSWERS, LATE, OUT, unwrap
from thalweg.runtimes.spark.worker import Worker
from thalweg.runtimes.watermark import Watermark
from thalweg.testing.evaluators import arrived

PROGRAM = api.load("steady(X) :- p(X) always in [2]. seen(X) :- p(X) in [3]. quiet(X) :- seen(X), not r(X) in [1].")
FACTS = st.lists(st.sampled_from(("p(a)", "p(b)", "r(a)", "other(x)")), max_size=2, unique=True)
EVENTS = st.lists(st.tuples(st.integers(0, 12), FACTS), min_size=1, max_size=9)


@settings(max_examples=150, deadline=None)
@given(events=EVENTS, delay=st.integers(0, 3), cuts=st.sets(st.integers(1, 8), max_size=4))
def test_disorder_is_settled_alike(events: list[tuple[int, list[str]]], delay: int, cuts: set[int]) -> None:
    known = [Event(tick, tuple(Fact(*_parts(fact)) for fact in facts)) for tick, facts in events]
    assert by_batches(known, delay, sorted(cut for cut in cuts if cut < len(events))) == in_one_process(known, delay)


def _parts(fact: str) -> tuple[str, tuple[str, ...]]:
    name, _, rest = fact.partition("(")
    return name, (rest[:-1],)


def in_one_process(events: list[Event], delay: int) -> tuple[list[tuple[int, str, str]], list[str]]:
    late: list[str] = []
    found = []
    with api.start(api.Parts(PROGRAM), events, api.Timing(delay=delay), "changes", late=late.append) as job:
        for piece in job.pieces():
            for answer in () if piece is None else piece.answers():
                found += [(answer.t, "+", str(fact)) for fact in answer.begin]  # type: ignore[union-attr]
                found += [(answer.t, "-", str(fact)) for fact in answer.end]  # type: ignore[union-attr]
    return sorted(found), sorted(fact for line in late for fact in _late(line))


def _late(line: str) -> list[str]:
    told = json.loads(line)
    return [f"{fact} at {told['t']}, {told['watermark']}" for fact in told["facts"]]


def by_batches(events: list[Event], delay: int, cuts: list[int]) -> tuple[list[tuple[int, str, str]], list[str]]:
    job = Job(PROGRAM, Settings(delay=delay, emit="changes"), 2)
    keys = [(stage, bucket) for stage in range(len(job.stages)) for bucket in job.buckets(stage)]
    workers = {key: Worker(job, *key) for key in keys}
    packer, watermark = Packer(job, 0, 0), Watermark(delay)
    found, late = [], []
    for start, end in pairwise([0, *cuts, len(events)]):
        post = list(packer.pack(arrived(events[start:end], packer.words, watermark), ended=end == len(events)))
        for key, worker in workers.items():
            post += worker.process([each.payload for each in post if (each.stage, each.bucket) == key])
        for content in (unwrap(each.payload) for each in post if each.stage == OUT):
            lists = content.lists
            if content.kind == ANSWERS:
                signs = ("-" if ended else "+" for ended in lists["ended"])
                found += zip(lists["ticks"].tolist(), signs, lists["facts"].to_pylist(), strict=True)
            elif content.kind == LATE:
                told = zip(lists["facts"], lists["ticks"].tolist(), lists["watermarks"].tolist(), strict=True)
                late += [f"{fact} at {tick}, {watermark}" for fact, tick, watermark in told]
    return sorted(found), sorted(late)
