"""The keys of a deployment: each stands for an option of the command line, and has a place for what is wrong with it.

    [time] tick = "1s"        is   --tick 1s
    [output] to = "a.csv"     is   --out a.csv       beside the deployment, not where the command is typed
    [streams.north] from, map is   --stream, --map   for a stream that rules call `north`

What the command line says as well counts there.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from thalweg.diagnostics import Diagnostic, RejectedError, Source, Span
from thalweg.languages.deployment.deployed_sources import (
    IS_URI,
    WRITTEN,
    DeployedSource,
    tied_mappings,
    wrong_text_keys,
)
from thalweg.languages.options import OPTIONS, Key, KeyKind, Option
from thalweg.model.local_times import zone_named
from thalweg.model.nesting import too_deep

# The order in which messages list the keys of a section; those of other options follow as the table has them.
_LISTED: Final = (
    *("emit", "times", "base", "format", "late", "picture"),
    *("tick", "delay", "clock", "idle", "max_ahead", "to", "zone", "from"),
    *("show", "event", "prefix", "quiet"),
    *("master", "partitions", "split", "memory", "on_error", "kind", "checkpoint", "jar", "conf", "archive"),
    *("profile", "keep", "classes", "individuals", "reasoner", "topology", "bolts"),
    *("schema_stream", "literals", "witnesses", "as"),
    *("window", "slide", "models", "solve_limit", "solver", "workers", "inputs", "report"),
)
_PLACES: Final = {name: place for place, name in enumerate(_LISTED)}
_DEPLOYED: Final = sorted(
    ((option.key, option) for option in OPTIONS if option.key is not None),
    key=lambda pair: _PLACES.get(pair[0].name, len(_PLACES)),
)


def _section_of(section: str) -> Mapping[str, Option]:
    """The options of a section, by key."""
    return {key.name: option for key, option in _DEPLOYED if key.section == section}


SECTIONS: Final = {
    section: _section_of(section) for section in ("time", "output", "runtime", "ontology", "answer_sets")
}
"""The options that deployments may set, by section and key."""

# Programs are the arguments of the verbs, and no option.
_PROGRAMS: Final = Option("programs", list[Path], "", verbs=(), key=Key("", "program", "a list of files"))
_ROOT: Final = {"program": _PROGRAMS, **_section_of("")}
_SOURCES: Final = {"streams": ("from", "map", "zone", *WRITTEN), "background": ("from", "map", *WRITTEN)}
_LONG_NUMBER: Final = re.compile(r"[0-9](?:_?[0-9]){4299}")
_TOO_MANY_DIGITS: Final = "a number has too many digits"
_TOO_DEEP: Final = "a value is nested too deeply"
_HEADER: Final = re.compile(r"\s*\[([^\[\]]+)\]")
_KEY: Final = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w-]+)\s*[=.]""")
_PLACE: Final = re.compile(r"\(at line ([0-9]+), column ([0-9]+)\)")

Value = str | bool | list[str]


@dataclass(frozen=True, slots=True)
class Deployment:
    """The options that a deployment says, by the parameter that each is of the verbs; and where it says them.

    Streams and tables of the background that have names are there besides, with what is said of each.
    """

    source: Source
    options: Mapping[str, Value] = field(default_factory=dict)
    places: Mapping[str, tuple[str, Span]] = field(default_factory=dict)
    streams: tuple[DeployedSource, ...] = ()
    background: tuple[DeployedSource, ...] = ()


def read_deployment(source: Source) -> Deployment:
    """What a text says, with files beside it; `RejectedError` with all that is wrong.

    >>> read_deployment(Source("city/city.toml", 'program = ["jam.lars"]\\n[time]\\ntick = "5s"')).options
    {'programs': ['city/jam.lars'], 'tick': '5s'}
    """
    reading = _Reading(source)
    try:
        reading.root(_parsed(source))
    except RecursionError:
        place = too_deep(source.text) or 0
        way_out = "a value is a text, a number, true or false, or a list of texts"
        raise RejectedError([Diagnostic("E302", _TOO_DEEP, Span(source, place, place + 1), way_out)]) from None
    if reading.found:
        raise RejectedError(reading.found)
    return Deployment(source, reading.options, reading.used, tuple(reading.streams), tuple(reading.background))


def _parsed(source: Source) -> dict[str, Any]:
    try:
        return tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        message, place = str(error), _PLACE.search(str(error))
        span = Span(source, len(source.text), len(source.text))
        if place is not None:
            lines = source.text.splitlines(keepends=True)
            start = sum(map(len, lines[: int(place[1]) - 1])) + int(place[2]) - 1
            span, message = Span(source, start, start + 1), message[: place.start()].strip()
        sentence = f"this is not TOML: {message[:1].lower()}{message[1:]}"
        raise RejectedError([Diagnostic("E101", sentence, span)]) from None
    except ValueError:
        # Python reads no integers of thousands of digits.
        digits = _LONG_NUMBER.search(source.text)
        begins = digits.start() if digits else 0
        raise RejectedError([Diagnostic("E104", _TOO_MANY_DIGITS, Span(source, begins, begins + 1))]) from None


class _Reading:
    """What has been read so far, and what is wrong with it."""

    def __init__(self, source: Source) -> None:
        self.options: dict[str, Value] = {}
        self.used: dict[str, tuple[str, Span]] = {}
        self.found: list[Diagnostic] = []
        self.streams: list[DeployedSource] = []
        self.background: list[DeployedSource] = []
        self._source = source
        self._folder = Path(source.name).parent
        self._places = dict(_places(source))

    def root(self, data: Mapping[str, Any]) -> None:
        for key, value in data.items():
            if key == "streams" or (key == "background" and isinstance(value, dict)):
                self._sources(key, value)
            elif key in _ROOT:
                self._take(_ROOT[key], value)
            elif key in SECTIONS and isinstance(value, dict):
                self._section(key, value)
            elif key in SECTIONS:
                self._wrong("", key, f"`{key}` is a table: write `[{key}]` on a line of its own")
            else:
                self._unknown("", key, [*_ROOT, "streams", *SECTIONS])
        self._name_sources()
        if "programs" not in self.options and not self.found:
            message = "the deployment does not name a program"
            self.found.append(
                Diagnostic("E902", message, self._span("", ""), help='begin with `program = ["jam.lars"]`')
            )

    def _section(self, section: str, data: Mapping[str, Any]) -> None:
        options = SECTIONS[section]
        for key, value in data.items():
            if key in options:
                self._take(options[key], value)
            else:
                self._unknown(section, key, list(options))

    def _sources(self, kind: str, data: object) -> None:
        """The streams, or the tables of the background, that have names."""
        if not isinstance(data, dict) or not all(isinstance(table, dict) for table in data.values()):
            example = "[streams.readings]" if kind == "streams" else "[background.roads]"
            what = "stream" if kind == "streams" else "table of the background"
            self._wrong("", kind, f"each {what} is a table: write `{example}`, and in it `from` and `map`")
            return
        for name, about in data.items():
            section = f"{kind}.{name}"
            for key in about:
                if key not in _SOURCES[kind]:
                    self._unknown(section, key, list(_SOURCES[kind]))
            origin = self._origin(section, about.get("from"))
            own = self._value(section, "map", about.get("map", []), "a list of texts")
            for key, message, way_out in wrong_text_keys(str(about.get("from")), about):
                self._wrong(section, key, message, way_out)
            if isinstance(origin, str) and isinstance(own, list):
                written = {key: about[key] for key in WRITTEN if key in about}
                source = DeployedSource(name, origin, tuple(own), written, self._zone(section, about.get("zone")))
                (self.streams if kind == "streams" else self.background).append(source)

    def _origin(self, section: str, value: object) -> str | None:
        """Where a source comes from: a file, a folder, or a URI."""
        match value:
            case str():
                return self._beside(value)
            case None:
                message, way_out = (
                    f"`[{section}]` does not say where it comes from",
                    'add `from = "readings.csv"`, or a URI',
                )
            case _:
                message = f"`from` is one file, folder or URI, and not `{value}`"
                way_out = "name a folder to read all its files, or write a table for each"
        self._wrong(section, "from", message, way_out)
        return None

    def _zone(self, section: str, value: object) -> str | None:
        """The zone of the times of a stream."""
        try:
            if value is not None:
                zone_named(str(value))
        except ValueError as error:
            message, _, way_out = str(error).partition("; ")
            self._wrong(section, "zone", message, way_out)
        return None if value is None else str(value)

    def _name_sources(self) -> None:
        """Their options, as the command line has them; names are unique, because mappings are tied to them."""
        for table in self.background:
            if any(table.name == other.name for other in self.streams):
                self._wrong(
                    f"background.{table.name}", "", f"a stream is called `{table.name}`, too", "rename one of them"
                )
        if self.streams:
            self.options["stream"] = [stream.origin for stream in self.streams]
        if self.background:
            self.options["background"] = [table.origin for table in self.background]
        if maps := list(tied_mappings(self.streams, self.background)):
            self.options["map_"] = maps

    def _take(self, option: Option, value: object) -> None:
        """Takes the value of an option's key; a list is one text where the option is typed once."""
        key = option.key
        assert key is not None
        taken = self._value(key.section, key.name, value, key.kind)
        if taken is not None:
            text = ",".join(taken) if isinstance(taken, list) and not option.is_repeatable else taken
            self.options[option.name] = text
            name = f"{key.section}.{key.name}" if key.section else key.name
            self.used[option.name] = name, self._span(key.section, key.name)

    def _value(self, section: str, key: str, value: object, kind: KeyKind) -> Value | None:
        """A value as the command line has it; what is of another kind is wrong."""
        match value, kind:
            case bool(), "true or false":
                return value
            case str() | int() | float(), "a text" if not isinstance(value, bool):
                return str(value)
            case str(), "a file":
                return self._beside(value)
            case str(), "a list of texts":
                return [value]
            case str(), "a list of files":
                return [self._beside(value)]
            case list(), "a list of texts" | "a list of files" if all(isinstance(text, str) for text in value):
                return [self._beside(text) if kind == "a list of files" else text for text in value]
            case dict(), "a table" if all(isinstance(text, str) for text in value.values()):
                return [f"{name}={iri}" for name, iri in value.items()]
            case dict(), "a table of settings" if all(map(_is_setting, _flat(value).values())):
                return [f"{name}={setting_text(member)}" for name, member in _flat(value).items()]
        shown = "nothing" if value is None else f"`{value}`"
        self._wrong(section, key, f"`{key}` is {kind}, and not {shown}")
        return None

    def _beside(self, name: str) -> str:
        """A file's name seen from where the command is typed; URIs and `-` are what they are."""
        return name if name == "-" or IS_URI.match(name) else str(self._folder / name)

    def _unknown(self, section: str, key: str, keys: list[str]) -> None:
        where = f"`[{section}]`" if section else "a deployment"
        near = get_close_matches(key, keys, 1)
        way_out = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(f'`{name}`' for name in keys)}"
        self.found.append(Diagnostic("E901", f"{where} has no key `{key}`", self._span(section, key), help=way_out))

    def _wrong(self, section: str, key: str, message: str, help: str = "") -> None:
        self.found.append(Diagnostic("E902", message, self._span(section, key), help))

    def _span(self, section: str, key: str) -> Span:
        place = self._places.get((section, key)) or self._places.get(("", section)) or (0, 0)
        return Span(self._source, *place)


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of tables within a table, by all their keys: TOML takes a point in a key for a table.

    >>> _flat({"spark": {"ui": {"port": 4041}}, "spark.jars": "a.jar"})
    {'spark.ui.port': 4041, 'spark.jars': 'a.jar'}
    """
    values: dict[str, Any] = {}
    for key, value in table.items():
        values |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return values


def _is_setting(value: object) -> bool:
    return isinstance(value, str | int | float)


def setting_text(value: object) -> str:
    """A value as settings of Spark write it.

    >>> setting_text(True), setting_text("4g"), setting_text(8)
    ('true', '4g', '8')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _places(source: Source) -> Iterator[tuple[tuple[str, str], tuple[int, int]]]:
    """Where each key stands, by its table; tables are keys of the whole."""
    section, start = "", 0
    for line in source.text.splitlines(keepends=True):
        if header := _HEADER.match(line):
            section = header[1].strip().replace('"', "")
            yield ("", section), (start + header.start(1), start + header.end(1))
            yield ("", section.partition(".")[0]), (start + header.start(1), start + header.end(1))
        elif key := _KEY.match(line):
            name = key[1].strip("\"'")
            yield (section, name), (start + key.start(1), start + key.end(1))
        start += len(line)
