"""A stream of the service: versions of its definition, and statistics of what came on it."""

from dataclasses import dataclass
from typing import Any

from thalweg.connectors.mapping.tally import Tally


@dataclass(frozen=True, slots=True)
class StreamVersion:
    """A definition that held from some record on: its number, and the definition as JSON."""

    number: int
    definition: dict[str, Any]

    def tally(self) -> Tally:
        """The mappings, ready to be used by one reader."""
        raise NotImplementedError


class LoggedStream:
    """A stream, its definitions and statistics."""

    name: str
    born: int
    """Records of its name up to this number are of an earlier stream, which was deleted."""

    @property
    def version(self) -> StreamVersion:
        """The current definition."""
        raise NotImplementedError

    def version_of(self, number: int) -> StreamVersion:
        """The definition of a number, as `about["map"]` of a record has it."""
        raise NotImplementedError
