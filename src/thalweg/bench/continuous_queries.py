"""The queries of `bench rspql`: shapes of CSRBench's and CityBench's queries, over a city of our own.

CSRBench asks for readings above a threshold in tumbling and sliding windows, an average, and comparisons of readings;
CityBench for what matters on a journey: congestion, weather, parking, pollution, joined with what is known of the city.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from thalweg.bench.city_streams import CITY

_PREFIX: Final = f"PREFIX : <{CITY}>\n"


@dataclass(frozen=True, slots=True)
class Over:
    """A window over a stream, in ticks."""

    stream: str
    range: int
    slide: int = 1

    @property
    def clause(self) -> str:
        span = f"[RANGE PT{self.range}S, SLIDE PT{self.slide}S]"
        return f"FROM NAMED WINDOW :{self.stream} ON STREAM :{self.stream} {span}\n"


@dataclass(frozen=True, slots=True)
class BenchmarkQuery:
    """A query with its windows, which are called as their streams are; `grows` if its answer grows with their length.

    An answer that pairs what is in a window grows with the square of it, and is not asked for long windows.
    """

    name: str
    select: str
    where: str
    windows: tuple[Over, ...]
    modifiers: str = ""
    output: str = "RSTREAM"
    grows: bool = True

    @property
    def text(self) -> str:
        """As RSP-QL.

        >>> print(QUERIES["csr 1"].text.splitlines()[2])
        FROM NAMED WINDOW :readings ON STREAM :readings [RANGE PT1S, SLIDE PT1S]
        """
        windows = "".join(window.clause for window in self.windows)
        select = f"REGISTER {self.output} :query AS SELECT {self.select}\n"
        return f"{_PREFIX}{select}{windows}WHERE {{ {self.where} }} {self.modifiers}\n"

    @property
    def sparql(self) -> str:
        """As SPARQL over a dataset in which each window is a named graph."""
        return f"{_PREFIX}SELECT {self.select} WHERE {{ {self.where.replace('WINDOW', 'GRAPH')} }} {self.modifiers}"

    def with_range(self, range: int) -> "BenchmarkQuery":
        """The same over windows of another length, sliding by one."""
        return replace(self, windows=tuple(Over(window.stream, range) for window in self.windows))


_READING: Final = ":observedProperty :{kind} ; :observedBy {sensor} ; :result [ :floatValue {value} ] ."
_TEMPERATURE: Final = "?obs " + _READING.format(kind="AirTemperature", sensor="?sensor", value="?value")
_OTHER: Final = "?other " + _READING.format(kind="AirTemperature", sensor="{sensor}", value="?more")
_HUMIDITY: Final = "?obs " + _READING.format(kind="RelativeHumidity", sensor="?sensor", value="?value")


def _csr(name: str, select: str, pattern: str, range: int, slide: int, grows: bool = True) -> BenchmarkQuery:
    where = f"WINDOW :readings {{ {pattern} }}"
    return BenchmarkQuery(f"csr {name}", select, where, (Over("readings", range, slide),), grows=grows)


_CSRBENCH: Final = (
    _csr("1", "?sensor ?obs", f"{_TEMPERATURE} FILTER(?value > 80)", 1, 1),
    _csr("2", "?sensor ?obs", f"{_TEMPERATURE} FILTER(?value > 80)", 3, 3),
    _csr("3", "?sensor ?obs ?value", f"{_HUMIDITY} FILTER(?value < 49) FILTER(?value > 24)", 4, 4),
    _csr("4", "(AVG(?value) AS ?avg)", f"{_TEMPERATURE} FILTER(?value > 80)", 4, 4),
    _csr("5", "?sensor ?obs", f"{_TEMPERATURE} FILTER(?value > 80)", 5, 1),
    _csr(
        "6",
        "?sensor ?obs ?more ?other",
        f"{_TEMPERATURE} {_OTHER.format(sensor='?sensor')} FILTER(?more > ?value) FILTER(?value > 75)",
        5,
        5,
        grows=False,
    ),
    _csr(
        "7",
        "?sensor ?obs",
        f"{_TEMPERATURE} {_OTHER.format(sensor=':station1')} FILTER(?value > ?more)",
        5,
        5,
        grows=False,
    ),
)


def _observed(kind: str, sensor: str, value: str) -> str:
    return f"?of_{value[1:]} :observedProperty :{kind} ; :observedBy {sensor} ; :hasValue {value} ."


def _near(first: str, second: str) -> str:
    """Within a kilometre."""
    across, up = f"(?x{first} - ?x{second})", f"(?y{first} - ?y{second})"
    return f"FILTER({across} * {across} + {up} * {up} < 1000000)"


def _city(
    number: int, select: str, where: str, *streams: str, modifiers: str = "", grows: bool = True
) -> BenchmarkQuery:
    windows = tuple(Over(stream, 3) for stream in streams)
    return BenchmarkQuery(f"city {number}", select, where, windows, modifiers, grows=grows)


_AT: Final = ":x ?x{0} ; :y ?y{0} ."
_VACANCY: Final = f"WINDOW :parking {{ {_observed('Vacancy', '?sensor', '?free')} }} ?sensor :observes ?garage ."
_GARAGE: Final = f"?garage {_AT.format('g')}"
_PERSON: Final = f"WINDOW :people {{ ?at :observedBy ?person ; {_AT.format('p')} }}"

_CITYBENCH: Final = (
    _city(
        1,
        "?of_v ?of_w ?v ?w",
        "?one :observes :Road1 . ?two :observes :Road2 . WINDOW :traffic { "
        f"{_observed('CongestionLevel', '?one', '?v')} {_observed('CongestionLevel', '?two', '?w')} }}",
        "traffic",
        grows=False,
    ),
    _city(
        2,
        "?temperature ?humidity ?wind ?level",
        "?weather :observes :Area0 . ?road :observes :Road1 . WINDOW :weather { "
        + " ".join(
            _observed(kind, "?weather", value)
            for kind, value in (("Temperature", "?temperature"), ("Humidity", "?humidity"), ("WindSpeed", "?wind"))
        )
        + f" }} WINDOW :traffic {{ {_observed('CongestionLevel', '?road', '?level')} }}",
        "weather",
        "traffic",
        grows=False,
    ),
    _city(
        3,
        "?kind (AVG(?v) AS ?mean)",
        ":journey :passes ?road . ?sensor :observes ?road . "
        "WINDOW :traffic { ?of :observedProperty ?kind ; :observedBy ?sensor ; :hasValue ?v }",
        "traffic",
        modifiers="GROUP BY ?kind",
    ),
    _city(4, "?person ?event", f"{_PERSON} ?event a :CulturalEvent ; {_AT.format('e')} {_near('p', 'e')}", "people"),
    _city(
        5,
        "?event (AVG(?v) AS ?mean)",
        "?event a :CulturalEvent ; :on ?road . ?sensor :observes ?road . "
        f"WINDOW :traffic {{ {_observed('CongestionLevel', '?sensor', '?v')} }}",
        "traffic",
        modifiers="GROUP BY ?event",
    ),
    _city(
        6,
        "?garage ?free",
        f"WINDOW :people {{ ?at :observedBy :person0 ; {_AT.format('p')} }} {_VACANCY} {_GARAGE} {_near('p', 'g')}",
        "people",
        "parking",
        grows=False,
    ),
    _city(7, "?garage ?free", f":destination :near ?garage . {_VACANCY} FILTER(?free < 5)", "parking"),
    _city(
        8,
        "?event ?garage ?free",
        f"?event a :LibraryEvent ; {_AT.format('e')} {_GARAGE} {_near('e', 'g')} {_VACANCY} FILTER(?free > 50)",
        "parking",
    ),
    _city(
        9,
        "?garage ?price ?free",
        f":Event1 {_AT.format('e')} {_GARAGE} {_near('e', 'g')} {_VACANCY} OPTIONAL {{ ?garage :price ?price }}",
        "parking",
    ),
    _city(
        10,
        "?area (MAX(?v) AS ?worst)",
        f"?sensor :observes ?area . WINDOW :pollution {{ {_observed('API', '?sensor', '?v')} }}",
        "pollution",
        modifiers="GROUP BY ?area HAVING (MAX(?v) > 190)",
    ),
    _city(
        11,
        "?sensor",
        "?sensor a :WeatherSensor FILTER NOT EXISTS { WINDOW :weather { ?of :observedBy ?sensor } }",
        "weather",
    ),
)
QUERIES: Final[Mapping[str, BenchmarkQuery]] = {query.name: query for query in (*_CSRBENCH, *_CITYBENCH)}

JOINS: Final = BenchmarkQuery(
    "two joins",
    "?of ?sensor ?v",
    "WINDOW :measured { ?of :observedProperty :Level ; :observedBy ?sensor ; :hasValue ?v FILTER(?v > 989) }",
    (Over("measured", 60),),
)
"""One reading in a hundred is in the answer."""
