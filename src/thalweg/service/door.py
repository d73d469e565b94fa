"""The door of the service: what is posted is read before it is taken, so that what is wrong is said to whoever sent it.

A body is a document of its own: read with the stream's mappings and the reader of its media type, as programs will.
"""

from dataclasses import dataclass
from typing import Final

from thalweg.diagnostics import Diagnostic
from thalweg.service.stream import StreamVersion

FORMATS: Final = {
    "text/plain": "facts",
    "application/x-ndjson": "json",
    "application/json": "json",
    "text/csv": "csv",
    "application/n-quads": "quads",
    "application/trig": "trig",
    "application/ld+json": "jsonld",
}
"""The format of each media type, as readers are called."""


class MediaTypeError(Exception):
    """A media type that is not that of facts; the message names those that are."""


@dataclass(frozen=True, slots=True)
class DoorReport:
    """What a body holds: the number of its facts, the latest of their times, and what is wrong with it.

    `is_refused`: the body as a whole makes no sense, so that nothing of it can be taken.
    """

    facts: int
    latest: int | str | None
    malformed: int
    diagnostics: tuple[Diagnostic, ...] = ()
    bad_lines: tuple[tuple[str, Diagnostic], ...] = ()
    is_refused: bool = False


class Door:
    """Reads bodies with dictionaries of its own; may be used by several threads."""

    def check(self, stream: str, version: StreamVersion, media: str, body: bytes, arrived: int) -> DoorReport:
        """What a body holds that arrives at an instant, in milliseconds since 1970."""
        raise NotImplementedError

    @staticmethod
    def media_type(content_type: str) -> str:
        """The media type of a header, without its parameters; `MediaTypeError` where it is none of facts."""
        raise NotImplementedError
