"""Classes of events in a city with 60,000 background statements: a million events, by rules and by OWL 2 DL in full.

The city is the example of Streaming MASSIF, rebuilt: observations of properties of roads, classes of roads and of
levels, a property chain from the observation to the road. In the second city roads must be busy, quiet or closed,
observations have one property, one value and a sensor that nobody knows, and roads have owners. Beside stands HermiT:
on the whole background, as published, and on the axioms and facts that can matter to an event. Then a few classes are
asked for, which most events do not have: these should be dropped first. Two workers must answer as one does.
"""

import re
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Final, TypeVar

from thalweg.bench.report import BenchmarkReport, BenchmarkTarget, Row, at_least, at_most
from thalweg.kinds.classes.classifier import MOST_KEPT, Decisions, Given, Signatures
from thalweg.kinds.classes.contradiction import check_background
from thalweg.kinds.classes.ladder import CASES, REASONER, REPAIR, RULES, SELECTION, Ladder
from thalweg.languages.owl import structure, syntaxes
from thalweg.languages.owl.axioms import Axiom, Ontology, show
from thalweg.languages.owl.dl.abstraction_program import Facts, compile_abstraction
from thalweg.model.rdf import RDF_TYPE, XSD
from thalweg.model.vocabulary import Triple
from thalweg.solvers.dl import hermit

T = TypeVar("T")

SPACE: Final = "http://example.org/city#"
ROADS: Final = 830
PROPERTIES: Final = 23
EVENTS: Final = 1_000_000
SELECTED: Final = 200_000
SHARED: Final = 20_000
_CHOSEN: Final = ("High7", "High8")
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
class AbstractionCost:
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
class Selected:
    """A few classes: the events that have one, those that are kept for them, and the CPU with and without selection."""

    city: str
    classes: int
    events: int
    needed: int
    kept: int
    kinds: int
    cpu_seconds: float
    without_selection: float


@dataclass(frozen=True, slots=True)
class Compared:
    """The seconds of CPU that an event takes, beside those of HermiT."""

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
        for index in range(PROPERTIES):
            property = _name(f"property{number}_{index}")
            yield property, _name("isPropertyOf"), road
            yield property, RDF_TYPE, _name("Speed" if index % 2 else "CongestionLevel")
            yield property, _name("label"), f'"{index}"'


def events(count: int, roads: int = ROADS, seed: int = 1) -> Iterator[list[Given]]:
    """Observations with random values, each an event of three triples."""
    random, double = Random(seed), f"^^<{XSD}double>"
    observed, has_value, kind = _name("observedProperty"), _name("hasValue"), _name("Observation")
    for number in range(count):
        observation = _name(f"observation{number}")
        property = _name(f"property{random.randrange(roads)}_{random.randrange(_OBSERVED)}")
        yield [
            (observed, (observation, property)),
            (has_value, (observation, f'"{random.random():.4f}"{double}')),
            (kind, (observation,)),
        ]


def _name(word: str) -> str:
    return f"<{SPACE}{word}>"


def knowledge(full: bool, roads: int = ROADS) -> Ontology:
    """Axioms and background."""
    axioms = syntaxes.read(ontology(full), "ofn").axioms
    return Ontology((*axioms, *structure.read(background(roads)).axioms))


def measure(city: str, full: bool, count: int, roads: int = ROADS) -> tuple[AbstractionCost, Decisions]:
    """Classifies events of a city, all that is met for the first time included."""
    before = time.process_time()
    ontology = knowledge(full, roads)
    # All classes, as in a run without `--classes`.
    ladder = Ladder(replace(compile_abstraction(city, ontology), chosen=False))
    check_background(ladder)
    decisions = Decisions(ladder, Signatures(ladder.program))
    started = time.process_time() - before
    seconds = _cpu(lambda: _decide(decisions, count, roads)) - _cpu(lambda: _consume(count, roads))
    again = min(count, 100_000)
    hot = _cpu(lambda: _decide(decisions, again, roads)) - _cpu(lambda: _consume(again, roads))
    facts = ladder.program.background
    measured = AbstractionCost(
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


def decided(measured: AbstractionCost, decisions: Decisions) -> Row:
    """How many events were met for the first time, and what decided them."""
    by = {name: decisions.by.get(name, 0) for name in (RULES, REPAIR, CASES, REASONER)}
    return {
        "city": measured.city,
        "misses": decisions.misses,
        **by,
        "in the cache": decisions.size,
        "at most": MOST_KEPT,
    }


def select(city: str, full: bool, count: int, roads: int = ROADS) -> Selected:
    """Classifies events by a few classes, with and without the derived selection; the answers are compared."""
    chosen = [_name(word) for word in (*_CHOSEN, *(("Alarm",) if full else ()))]
    program = compile_abstraction(city, knowledge(full, roads), [(name, name) for name in chosen])
    ladder, stream = Ladder(program), list(events(count, roads))
    with_, without = (Decisions(ladder, Signatures(program), selects=selects) for selects in (True, False))
    expected, slow = _timed(lambda: [without.decide(event)[0] for event in stream])
    actual, fast = _timed(lambda: [with_.decide(event)[0] for event in stream])
    assert [decision.classes for decision in actual] == [decision.classes for decision in expected], (
        "the selection changes an answer"
    )
    assert with_.selection is not None
    return Selected(
        city=city,
        classes=len(chosen),
        events=count,
        needed=sum(decision.classes is None or any(decision.classes) for decision in expected),
        kept=sum(decision.by != SELECTION for decision in actual),
        kinds=with_.selection.size,
        cpu_seconds=fast,
        without_selection=slow,
    )


def answers(full: bool, count: int, roads: int, worker: int = 0, workers: int = 1) -> list[tuple[int, object]]:
    """The number and the classes of each event that one of several workers has."""
    ladder = Ladder(compile_abstraction("city", knowledge(full, roads)))
    decisions = Decisions(ladder, Signatures(ladder.program))
    numbered = islice(enumerate(events(count, roads)), worker, None, workers)
    return [(number, decisions.decide(event)[0].classes) for number, event in numbered]


def two_workers_agree(full: bool, count: int, roads: int) -> bool:
    """Whether two processes that share the events give the same answers as one."""
    with get_context("spawn").Pool(2) as pool:
        halves = pool.starmap(answers, [(full, count, roads, worker, 2) for worker in range(2)])
    return sorted(chain(*halves), key=itemgetter(0)) == answers(full, count, roads)


def _decide(decisions: Decisions, count: int, roads: int) -> None:
    for event in events(count, roads):
        decisions.decide(event)


def _consume(count: int, roads: int) -> None:
    for _ in events(count, roads):
        pass


def compare(measured: AbstractionCost, decisions: Decisions, full: bool, roads: int, count: int) -> Compared:
    """Some events by HermiT; that it says the same is checked."""
    ladder = decisions.ladder
    axioms = [show(axiom) for axiom in knowledge(full, roads).axioms]
    chosen = list(events(count, roads, seed=3))
    on_modules = on_everything = 0.0
    # Java takes a while to start.
    hermit.is_consistent(["Declaration(Class(<a>))"])
    for number, event in enumerate(chosen):
        decision, subjects = decisions.decide(event)
        described = decisions.signatures.event(subjects, event)
        before = time.process_time()
        answer = ladder.ask(described)
        on_modules += time.process_time() - before
        assert answer.classes == decision.classes, "HermiT says something else"
        if number == 0:
            on_everything = _on_everything([*axioms, *map(show, _axioms(event))], str(subjects[0]))
    return Compared(measured.city, measured.cpu_seconds / measured.events, on_modules / count, on_everything)


def _on_everything(axioms: list[str], individual: str) -> float:
    """The seconds that HermiT takes to find the classes of an individual by all axioms and facts."""
    everything = {name for axiom in axioms for name in re.findall(r"<[^<>]*>", axiom)}
    return _cpu(lambda: hermit.types(axioms, [individual], {individual: everything}))


def _axioms(event: list[Given]) -> list[Axiom]:
    classes = tuple((name, str(handles[0])) for name, handles in event if len(handles) == 1)
    pairs = [(name, str(handles[0]), str(handles[1])) for name, handles in event if len(handles) == 2]
    literals = tuple(pair for pair in pairs if pair[2][0] == '"')
    return Facts(classes, tuple(pair for pair in pairs if pair[2][0] == "<"), literals).axioms()


def _cpu(work: Callable[[], object]) -> float:
    return _timed(work)[1]


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """The result of a function, and the seconds of CPU that it takes."""
    before = time.process_time()
    result = work()
    return result, time.process_time() - before


def verdict(
    measured: list[AbstractionCost], selected: list[Selected], compared: list[Compared], kept: int, agree: bool
) -> list[BenchmarkTarget]:
    """The figures that must be shown; `kept` decisions are in the larger cache, and two workers `agree` with one."""
    horn, full = measured
    slowest = min(horn.hot_per_second, full.hot_per_second)
    targets = [
        at_least("hot events a second and core, at least 50,000", slowest / 50_000, 1.0),
        at_most("all events of the city of rules", horn.cpu_seconds, 10, "s of CPU"),
        at_most("all events of the city of OWL 2 DL", full.cpu_seconds, 60, "s of CPU"),
        at_most("memory", max(horn.megabytes, full.megabytes), 600, "MB"),
    ]
    for city in selected:
        share = city.kept / max(1, city.needed)
        targets.append(
            at_most(f"{city.city}: events kept by the derived selection", share, 1.2, "× those with a class")
        )
    targets.append(BenchmarkTarget(f"decisions in the cache, at most {MOST_KEPT:,}", f"{kept:,}", kept <= MOST_KEPT))
    targets.append(BenchmarkTarget("two workers answer as one does", "they do" if agree else "they do not", agree))
    for comparison in compared:
        ratio = comparison.hermit_on_everything / comparison.thalweg
        targets.append(at_least(f"{comparison.city}: at least 1,000 × HermiT on the whole background", ratio, 1_000, 0))
    return targets


def main(out: Path, quick: bool = False) -> None:
    """Runs both cities, prints the tables, and writes CSV files to the folder `abstraction` of `out`."""
    report = BenchmarkReport(out, "abstraction")
    count, roads = (20_000, 60) if quick else (EVENTS, ROADS)
    cities = (("rules", False), ("OWL 2 DL", True))
    measurements, compared = list[tuple[AbstractionCost, Decisions]](), list[Compared]()
    for city, full in cities:
        report.log(f"{city}: {count:,} events")
        measurements.append(measure(city, full, count, roads))
    report.log("a few classes, with the derived selection and without")
    selected = [select(city, full, min(count, SELECTED), roads) for city, full in cities]
    report.log("two workers")
    agree = all(two_workers_agree(full, min(count, SHARED), roads) for _, full in cities)
    # Java comes at last: it would count as memory of the events.
    for (city, full), measurement in zip(cities, measurements if hermit.is_installed() else (), strict=False):
        report.log(f"{city}: HermiT")
        compared.append(compare(*measurement, full, roads, 5 if quick else 20))
    measured = [measurement for measurement, _ in measurements]
    report.add("events", measured)
    report.add(
        "decided",
        [decided(*measurement) for measurement in measurements],
        "what decided the events that were met first",
    )
    report.add("selected", selected)
    if compared:
        report.add("hermit", compared)
    kept = max(decisions.size for _, decisions in measurements)
    report.close(verdict(measured, selected, compared, kept, agree))
