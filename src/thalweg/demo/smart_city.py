"""Half an hour of a city: what is known of it, and what its sensors measure, from a seeded generator.

The evening of a match. Two of the things that happen are alike to a single sensor and differ in what surrounds them:

    17:34  a crash blocks Mill Street; it is cleared at 17:46
    17:41  the garages at the stadium fill up, and Stadium Road and Park Road with them
    17:37  rain in the north, until 17:52; the station there measures precipitation, and not of which kind
    17:30  smog builds up at the harbour, wavers around the limit, and clears towards the end
    17:50  a broken sensor says that a garage is fuller than full
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

CITY: Final = "http://example.org/city#"
START: Final = datetime(2026, 11, 14, 17, 30, tzinfo=UTC)
MINUTES: Final = 30
SEED: Final = 7

DISTRICTS: Final = ("centre", "north", "east", "harbour")
# The main roads of each district, which have four lanes or more; the others have two.
MAIN: Final = {
    "centre": ("mill", "bridge", "market"),
    "north": ("abbey", "castle", "forest"),
    "east": ("stadium", "park", "garden"),
    "harbour": ("dock", "canal", "river"),
}
SIDE: Final = {
    "centre": ("elm", "oak", "church", "school", "king", "mint", "well"),
    "north": ("ash", "birch", "hill", "chapel", "orchard", "meadow", "spring"),
    "east": ("maple", "cedar", "victory", "station", "college", "rose", "bakery"),
    "harbour": ("pine", "anchor", "rope", "fish", "customs", "salt", "ferry"),
}
GARAGES: Final = {
    "g1": "stadium", "g2": "stadium", "g3": "park",
    "g4": "market", "g5": "mill", "g6": "dock", "g7": "abbey", "g8": "canal",
}  # fmt: skip
# The garages that people park in who want to see the match.
AT_THE_STADIUM: Final = ("g1", "g2", "g3")

_HEADER: Final = f"""@prefix :    <{CITY}> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

"""
_TYPE: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_AT: Final = "<http://www.w3.org/ns/prov#generatedAtTime>"
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"


# What is known ----------------------------------------------------------------------------------------------------


def roads(district: str) -> tuple[str, ...]:
    """The roads of a district, the main ones first.

    >>> roads("centre")[:4]
    ('mill', 'bridge', 'market', 'elm')
    """
    return MAIN[district] + SIDE[district]


def background(seed: int = SEED) -> str:
    """The city as Turtle: districts, roads, junctions, garages, buildings, bus stops and sensors."""
    chance = random.Random(seed)
    statements = [line for district in DISTRICTS for line in _district(district, chance)]
    statements += [line for garage, road in GARAGES.items() for line in _garage(garage, road)]
    statements += [":arena a :Stadium ; :on :stadium ; :seats 31000 ."]
    statements += [f":{garage} :near :arena ." for garage in AT_THE_STADIUM]
    return _HEADER + "\n".join(statements) + "\n"


def statements(turtle: str) -> int:
    """How many triples there are in what `background` writes.

    >>> statements(":a a :B ; :c :d, :e .")
    3
    """
    lines = (line for line in turtle.splitlines() if line.startswith(":"))
    return sum(1 + line.count(" ; ") + line.count(", ") for line in lines)


def _district(district: str, chance: random.Random) -> Iterator[str]:
    yield f":{district} a :District ."
    yield f":pm10_{district} a :ParticleLevel ; :isPropertyOf :{district} ."
    yield f":rain_{district} a :PrecipitationLevel ; :isPropertyOf :{district} ."
    for road in roads(district):
        yield from _road(road, district, chance)
    # Each main road meets the next one, and its first two side roads.
    main, side = MAIN[district], SIDE[district]
    for number, road in enumerate(main):
        after = main[(number + 1) % len(main)]
        yield f":{road} :leadsTo :{after} ."
        joined = f":{road}, :{after}, :{side[2 * number]}, :{side[2 * number + 1]}"
        yield f":j_{road} a :Junction ; :inDistrict :{district} ; :joins {joined} ."


def _road(road: str, district: str, chance: random.Random) -> Iterator[str]:
    lanes = chance.choice((4, 6)) if road in MAIN[district] else 2
    yield f":{road} a :Road ; :inDistrict :{district} ; :lanes {lanes} ; :metres {chance.randrange(300, 2_400)} ."
    yield f":level_{road} a :CongestionLevel ; :isPropertyOf :{road} ."
    yield f":loop_{road} a :InductionLoop ; :observes :level_{road} ; :installedIn {chance.randrange(2009, 2026)} ."
    for number in range(1, 13):
        kind = chance.choice(("House", "House", "House", "Shop", "Office", "School"))
        yield f":{road}_{number} a :{kind} ; :on :{road} ; :number {number} ; :storeys {chance.randrange(1, 9)} ."
    for number in range(1, 4):
        yield f":stop_{road}_{number} a :BusStop ; :on :{road} ; :metresFromStart {chance.randrange(2_400)} ."


def _garage(garage: str, road: str) -> Iterator[str]:
    yield f":{garage} a :Garage ; :on :{road} ; :spaces 400 ."
    yield f":occupancy_{garage} a :OccupancyLevel ; :isPropertyOf :{garage} ."


# What happens -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Jam:
    """A road that is full for a while, in minutes after the start, and empties within `relief` minutes."""

    road: str
    start: float
    end: float
    relief: float = 1.5

    def level(self, minute: float) -> float:
        """How full the road is because of it, from 0 to 1.

        >>> [Jam("mill", 4, 16, 2).level(minute) for minute in (3, 4, 16, 17, 18)]
        [0.0, 0.92, 0.92, 0.46, 0.0]
        """
        if not self.start <= minute < self.end + self.relief:
            return 0.0
        return 0.92 * min(1.0, (self.end + self.relief - minute) / self.relief)


JAMS: Final = (
    Jam("mill", 4, 16),
    # The side road that everyone takes instead; it is not a main road.
    Jam("elm", 5, 17),
    Jam("stadium", 15, 27),
    Jam("park", 17.5, 24),
)
# Particles at the harbour: minutes, and what is measured then; straight lines in between.
SMOG: Final = ((0, 38.0), (6, 60.0), (9, 60.0), (11, 40.0), (14, 40.0), (16, 60.0), (20, 60.0), (24, 26.0), (30, 22.0))


def congestion(road: str, minute: float) -> float:
    """How full a road is, from 0 to 1."""
    return max([0.2, *(jam.level(minute) for jam in JAMS if jam.road == road)])


def occupancy(garage: str, minute: float) -> float:
    """How full a garage is; those at the stadium fill up within minutes, one after the other."""
    if garage not in AT_THE_STADIUM:
        return 0.6
    if garage == "g2" and 20 <= minute < 21:
        return 1.7
    begins = 9 + AT_THE_STADIUM.index(garage)
    return min(0.99, 0.55 + 0.15 * max(0.0, minute - begins))


def precipitation(district: str, minute: float) -> float:
    """Millimetres an hour."""
    return 3.5 if district == "north" and 7 <= minute < 22 else 0.0


def particles(district: str, minute: float) -> float:
    """Micrograms of PM10 in a cubic metre.

    >>> [particles("harbour", minute) for minute in (0, 3, 8, 12, 18, 30)]
    [38.0, 49.0, 60.0, 40.0, 60.0, 22.0]
    """
    if district != "harbour":
        return 24.0
    (before, low), (after, high) = next(pair for pair in pairwise(SMOG) if minute <= pair[1][0])
    return low + (high - low) * (minute - before) / (after - before)


# What sensors measure ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sensors:
    """Sensors of one kind: what they are called, what they measure, how often in seconds, and with which error."""

    stream: str
    properties: tuple[str, ...]
    measure: Callable[[str, float], float]
    every: int
    error: float
    most: float = 1_000.0

    def offset(self, number: int) -> int:
        """The first second at which a sensor measures."""
        return number * self.every // len(self.properties)

    def observations(self, seed: int = SEED) -> Iterator[tuple[datetime, str, float]]:
        """Time, property and value, in the order of time; sensors of a kind measure one after the other."""
        chance = random.Random(f"{seed} {self.stream}")
        for second in range(60 * MINUTES):
            for number, name in enumerate(self.properties):
                if second % self.every == self.offset(number):
                    value = self.measure(name.partition("_")[2], second / 60)
                    measured = value if value > self.most else min(self.most, chance.gauss(value, self.error))
                    yield START + timedelta(seconds=second), name, max(0.0, measured)


_ROADS: Final = tuple(road for district in DISTRICTS for road in roads(district))

SENSORS: Final = (
    Sensors("traffic", tuple(f"level_{road}" for road in _ROADS), congestion, every=30, error=0.03, most=1.0),
    Sensors("parking", tuple(f"occupancy_{garage}" for garage in GARAGES), occupancy, every=60, error=0.01, most=1.0),
    Sensors("weather", tuple(f"rain_{district}" for district in DISTRICTS), precipitation, every=60, error=0.2),
    Sensors("air", tuple(f"pm10_{district}" for district in DISTRICTS), particles, every=20, error=1.5),
)


def observed_at(second: int) -> int:
    """How many observations there are up to a second.

    >>> observed_at(0), observed_at(60 * MINUTES)
    (5, 3120)
    """
    upto = min(second, 60 * MINUTES - 1)
    return sum(
        (upto - offset) // sensors.every + 1
        for sensors in SENSORS
        for offset in map(sensors.offset, range(len(sensors.properties)))
        if offset <= upto
    )


def quads(sensors: Sensors, seed: int = SEED) -> Iterator[str]:
    """The observations of sensors as N-Quads: each observation is a graph, and the default graph has its time.

    >>> print("\\n".join(quads(SENSORS[1])).splitlines()[0][:62])
    <http://example.org/city#parking1> <http://www.w3.org/ns/prov#
    """
    for number, (moment, name, value) in enumerate(sensors.observations(seed), 1):
        graph, about = f"<{CITY}{sensors.stream}{number}>", f"<{CITY}{sensors.stream}_{number}>"
        yield f'{graph} {_AT} "{moment:%Y-%m-%dT%H:%M:%SZ}"^^<{_XSD}dateTime> .'
        yield f"{about} {_TYPE} <{CITY}Observation> {graph} ."
        yield f"{about} <{CITY}observedProperty> <{CITY}{name}> {graph} ."
        yield f'{about} <{CITY}hasValue> "{value:.3f}"^^<{_XSD}double> {graph} .'


def write(folder: Path, seed: int = SEED) -> tuple[Path, list[Path]]:
    """Writes the city to a folder; returns the file of the background, and those of the streams."""
    map_file = folder / "map.ttl"
    map_file.write_text(background(seed), encoding="utf-8")
    streams = []
    for sensors in SENSORS:
        stream = folder / f"{sensors.stream}.nq"
        stream.write_text("\n".join(quads(sensors, seed)) + "\n", encoding="utf-8")
        streams.append(stream)
    return map_file, streams
