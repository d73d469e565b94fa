"""Events that a Python program hands over, coded for the engine."""

from collections.abc import Iterable, Iterator

from thalweg.languages.lars.facts import read_fact
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch, Event
from thalweg.model.fact import Fact

__all__ = ["Facts", "code_events", "code_facts", "read_fact"]

Facts = str | Fact | Iterable[str | Fact]


def code_events(events: Iterable[Event | tuple[int, Facts]], words: Dictionary) -> Iterator[tuple[int, Batch]]:
    """Batches from `Event` values, or pairs of a tick and one or many facts, as text or as `Fact` values.

    >>> [(tick, batch.order) for tick, batch in code_events([(3, "p(a)"), (4, ["p(a)", "q"])], Dictionary())]
    [(3, ['p/1']), (4, ['p/1', 'q/0'])]
    """
    for event in events:
        if isinstance(event, Event):
            yield event.tick, code_facts(event.facts, words, event.stream)
        else:
            tick, facts = event
            yield tick, code_facts([facts] if isinstance(facts, str | Fact) else facts, words)


def code_facts(facts: Iterable[str | Fact], words: Dictionary, stream: str | None = None) -> Batch:
    """One batch of facts."""
    batch = Batch(stream=stream)
    for fact in facts:
        known = read_fact(fact) if isinstance(fact, str) else fact
        batch.add(known.signature, [words.code(term) for term in known.args])
    return batch
