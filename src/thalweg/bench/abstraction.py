"""Classes of events in a city with 60,000 background statements: a million events, by rules and by OWL 2 DL in full.

The city is the example of Streaming MASSIF, rebuilt: observations of properties of roads, classes of roads and of
levels, a property chain from the observation to the road. In the second city roads must be busy, quiet or closed,
observations have one property, one value and a sensor that nobody knows, and roads have owners. Beside stands HermiT:
on the whole background, as published, and on the axioms and facts that can matter to an event.
"""

import re
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from thalweg.bench.report import Report, Row, Target, at_least, at_most
from thalweg.languages.owl import structure, syntaxes
from thalweg.languages.owl.axioms import Axiom, Ontology, show
from thalweg.languages.owl.dl.abstraction_program import Facts, compile_abstraction
from thalweg.model.rdf import RDF_TYPE, XSD
from thalweg.model.vocabulary import Triple
from thalweg.parts.abstraction.contradiction import check_background
from thalweg.parts.abstraction.ladder import CASES, REASONER, REPAIR, RULES, Ladder
from thalweg.parts.abstraction.signatures import Decisions, Given, Signatures
from thalweg.solvers.dl import hermit

SPACE: Final = "http://example.org/city#"
ROADS: Final = 830
PROPERTIES: Final = 23
EVENTS: Final = 1_000_000
_KINDS: Final = 5
_LEVELS: Final = 10
_OBSERVED: Final = 2
_HORN: Final = (
    "SubObjectPropertyOf(ObjectPropertyChain(:observedProperty :isPropertyOf) :observedFeature)",
    "InverseObjectProperties(:hasProperty :isPropertyOf)",
    "ObjectPropertyDomain(:observedProperty :Observation)",
    "ObjectPropertyRange(:observedProperty :Property)",
    "DataPropertyDomain(:hasValue :Observation)",
    "TransitiveObjectProperty(:partOf)",
    "SubClassOf(ObjectSomeValuesFrom(:observedFeature ObjectSomeValuesFrom(:partOf :District)) :Located)",
)
_MORE: Final = (
    "SubClassOf(:Road ObjectUnionOf(:Busy :Quiet :Closed))",
    "DisjointClasses(:Busy :Quiet :Closed)",
    "SubClassOf(:Road1 :Busy)",
    "SubClassOf(:Observation ObjectMaxCardinality(1 :observedProperty))",
    "FunctionalDataProperty(:hasValue)",
    "SubClassOf(:Observation ObjectSomeValuesFrom(:madeBy :Sensor))",
    "SubClassOf(:Sensor ObjectAllValuesFrom(:within :Area))",
    "SubClassOf(ObjectIntersectionOf(ObjectSomeValuesFrom(:observedFeature :Busy) DataSomeValuesFrom(:hasValue "
    'DatatypeRestriction(xsd:double xsd:minExclusive "0.9"^^xsd:double))) :Alarm)',
    "SubClassOf(ObjectSomeValuesFrom(:observedFeature ObjectUnionOf(:Busy :Quiet :Closed)) :OnStreet)",
    "SubClassOf(:Road ObjectSomeValuesFrom(:ownedBy :Owner))",
    "SubClassOf(:Owner ObjectUnionOf(:Public :Private))",
    "SubClassOf(ObjectSomeValuesFrom(:observedFeature ObjectSomeValuesFrom(:ownedBy :Owner)) :OfOwner)",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """A city: what its events cost, what is met for the first time included."""

    city: str
    background: int
    axioms: int
    start_seconds: float
    events: int
    cpu_seconds: float
    hot_per_second: float
    megabytes: float


@dataclass(frozen=True, slots=True)
class Compared:
    """HermiT beside: the seconds of CPU that an event takes."""

    city: str
    thalweg: float
    hermit_on_modules: float
    hermit_on_everything: float


def ontology(full: bool) -> str:
    """The ontology in functional syntax; `full`: with what rules cannot say.

    >>> "ObjectUnionOf" in ontology(False), "ObjectUnionOf" in ontology(True)
    (False, True)
    """
    axioms = [*_HORN, *(_MORE if full else ())]
    for kind in range(_KINDS):
        axioms.append(f"SubClassOf(:Road{kind} :Road)")
        feature = f"ObjectSomeValuesFrom(:observedFeature :Road{kind})"
        axioms.append(f"EquivalentClasses(:OnRoad{kind} ObjectIntersectionOf(:Observation {feature}))")
    for level in range(_LEVELS):
        range_ = f'DatatypeRestriction(xsd:double xsd:minExclusive "{level / 10 + 0.05:.2f}"^^xsd:double)'
        parts = (
            f"ObjectSomeValuesFrom(:observedFeature :Road{level % _KINDS})",
            "ObjectSomeValuesFrom(:observedProperty :CongestionLevel)",
            f"DataSomeValuesFrom(:hasValue {range_})",
        )
        axioms.append(f"EquivalentClasses(:High{level} ObjectIntersectionOf({' '.join(parts)}))")
    return f"Prefix(:=<{SPACE}>) Prefix(xsd:=<{XSD}>) Ontology({' '.join(axioms)})"


def background(roads: int = ROADS) -> Iterator[Triple]:
    """Roads in districts, and what can be observed of them.

    >>> len(list(background())) > 57_000
    True
    """
    for number in range(roads):
        road, district = _name(f"road{number}"), _name(f"district{number}")
        yield road, RDF_TYPE, _name(f"Road{number % _KINDS}")
        yield road, _name("partOf"), district
        yield district, RDF_TYPE, _name("District")
        for each in range(PROPERTIES):
            property = _name(f"property{number}_{each}")
            yield property, _name("isPropertyOf"), road
            yield property, RDF_TYPE, _name("Speed" if each % 2 else "CongestionLevel")
            yield property, _name("label"), f'"{each}"'


def events(count: int, roads: int = ROADS, seed: int = 1) -> Iterator[list[Given]]:
    """Observations with random values, each an event of three triples."""
    random, double = Random(seed), f"^^<{XSD}double>"
    observed, has_value, kind = _name("observedProperty"), _name("hasValue"), _name("Observation")
    for number in range(count):
        one = _name(f"observation{number}")
        property = _name(f"property{random.randrange(roads)}_{random.randrange(_OBSERVED)}")
        yield [(observed, (one, property)), (has_value, (one, f'"{random.random():.4f}"{double}')), (kind, (one,))]


def _name(word: str) -> str:
    return f"<{SPACE}{word}>"


def knowledge(full: bool, roads: int = ROADS) -> Ontology:
    """Axioms and background."""
    axioms = syntaxes.read(ontology(full), "ofn").axioms
    return Ontology((*axioms, *structure.read(background(roads)).axioms))


def measure(city: str, full: bool, count: int, roads: int = ROADS) -> tuple[Measured, Decisions]:
    """Classifies events of a city, all that is met for the first time included."""
    before = time.process_time()
    known = knowledge(full, roads)
    ladder = Ladder(compile_abstraction(city, known))
    check_background(ladder)
    decisions = Decisions(ladder, Signatures(ladder.program))
    started = time.process_time() - before
    seconds = _cpu(lambda: _decide(decisions, count, roads, 1)) - _cpu(lambda: _consume(count, roads, 1))
    again = min(count, 100_000)
    hot = _cpu(lambda: _decide(decisions, again, roads, 1)) - _cpu(lambda: _consume(again, roads, 1))
    facts = ladder.program.background
    measured = Measured(
        city=city,
        background=len(facts.classes) + len(facts.edges) + len(facts.literals),
        axioms=len(ladder.program.axioms),
        start_seconds=started,
        events=count,
        cpu_seconds=seconds,
        hot_per_second=again / hot,
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )
    return measured, decisions


def decided(measured: Measured, decisions: Decisions) -> Row:
    """How many events were met for the first time, and what decided them."""
    by = {name: decisions.by.get(name, 0) for name in (RULES, REPAIR, CASES, REASONER)}
    return {"city": measured.city, "misses": decisions.misses, **by}


def _decide(decisions: Decisions, count: int, roads: int, seed: int) -> None:
    for event in events(count, roads, seed):
        decisions.decide(event)


def _consume(count: int, roads: int, seed: int) -> None:
    for _ in events(count, roads, seed):
        pass


def compare(measured: Measured, decisions: Decisions, full: bool, roads: int, some: int) -> Compared:
    """Some events by HermiT; that it says the same is checked."""
    ladder = decisions.ladder
    whole = [show(axiom) for axiom in knowledge(full, roads).axioms]
    chosen = list(events(some, roads, seed=3))
    on_modules = on_everything = 0.0
    for number, event in enumerate(chosen):
        decision, subjects = decisions.decide(event)
        given = decisions.signatures.event(subjects, event)
        before = time.process_time()
        asked = ladder.ask(given)
        on_modules += time.process_time() - before
        assert asked.classes == decision.classes, "HermiT says something else"
        if number == 0:
            on_everything = _on_everything([*whole, *map(show, _axioms(event))], str(subjects[0]))
    return Compared(measured.city, measured.cpu_seconds / measured.events, on_modules / some, on_everything)


def _on_everything(axioms: list[str], individual: str) -> float:
    """What HermiT takes to find the classes of an individual by all axioms and facts."""
    everything = {name for axiom in axioms for name in re.findall(r"<[^<>]*>", axiom)}
    return _cpu(lambda: hermit.types(axioms, [individual], {individual: everything}))


def _axioms(event: list[Given]) -> list[Axiom]:
    classes = tuple((name, str(handles[0])) for name, handles in event if len(handles) == 1)
    pairs = [(name, str(handles[0]), str(handles[1])) for name, handles in event if len(handles) == 2]
    literals = tuple(pair for pair in pairs if pair[2][0] == '"')
    return Facts(classes, tuple(pair for pair in pairs if pair[2][0] == "<"), literals).axioms()


def _cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def verdict(measured: list[Measured], compared: list[Compared]) -> list[Target]:
    """The figures that must be shown."""
    horn, full = measured
    slowest = min(horn.hot_per_second, full.hot_per_second)
    targets = [
        at_least("hot events a second and core, at least 50,000", slowest / 50_000, 1.0),
        at_most("all events of the city of rules", horn.cpu_seconds, 10, "s of CPU"),
        at_most("all events of the city of OWL 2 DL", full.cpu_seconds, 60, "s of CPU"),
        at_most("memory", max(horn.megabytes, full.megabytes), 600, "MB"),
    ]
    for one in compared:
        ratio = one.hermit_on_everything / one.thalweg
        targets.append(at_least(f"{one.city}: at least 1,000 × HermiT on the whole background", ratio, 1_000, 0))
    return targets


def main(out: Path, quick: bool = False) -> None:
    """Runs both cities, prints the tables, and writes CSV files to the folder `abstraction` of `out`."""
    report = Report(out, "abstraction")
    count, roads = (20_000, 60) if quick else (EVENTS, ROADS)
    cities = (("rules", False), ("OWL 2 DL", True))
    found, compared = list[tuple[Measured, Decisions]](), list[Compared]()
    for city, full in cities:
        report.log(f"{city}: {count:,} events")
        found.append(measure(city, full, count, roads))
    # Java comes at last: it would count as memory of the events.
    for (city, full), one in zip(cities, found if hermit.is_installed() else (), strict=False):
        report.log(f"{city}: HermiT")
        compared.append(compare(*one, full, roads, 5 if quick else 20))
    measured = [one for one, _ in found]
    report.add("events", measured)
    report.add("decided", [decided(*one) for one in found], "what decided the events that were met first")
    if compared:
        report.add("hermit", compared)
    report.close(verdict(measured, compared))
