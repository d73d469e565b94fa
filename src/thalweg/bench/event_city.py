"""The city of the benchmark of abstraction as a cascade: what its events, patterns and subscriptions are as text."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from thalweg.bench.abstraction import SPACE, background, events, ontology
from thalweg.model.rdf import GENERATED_AT, RDF_TYPE, XSD

PER_TICK: Final = 100
_PROLOGUE: Final = f"PREFIX : <{SPACE}>\nPREFIX xsd: <{XSD}>\n"
_CLASSES: Final = """
NAMED EVENT :HighTraffic AS :Observation and (:observedFeature some :Road2) and (:hasValue some xsd:double[> 0.5])
NAMED EVENT :LowTraffic AS :Observation and (:observedFeature some :Road2) and (:hasValue some xsd:double[< 0.3])
NAMED EVENT :Alert AS :Alarm
"""
# One road in five is of the kind that the patterns are about, and one in five is busy.
_DECREASING: Final = """
NAMED EVENT :Decreasing{number} {{
  MATCH EVERY :HighTraffic SEQ :LowTraffic WITHIN ({seconds} s)
  IF {{ EVENT :HighTraffic {{ ?high :observedProperty ?p . ?p :isPropertyOf {road} }}
       EVENT :LowTraffic {{ ?low :observedProperty ?q . ?q :isPropertyOf {road} }} }}
}}
"""
_ABOVE: Final = """
NAMED EVENT :CalmerDistrict {
  MATCH EVERY :Decreasing SEQ NOT :HighTraffic SEQ :LowTraffic WITHIN (120 s)
  IF { EVENT :Decreasing { ?d :observedProperty ?dp . ?dp :isPropertyOf ?r . ?r :partOf ?district }
       EVENT :HighTraffic { ?h :observedProperty ?hp . ?hp :isPropertyOf ?hr . ?hr :partOf ?district }
       EVENT :LowTraffic { ?l :observedProperty ?lp . ?lp :isPropertyOf ?lr . ?lr :partOf ?district } }
}
NAMED EVENT :BusyWhileCalm {
  MATCH EVERY :CalmerDistrict SEQ :Alert WITHIN (180 s)
  IF { EVENT :Alert { ?a :hasValue ?v . FILTER(?v > 0.99) } }
}
"""
_SELECTION: Final = """
FROM NAMED WINDOW :w ON STREAM :city [RANGE {seconds}s, SLIDE {seconds}s]
WHERE {{ {background} WINDOW :w {{ ?o a :Observation ; :observedProperty ?p ; :hasValue ?v . FILTER({condition}) }} }}
"""


def program(seconds: int = 60) -> str:
    """Patterns three levels deep over classes of observations.

    >>> program().count("NAMED EVENT")
    6
    """
    return _PROLOGUE + _CLASSES + _DECREASING.format(number="", seconds=seconds, road="?road") + _ABOVE


def subscriptions(count: int, roads: int, seconds: int = 60) -> str:
    """As many definitions, each about one of the roads that the classes are about.

    >>> subscriptions(3, 20).count("MATCH")
    3
    """
    return event_classes() + "".join(subscription(number, roads, seconds) for number in range(count))


def event_classes() -> str:
    """The classes of events that subscriptions are about.

    >>> event_classes().count("NAMED EVENT")
    2
    """
    return _PROLOGUE + _CLASSES.partition("NAMED EVENT :Alert")[0]


def subscription(number: int, roads: int, seconds: int = 60) -> str:
    """The definition of an event `:Decreasing7` about one of the roads that the classes are about."""
    about = [road for road in range(roads) if road % 5 == 2]
    road = f":road{about[number % len(about)]}"
    return _DECREASING.format(number=number, seconds=seconds + number // len(about), road=road)


def selecting(seconds: int, share: float | None = None) -> str:
    """A pattern behind a selection of what it needs, in tumbling windows; or of a share of all events.

    >>> "SLIDE 2s" in selecting(2)
    True
    """
    background, condition = "?p a :CongestionLevel ; :isPropertyOf ?road . ?road a :Road2 .", "?v > 0.5 || ?v < 0.3"
    if share is not None:
        background, condition = "", f"?v < {share}"
    selection = _SELECTION.format(seconds=seconds, background=background, condition=condition)
    return event_classes() + _DECREASING.format(number="", seconds=60, road="?road") + selection


def quads(count: int, roads: int, per_tick: int = PER_TICK, seed: int = 1) -> Iterator[str]:
    """Observations as N-Quads: the time of each, and its three triples.

    >>> len(list(quads(2, 5)))
    8
    """
    for number, facts in enumerate(events(count, roads, seed)):
        graph = f"<{SPACE}g{number}>"
        yield f'{graph} {GENERATED_AT} "{number // per_tick}"^^<{XSD}integer> .\n'
        for name, handles in facts:
            subject, predicate, value = (
                (handles[0], name, handles[1]) if len(handles) == 2 else (handles[0], RDF_TYPE, name)
            )
            yield f"{subject} {predicate} {value} {graph} .\n"


def write_city(folder: Path, roads: int) -> tuple[Path, Path]:
    """The files of the ontology and of the background."""
    axioms, facts = folder / "city.ofn", folder / f"city{roads}.nt"
    axioms.write_text(ontology(full=True))
    _write(facts, (f"{' '.join(triple)} .\n" for triple in background(roads)))
    return axioms, facts


def write_stream(folder: Path, count: int, roads: int) -> Path:
    """The file of a stream."""
    return _write(folder / f"observations{count}.nq", quads(count, roads))


def _write(path: Path, lines: Iterable[str]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines)
    return path
