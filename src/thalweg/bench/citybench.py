"""Queries 1, 2 and 10 of CityBench as rules, over a city that we make ourselves (StreamRule's experiment 1).

Sensors of traffic, weather and pollution send so many observations a second, each of four triples in the vocabulary of
the benchmark; what they observe is background. Windows are three seconds long and slide by one. Each query joins what
two to four kinds of observations in a window have in common, which is nothing but the window: the inputs all meet, and
nothing can be solved apart.
"""

import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Final

from rich.table import Table

from thalweg.bench.evaluators import ENGINE, MAKERS, WHOLE, blocks
from thalweg.bench.isolated import Footprint, apart
from thalweg.diagnostics import Source
from thalweg.languages.asp.program import AspProgram
from thalweg.languages.asp.reader import read_program
from thalweg.model.fact import Fact
from thalweg.model.vocabulary import TYPE, Triple

SPACE: Final = "http://example.org/city#"
FREQUENCIES: Final = (1, 2, 10, 30)
WINDOW: Final = 3
_SSN: Final = "http://purl.oclc.org/NET/ssnx/ssn#"
_SAO: Final = "http://purl.oclc.org/NET/sao/"
_CT: Final = "http://www.insight-centre.org/citytraffic#"
_HEADER: Final = f"#prefix ssn: <{_SSN}>. #prefix sao: <{_SAO}>. #prefix ct: <{_CT}>. #prefix s: <{{space}}>.\n"
_SENSORS: Final[Mapping[str, tuple[str, ...]]] = {
    "TrafficA": ("CongestionLevel", "AvgSpeed", "VehicleCount"),
    "TrafficB": ("CongestionLevel", "AvgSpeed", "VehicleCount"),
    "Weather": ("Temperature", "Humidity", "WindSpeed"),
    "PollutionA": ("API",),
    "PollutionB": ("API",),
}
QUERIES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "Q1": (("CongestionLevel", "TrafficA"), ("CongestionLevel", "TrafficB")),
    "Q2": (
        ("Temperature", "Weather"),
        ("Humidity", "Weather"),
        ("WindSpeed", "Weather"),
        ("CongestionLevel", "TrafficA"),
    ),
    "Q10": (("API", "PollutionA"), ("API", "PollutionB")),
}
"""Which properties each query brings together, and who observes them."""


def rules(asked: Sequence[tuple[str, str]], space: str = SPACE) -> str:
    """A query as a rule: the observations of each property, by each sensor, and their values.

    >>> print(rules([("API", "PollutionA")]).splitlines()[1])
    found(O0,V0) :- ct_API(P0), ssn_observedProperty(O0,P0), sao_hasValue(O0,V0), ssn_observedBy(O0,s_PollutionA).
    """
    parts = [
        f"ct_{kind}(P{n}), ssn_observedProperty(O{n},P{n}), sao_hasValue(O{n},V{n}), ssn_observedBy(O{n},s_{sensor})"
        for n, (kind, sensor) in enumerate(asked)
    ]
    names = ",".join([f"O{n}" for n in range(len(asked))] + [f"V{n}" for n in range(len(asked))])
    return f"{_HEADER.format(space=space)}found({names}) :- {', '.join(parts)}.\n#show found/{2 * len(asked)}.\n"


def program(query: str) -> AspProgram:
    """One of the queries, read.

    >>> len(program("Q2").inputs)
    7
    """
    found, wrong = read_program(Source(f"{query}.lp", rules(QUERIES[query])))
    assert not wrong
    return found


def background() -> list[Fact]:
    """What kind of property each sensor observes."""
    return [
        Fact(f"<{_CT}{kind}>", (_name(f"{sensor}-{kind}"),)) for sensor, kinds in _SENSORS.items() for kind in kinds
    ]


def second(tick: int, frequency: int) -> list[Triple]:
    """All observations of a second, always the same.

    >>> len(second(0, 2)), second(0, 2) == second(0, 2)
    (88, True)
    """
    chance = random.Random(tick)
    return [
        triple
        for number in range(frequency)
        for sensor, kinds in _SENSORS.items()
        for kind in kinds
        for triple in _observation(f"{sensor}-{kind}", sensor, f"{tick}-{number}", chance.randrange(100))
    ]


def _observation(what: str, sensor: str, when: str, value: int) -> Iterator[Triple]:
    name = _name(f"Observation-{what}-{when}")
    yield name, TYPE, f"<{_SSN}Observation>"
    yield name, f"<{_SSN}observedBy>", _name(sensor)
    yield name, f"<{_SSN}observedProperty>", _name(what)
    yield name, f"<{_SAO}hasValue>", str(value)


def _name(local: str) -> str:
    return f"<{SPACE}{local}>"


@dataclass(frozen=True, slots=True)
class City:
    """Windows along a stream of a city: answers of the last, milliseconds that each took, and memory."""

    by: str
    query: str
    frequency: int
    answers: int
    median: float
    worst: float
    megabytes: float
    stopped: str = ""


def measure(by: str, query: str, frequency: int, duration: int) -> City:
    """A stream in this process; the windows that are not yet full are warm-up."""
    texts = [blocks(second(tick, frequency), tick) for tick in range(duration)]
    evaluator = MAKERS[by](program(query), WINDOW, background())
    footprint, taken, answers = Footprint(), [], 0
    for text in texts:
        began = time.perf_counter()
        evaluator.add(text)
        answers = evaluator.answer()
        taken.append((time.perf_counter() - began) * 1_000)
    grown = footprint.grown()
    evaluator.close()
    full = taken[WINDOW:]
    return City(by, query, frequency, answers, statistics.median(full), max(full), grown / 1_000_000)


def measured(frequencies: Sequence[int], duration: int) -> Iterator[City]:
    """All queries at all frequencies, by the engine and by clingo; what takes too long is stopped."""
    for query in QUERIES:
        for by in (WHOLE, ENGINE):
            for frequency in frequencies:
                # Query 2 brings four kinds of observations together: ten of each in a second give 810,000 answers.
                if query != "Q2" or frequency < 10:
                    found = apart(measure, by, query, frequency, duration)
                    yield found.result or City(by, query, frequency, 0, nan, nan, nan, found.why)


def table(found: Sequence[City]) -> Table:
    made = Table(title=f"a city: windows of {WINDOW} s that slide by 1 s; milliseconds a window, megabytes")
    for column in ("query", "observations/s", "by", "answers", "median ms", "worst ms", "MB"):
        made.add_column(column, justify="left" if column in ("query", "by") else "right")
    kinds = sum(map(len, _SENSORS.values()))
    for each in found:
        cells = each.stopped or f"{each.answers:,}", f"{each.median:.2f}", f"{each.worst:.2f}", f"{each.megabytes:,.1f}"
        made.add_row(each.query, f"{kinds * each.frequency:,}", each.by, *cells)
    return made
