"""Answers as graphs of RDF, whose names say from when to when their facts hold.

    <urn:thalweg:begin:40>     what began at a tick, `end` what ended, `unknown` what became unknown
    <urn:thalweg:snapshot:41>, <urn:thalweg:events:5>     an event of a stream that can be read again
    <urn:thalweg:interval:38:41>     all that holds just so long
    <urn:thalweg:window:38:40>       an answer set

Statements about a graph stand in the default graph. One that may lack something is another graph, and says so.
"""

from collections.abc import Iterable, Iterator, Sequence
from json.encoder import encode_basestring as quoted
from typing import Final

from thalweg.answers.event_answers import facts_of_events
from thalweg.answers.record import Answer
from thalweg.answers.text_answers import not_facts
from thalweg.connectors.publish import PublishedGraph, Statements
from thalweg.model.rdf import GENERATED_AT, OWN, XSD, as_ntriples
from thalweg.model.time import FOREVER, TimeFormat

_TRUE: Final = f'"true"^^<{XSD}boolean>'
_VALID_FROM: Final = "<https://schema.org/validFrom>"
_VALID_THROUGH: Final = "<https://schema.org/validThrough>"
# The columns of changes in the order of their graphs.
_CHANGES: Final = (
    (1, "end", "<http://www.w3.org/ns/prov#invalidatedAtTime>"),
    (2, "unknown", f"{OWN}unknownFrom>"),
    (0, "begin", GENERATED_AT),
)


def graphs(answer: Answer, times: TimeFormat) -> Iterator[PublishedGraph]:
    """The graphs of an answer; `RejectedError` where it is not made of facts."""
    match answer.kind, answer.columns:
        case "changes", columns:
            for place, name, predicate in _CHANGES:
                if columns[place]:
                    when = _time(predicate, "tick", answer.t, times)
                    yield _graph(f"{name}:{answer.t}", columns[place], answer.shed, when)
        case "snapshot", (facts,):
            yield from _snapshots(range(answer.start, answer.t + 1), facts, answer.shed, times)
        case "triples", (facts,):
            yield from _snapshots(range(answer.t, answer.t + 1), facts, (), times)
        case "intervals", (facts, starts):
            until = answer.t
            end = () if until == FOREVER else _time(_VALID_THROUGH, "until", until, times)
            for fact, start in zip(facts, starts, strict=True):
                name = f"interval:{start}" if until == FOREVER else f"interval:{start}:{until}"
                yield _graph(name, (fact,), answer.shed, (*_time(_VALID_FROM, "from", start, times), *end))
        case "answer sets", sets:
            yield from _answer_sets(answer, sets, times)
        case "events", (lines,):
            if facts := facts_of_events(lines):
                tick = lines[0].t
                yield PublishedGraph(f"{OWN}events:{tick}>", facts, _time(GENERATED_AT, "tick", tick, times))
        case kind, _:
            raise not_facts(kind)


def _snapshots(
    ticks: Iterable[int], facts: Sequence[str], shed: tuple[str, ...], times: TimeFormat
) -> Iterator[PublishedGraph]:
    """One for each tick at which something holds."""
    for tick in ticks if facts else ():
        yield _graph(f"snapshot:{tick}", facts, shed, _time(GENERATED_AT, "tick", tick, times))


def _answer_sets(answer: Answer, sets: Sequence[Sequence[str]], times: TimeFormat) -> Iterator[PublishedGraph]:
    """One for each answer set, and one that only says so where there is none."""
    statements = (
        *_time(GENERATED_AT, "tick", answer.t, times),
        (f"{OWN}from>", as_ntriples(str(answer.start))),
    )
    marks = {"incomplete": answer.incomplete, "inconsistent": not sets and not answer.incomplete}
    statements += tuple((f"{OWN}{mark}>", _TRUE) for mark, holds in marks.items() if holds)
    for facts in sets or ((),):
        yield PublishedGraph(f"{OWN}window:{answer.start}:{answer.t}>", tuple(facts), statements)


def _graph(name: str, facts: Sequence[str], shed: tuple[str, ...], statements: Statements) -> PublishedGraph:
    """A graph with a name of our own."""
    if not shed:
        return PublishedGraph(f"{OWN}{name}>", tuple(facts), statements)
    missing = tuple((f"{OWN}shed>", quoted(predicate)) for predicate in shed)
    return PublishedGraph(f"{OWN}{name}:partial>", tuple(facts), (*statements, (f"{OWN}partial>", _TRUE), *missing))


def _time(predicate: str, name: str, tick: int, times: TimeFormat) -> Statements:
    """A tick as a moment, and as itself; as itself alone where it lies beyond all calendars."""
    number = as_ntriples(str(tick))
    return (predicate, _moment(tick, times) or number), (f"{OWN}{name}>", number)


def _moment(tick: int, times: TimeFormat) -> str | None:
    """The moment at which a tick begins; the clock maps it to the same tick again.

    >>> from thalweg.model.time import Calendar, Clock
    >>> _moment(9, TimeFormat(Calendar(Clock(tick_length=100)))), _moment(10**15, TimeFormat())
    ('"1970-01-01T00:00:00.900Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>', None)
    """
    written = times.moment(tick)
    return None if written is None else f'"{written}"^^<{XSD}dateTime>'
