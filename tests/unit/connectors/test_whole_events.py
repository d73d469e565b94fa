"""What is one event in a recording does not depend on where its blocks end, nor on where reading begins again."""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg import api
from thalweg.connectors.mapping import mapped_csv
from thalweg.connectors.readers import Reader, open_ordered
from thalweg.connectors.whole_events import whole_events
from thalweg.dataflow.context import Context, Settings
from thalweg.diagnostics import Diagnostic, Source
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.runtimes.spark.job import spread

TICKS = [36, 36, 36, 37, 36, 36, 38, 38]
TEXTS = {
    "in.tnt": "".join(f"{tick} <s{number}> <p{number % 2}> <o> .\n" for number, tick in enumerate(TICKS)),
    "in.facts": "".join(f"p{number % 2}(s{number}) at {tick}.\n" for number, tick in enumerate(TICKS)),
    "in.jsonl": "".join(
        f'{{"t": {tick}, "facts": ["p{number % 2}(s{number})"]}}\n' for number, tick in enumerate(TICKS)
    ),
    "in.csv": "".join(f"s{number},p{number % 2},o,{tick}\n" for number, tick in enumerate(TICKS)),
}
HEADERS = {"in.csv": "s,p,o,t\n"}
WRONG = "38 nothing\n"


def opened(name: str, words: Dictionary) -> Reader:
    return whole_events(open_ordered(name, "in", words, Clock()), name, words)


def events(name: str, blocks: Sequence[bytes], is_resumed: bool) -> Iterator[tuple[int, list[str]]]:
    words = Dictionary()
    reader = opened(name, words)
    for block in [*blocks, None]:
        for item in reader.finish() if block is None else reader.feed(block):
            yield (-1, []) if isinstance(item, Diagnostic) else (item[0], [str(fact) for fact in item[1].facts(words)])
        if is_resumed and block is not None:
            saved = json.loads(json.dumps(reader.save()))
            words = Dictionary()
            reader = opened(name, words)
            reader.load(saved)


@pytest.mark.parametrize("is_resumed", [False, True])
@pytest.mark.parametrize("name", TEXTS)
@given(places=st.lists(st.integers(0, 400), max_size=6), is_wrong=st.booleans())
def test_blocks_do_not_cut_events(name: str, is_resumed: bool, places: list[int], is_wrong: bool) -> None:
    text = (HEADERS.get(name, "") + TEXTS[name] + WRONG * is_wrong + TEXTS[name]).encode()
    cuts = sorted({0, *(place for place in places if place < len(text)), len(text)})
    blocks = [text[start:end] for start, end in pairwise(cuts)]
    with patch.object(mapped_csv, "_HEADER_NEEDS", 1):
        expected = [*events(name, [text], False)]
        assert [*events(name, blocks, is_resumed)] == expected
    assert [len(facts) for _, facts in expected[:4]] == [3, 1, 2, 2]


def test_graphs_of_one_time_are_events_by_themselves() -> None:
    lines = [f'{{"t": 3, "graph": "<s{number}> <p> <o> ."}}\n'.encode() for number in range(4)]
    expected = [(3, [f"<p>(<s{number}>,<o>)"]) for number in range(4)]
    assert [*events("in.jsonl", lines, True)] == expected


def test_rows_of_an_event_are_counted() -> None:
    lines = [f'{{"t": 3, "facts": ["p(s{number})", "q(s{number})"]}}\n'.encode() for number in range(4)]
    reader = opened("in.jsonl", Dictionary())
    items = [item for line in lines for item in reader.feed(line)] + [*reader.finish()]
    assert [item[1].rows_arrived for item in items if isinstance(item, tuple)] == [4]


def test_operators_that_classify_events_need_them_whole() -> None:
    ontology = Source("site.ofn", "Prefix(:=<http://ex/>)\nOntology(SubClassOf(:s :t))")
    classes = api.load_part([ontology], ontology=api.OntologyOptions(task="abstraction", profile="dl"))
    rules = api.load_part([Source("rules.lars", "q(X) :- p(X).")])
    for part, is_needed in ((classes, True), (rules, False)):
        plan = spread(part, Context(Settings(), Clock(), print), 2).job.plan
        assert any(spec.whole_events for spec in plan.operators) is is_needed
