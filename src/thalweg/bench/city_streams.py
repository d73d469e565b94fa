"""A generated city for continuous queries: what its sensors send at each second, and what is known of them.

Sensors of traffic, parking, weather and pollution send observations in the style of SSN, four triples each, and people
send where they are. Places lie on a grid of metres. Everything is determined by the number of sensors and the tick, so
that all contestants meet the same city.
"""

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Final

from thalweg.model.rdf import XSD, as_ntriples
from thalweg.model.vocabulary import TYPE, Triple

CITY: Final = "http://example.org/city#"
_METRES: Final = 5_000
_EVENTS: Final = 20
_HOTTEST: Final = 1_000
"""Readings are tenths, from 0 to 100: so many different ones."""


def iri(local: str) -> str:
    """A thing of the city.

    >>> iri("Road1")
    '<http://example.org/city#Road1>'
    """
    return f"<{CITY}{local}>"


def _observation(name: str, sensor: str, kind: str, value: str) -> Iterator[Triple]:
    yield name, TYPE, iri("Observation")
    yield name, iri("observedBy"), sensor
    yield name, iri("observedProperty"), iri(kind)
    yield name, iri("hasValue"), value


def _sent(stream: str, kinds: tuple[str, ...], most: int) -> Callable[[int, int], Iterator[Triple]]:
    """Every sensor of a stream sends one observation of each kind, each a whole number below `most`."""

    def second(tick: int, sensors: int) -> Iterator[Triple]:
        random = Random(f"{stream} {tick}")
        for number in range(sensors):
            for kind in kinds:
                name = iri(f"{kind}-{number}-{tick}")
                yield from _observation(name, iri(f"{stream}{number}"), kind, str(random.randrange(most)))

    return second


def _weather(tick: int, sensors: int) -> Iterator[Triple]:
    """Some of the sensors send nothing for some time."""
    random = Random(f"weather {tick}")
    for number in range(max(1, sensors // 10)):
        for kind in ("Temperature", "Humidity", "WindSpeed"):
            value = str(random.randrange(40))
            if (tick // 20 + number + 1) % 5:
                name = iri(f"{kind}-{number}-{tick}")
                yield from _observation(name, iri(f"weather{number}"), kind, value)


def _people(tick: int, sensors: int) -> Iterator[Triple]:
    """The positions of people who walk over the grid."""
    for number in range(max(1, sensors // 20)):
        name = iri(f"Position-{number}-{tick}")
        yield name, iri("observedBy"), iri(f"person{number}")
        yield name, iri("x"), str((977 * number + 13 * tick) % _METRES)
        yield name, iri("y"), str((541 * number + 7 * tick) % _METRES)


def _readings(tick: int, sensors: int) -> Iterator[Triple]:
    """Observations with a result of its own that has a floating-point value, half temperature and half humidity."""
    random = Random(f"readings {tick}")
    for number in range(sensors):
        name, result = iri(f"Reading-{number}-{tick}"), iri(f"Result-{number}-{tick}")
        yield name, iri("observedBy"), iri(f"station{number}")
        yield name, iri("observedProperty"), iri("AirTemperature" if number % 2 else "RelativeHumidity")
        yield name, iri("result"), result
        yield result, iri("floatValue"), f'"{random.randrange(_HOTTEST) / 10}"^^<{XSD}double>'


STREAMS: Final[Mapping[str, Callable[[int, int], Iterator[Triple]]]] = {
    "traffic": _sent("traffic", ("CongestionLevel", "EstimatedTime"), 100),
    "parking": _sent("parking", ("Vacancy",), 100),
    "pollution": _sent("pollution", ("API",), 200),
    "weather": _weather,
    "people": _people,
    "readings": _readings,
    "measured": _sent("measured", ("Level",), 1_000),
}
"""The triples of a tick at a number of sensors, by the name of the stream. No triple ever comes again."""


def background(sensors: int) -> Iterator[Triple]:
    """The positions of sensors and garages, the roads of a journey, and cultural events.

    >>> len(list(background(10))) < len(list(background(100)))
    True
    """
    random = Random(sensors)
    for number in range(sensors):
        road, garage = iri(f"Road{number}"), iri(f"Garage{number}")
        yield iri(f"traffic{number}"), iri("observes"), road
        yield iri(f"parking{number}"), iri("observes"), garage
        yield garage, iri("price"), str(random.randrange(10, 60))
        yield iri(f"pollution{number}"), iri("observes"), iri(f"Area{number // 5}")
        yield from _place(garage, random)
        if number % 10 == 1:
            yield iri("journey"), iri("passes"), road
            yield iri("destination"), iri("near"), garage
        if number % 10 == 0:
            yield iri(f"weather{number // 10}"), TYPE, iri("WeatherSensor")
            yield iri(f"weather{number // 10}"), iri("observes"), iri(f"Area{number // 50}")
    for number in range(_EVENTS):
        event = iri(f"Event{number}")
        yield event, TYPE, iri("CulturalEvent" if number % 2 else "LibraryEvent")
        yield event, iri("on"), iri(f"Road{random.randrange(sensors)}")
        yield from _place(event, random)


def _place(subject: str, random: Random) -> Iterator[Triple]:
    yield subject, iri("x"), str(random.randrange(_METRES))
    yield subject, iri("y"), str(random.randrange(_METRES))


def as_lines(triples: Iterator[Triple]) -> list[str]:
    """Triples as lines of N-Triples.

    >>> as_lines(iter([(iri("a"), iri("price"), "3")]))[0][-50:]
    '"3"^^<http://www.w3.org/2001/XMLSchema#integer> .\\n'
    """
    return [f"{' '.join(map(as_ntriples, triple))} .\n" for triple in triples]
