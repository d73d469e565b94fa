from dataclasses import dataclass, field

import pytest

from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.runtimes.inputs import Streams, Values, open_all


@dataclass
class Script:
    """A transport with its blocks written down."""

    name: str
    parts: list
    live: bool = False
    taken: list = field(default_factory=list)

    @property
    def stream(self):
        return self.name.partition(".")[0]

    def blocks(self, interrupt):
        for part in self.parts:
            self.taken.append(part)
            yield part.encode()


def together(*transports):
    """What comes, in order: `fact@tick`, diagnostics as their code, waits as None."""
    words = Dictionary()
    streams = Streams(transports, words, Clock(), Interrupt())
    for item in streams:
        if item is None:
            yield None
        elif isinstance(item, Diagnostic):
            yield item.code
        else:
            yield from (f"{fact}@{item[0]}" for fact in item[1].facts(words))


def test_files_are_merged_by_time_in_the_order_given():
    a = Script("a.facts", ["a1 at 1. a3 at 3.\n", "a4 at 4. a4b at 4.\n"])
    b = Script("b.jsonl", ['{"t":1,"facts":["b1"]}\n{"t":2,"facts":["b2"]}\n', '{"t":4,"facts":["b4"]}'])
    assert list(together(a, b)) == ["a1@1", "b1@1", "b2@2", "a3@3", "a4@4", "a4b@4", "b4@4"]
    assert list(together(b, a))[:2] == ["b1@1", "a1@1"]


def test_a_mistake_keeps_its_place():
    a = Script("a.facts", ["a1 at 1.\n(\na5 at 5.\n"])
    b = Script("b.facts", ["b2 at 2.\n"])
    assert list(together(a, b)) == ["a1@1", "E301", "b2@2", "a5@5"]


def test_a_live_stream_pauses_after_each_block():
    live = Script("-", ["a at 1.\nb a", "t 2.\n", "c at 3."], live=True)
    assert list(together(live)) == ["a@1", None, "b@2", None, None, "c@3", None]


def test_files_follow_the_clock_of_a_live_stream():
    live = Script("-", ["l2 at 2.\n", "l4 at 4.\n"], live=True)
    file = Script("f.facts", ["f1 at 1. f2 at 2. f3 at 3. f9 at 9."])
    assert list(together(file, live)) == ["f1@1", "f2@2", "l2@2", None, "f3@3", "l4@4", None, None, "f9@9"]


def test_what_was_read_ahead_is_known():
    words = Dictionary()
    transports = [Script("a.facts", ["a1 at 1. a2 at 2.\n"]), Script("b.facts", ["b5(x) at 5.\n"])]
    streams = Streams(transports, words, Clock(), Interrupt())
    next(iter(streams))
    assert "b5(x)" in [str(fact) for batch in streams.waiting() for fact in batch.facts(words)]


def test_everything_that_cannot_be_opened_is_told(tmp_path):
    good = tmp_path / "good.facts"
    good.write_text("")
    with pytest.raises(RejectedError) as caught:
        open_all([good, tmp_path / "nowhere.facts", "a.txt"])
    assert [found.code for found in caught.value.diagnostics] == ["E401", "E402"]


def test_a_list_of_values_is_there_and_an_iterator_may_be_waited_for():
    events = [(3, "p"), (4, "p")]
    assert len(list(Values(events, Dictionary()))) == 2
    assert [item is None for item in Values(iter(events), Dictionary())] == [False, True, False, True]
