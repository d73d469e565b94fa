"""Queries 1, 2 and 10 of CityBench as rules, over a generated city (StreamRule's experiment 1).

Sensors of traffic, weather and pollution send observations every second, each of four triples in the vocabulary of the
benchmark; what they observe is background. Windows are three seconds long and slide by one. Each query joins what two
to four kinds of observations in a window have in common, which is nothing but the window: the inputs all meet, and
nothing can be solved apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from random import Random
from typing import Final

from thalweg.bench.window_evaluators import ENGINE, WHOLE, WindowRun, WindowScenario, series
from thalweg.model.fact import Fact
from thalweg.model.vocabulary import TYPE, Triple

SPACE: Final = "http://example.org/city#"
FREQUENCIES: Final = (1, 2, 10, 30)
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
"""Which properties each query brings together, and the sensors that observe them."""

PER_ROUND: Final = sum(map(len, _SENSORS.values()))
"""Observations when every sensor sends all of its properties once."""


def rules(wanted: Sequence[tuple[str, str]], space: str = SPACE) -> str:
    """A query as a rule: the observations of each property, by each sensor, and their values.

    >>> print(rules([("API", "PollutionA")]).splitlines()[1])
    found(O0,V0) :- ct_API(P0), ssn_observedProperty(O0,P0), sao_hasValue(O0,V0), ssn_observedBy(O0,s_PollutionA).
    """
    parts = [
        f"ct_{kind}(P{n}), ssn_observedProperty(O{n},P{n}), sao_hasValue(O{n},V{n}), ssn_observedBy(O{n},s_{sensor})"
        for n, (kind, sensor) in enumerate(wanted)
    ]
    names = ",".join([f"O{n}" for n in range(len(wanted))] + [f"V{n}" for n in range(len(wanted))])
    return f"{_HEADER.format(space=space)}found({names}) :- {', '.join(parts)}.\n#show found/{2 * len(wanted)}.\n"


def second(tick: int, frequency: int) -> list[Triple]:
    """All observations of a second, always the same.

    >>> len(second(0, 2)), second(0, 2) == second(0, 2)
    (88, True)
    """
    random = Random(tick)
    return [
        triple
        for number in range(frequency)
        for sensor, kinds in _SENSORS.items()
        for kind in kinds
        for triple in _observation(f"{sensor}-{kind}", sensor, f"{tick}-{number}", random.randrange(100))
    ]


def _observation(what: str, sensor: str, when: str, value: int) -> Iterator[Triple]:
    name = _name(f"Observation-{what}-{when}")
    yield name, TYPE, f"<{_SSN}Observation>"
    yield name, f"<{_SSN}observedBy>", _name(sensor)
    yield name, f"<{_SSN}observedProperty>", _name(what)
    yield name, f"<{_SAO}hasValue>", str(value)


def _name(local: str) -> str:
    return f"<{SPACE}{local}>"


def _stream(rate: int) -> Iterator[list[Triple]]:
    return (second(tick, rate // PER_ROUND) for tick in count())


_BACKGROUND: Final = tuple(
    Fact(f"<{_CT}{kind}>", (_name(f"{sensor}-{kind}"),)) for sensor, kinds in _SENSORS.items() for kind in kinds
)
SCENARIOS: Final = {
    query: WindowScenario(query, rules(wanted), _stream, 1, _BACKGROUND) for query, wanted in QUERIES.items()
}


def runs(frequencies: Sequence[int], duration: int) -> Iterator[WindowRun]:
    """All queries at all frequencies, by the engine and by clingo."""
    for query, scenario in SCENARIOS.items():
        # Query 2 brings four kinds of observations together: ten of each in a second give 810,000 answers.
        rates = [PER_ROUND * frequency for frequency in frequencies if query != "Q2" or frequency < 10]
        yield from series(scenario, rates, duration, (WHOLE, ENGINE))
