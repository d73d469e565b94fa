"""A stream of the service: the versions of its definition.

    {"map": ["temp(device, v) at ts"]}      a new version from the next record on

A record says which version it was taken with, so it is read alike whenever it is read.
"""

from dataclasses import dataclass
from typing import Any, Final

from thalweg.connectors.mapping.dialect import UNSTATED, StatedDialect
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.languages.deployment.deployed_sources import WRITTEN, wrong_text_keys
from thalweg.model.local_times import zone_named

KEYS: Final = ("map", "from", "zone", *WRITTEN)
"""What a definition may say."""

_SHAPE: Final = 'a stream is for example `{"map": ["temp(device, v) at ts"]}`, or `{}`'


@dataclass(frozen=True, slots=True)
class StreamVersion:
    """A definition that held from some record on: its number, the definition as JSON, and the name of the stream.

    >>> version = StreamVersion(1, {"map": ["temp(device, v) at ts"]}, "north")
    >>> [str(mapping.predicate) for mapping in version.tally().mappings]
    ['temp/2']
    """

    number: int
    definition: dict[str, Any]
    stream: str = ""

    def tally(self) -> Tally:
        """The mappings, ready to be used by one reader; `RejectedError` with all that is wrong with the definition."""
        definition = self.definition
        mappings = read_mappings(definition.get("map", ()))
        written = {key: definition[key] for key in WRITTEN if key in definition}
        dialect = StatedDialect(**{**written, "columns": tuple(written.get("columns", ()))}) if written else UNSTATED
        zone = definition.get("zone")
        return Tally(
            mappings,
            {} if dialect == UNSTATED else {self.stream: dialect},
            {} if zone is None else {self.stream: zone_named(zone)},
        )


def read_definition(name: str, definition: object) -> dict[str, Any]:
    """A definition as it is kept, with its mappings as a list; `RejectedError` with all that is wrong with it.

    >>> read_definition("north", {"map": "temp(device, v) at ts"})
    {'map': ['temp(device, v) at ts']}
    """
    if not isinstance(definition, dict):
        raise RejectedError([Diagnostic("E902", "the definition of a stream is an object of JSON", help=_SHAPE)])
    wrong = [*_unknown_keys(definition), *_wrong_values(definition)]
    if wrong:
        raise RejectedError(wrong)
    stated = definition.get("map", [])
    kept = {**definition, "map": [stated] if isinstance(stated, str) else list(stated)}
    if not kept["map"]:
        del kept["map"]
    StreamVersion(0, kept, name).tally()
    return kept


def _unknown_keys(definition: dict[str, Any]) -> list[Diagnostic]:
    known = ", ".join(f"`{key}`" for key in KEYS)
    return [
        Diagnostic("E901", f"a stream has no key `{key}`", help=f"known are {known}")
        for key in definition
        if key not in KEYS
    ]


def _wrong_values(definition: dict[str, Any]) -> list[Diagnostic]:
    """The values that are not what they must be."""
    wrong: list[Diagnostic] = []
    stated, origin, zone = definition.get("map", []), definition.get("from"), definition.get("zone")
    if not isinstance(stated, str) and not (isinstance(stated, list) and all(isinstance(text, str) for text in stated)):
        wrong.append(Diagnostic("E902", "`map` is a list of texts", help=_SHAPE))
    if not isinstance(origin, str | None):
        wrong.append(Diagnostic("E902", f"`from` is a URI, and not `{origin}`"))
    try:
        if zone is not None:
            zone_named(str(zone))
    except ValueError as error:
        message, _, way_out = str(error).partition("; ")
        wrong.append(Diagnostic("E902", message, help=way_out))
    wrong += (Diagnostic("E902", message, help=help) for _, message, help in wrong_text_keys("", definition))
    return wrong


@dataclass(frozen=True, slots=True)
class LoggedStream:
    """A stream and the versions of its definition, of which there is at least one.

    Records of its name up to the number `born` are of an earlier stream, which was deleted.
    """

    name: str
    born: int
    versions: tuple[StreamVersion, ...]

    @property
    def version(self) -> StreamVersion:
        """The current definition."""
        return self.versions[-1]

    def version_of(self, number: int) -> StreamVersion:
        """The definition of a number, as `about["map"]` of a record has it."""
        return self.versions[number - 1]

    def redefined(self, definition: dict[str, Any]) -> "LoggedStream":
        """The stream with another version of its definition."""
        version = StreamVersion(len(self.versions) + 1, definition, self.name)
        return LoggedStream(self.name, self.born, (*self.versions, version))

    def as_data(self) -> dict[str, Any]:
        """The stream as JSON."""
        return {"name": self.name, "born": self.born, "versions": [version.definition for version in self.versions]}

    @classmethod
    def of_data(cls, data: dict[str, Any]) -> "LoggedStream":
        """The stream that was saved as JSON."""
        versions = (StreamVersion(number, kept, data["name"]) for number, kept in enumerate(data["versions"], 1))
        return cls(data["name"], data["born"], tuple(versions))
