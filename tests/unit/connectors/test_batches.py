import pytest

from thalweg.connectors.batches import code_events
from thalweg.diagnostics import RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Event
from thalweg.model.fact import Fact


def coded(*events):
    words = Dictionary()
    return [
        (tick, batch.stream, [str(fact) for fact in batch.facts(words)]) for tick, batch in code_events(events, words)
    ]


def test_events_and_pairs():
    assert coded(
        Event(3, (Fact("p", ("a",)),), "s"), (4, "p( b )"), (5, Fact("q")), (6, ["p(a)", Fact("q")]), (7, [])
    ) == [
        (3, "s", ["p(a)"]),
        (4, None, ["p(b)"]),
        (5, None, ["q"]),
        (6, None, ["p(a)", "q"]),
        (7, None, []),
    ]


def test_what_is_no_fact_is_rejected():
    with pytest.raises(RejectedError):
        coded((3, "p(X)"))


@pytest.mark.parametrize("wrong", [{"device": "a", "temp": 21}, "p(a)", 5, (3,)], ids=str)
def test_what_is_not_an_event_is_refused_with_a_way_out(wrong: object) -> None:
    with pytest.raises(TypeError, match="is not an event; an event is a pair"):
        list(code_events([wrong], Dictionary()))
