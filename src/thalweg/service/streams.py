"""The streams of the service: what each is mapped by, and what came on it.

Definitions are kept in one JSON file a stream, with all versions of the mappings: a record of the log says which
version it was taken with, so a replay reads it as it was read then. Statistics are kept as of some record, and brought
up to the end of the log when the service starts.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final

from thalweg.service.log import Log, LogRecord
from thalweg.service.stream import LoggedStream

NAME: Final = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
"""What names of streams and programs match."""


class LoggedStreams:
    """The streams by name; every method may be called from any thread."""

    def __init__(self, folder: Path, log: Log) -> None:
        """Reads the definitions in a folder, which is made if need be, and what the log has on these streams."""

    def put(self, name: str, definition: dict[str, Any]) -> tuple[LoggedStream, bool]:
        """Makes or changes a stream by `{"map": […]}`, once that is durable; and whether it is new.

        `RejectedError` where the name or a mapping cannot be used. The same definition again changes nothing. A
        definition may also have the keys that a deployment's stream has for its table and times (`zone`, `separator`,
        …), and `from`, the URI of a connector.
        """
        raise NotImplementedError

    def get(self, name: str) -> LoggedStream | None:
        """The stream of a name; None where there is none."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> LoggedStream:
        raise NotImplementedError

    def names(self) -> list[str]:
        """All names, sorted."""
        raise NotImplementedError

    def delete(self, name: str) -> bool:
        """Deletes a stream; False where there is none. Whether a program reads it is for the caller to see.

        A stream of that name that is made later has none of its records.
        """
        raise NotImplementedError

    def post(
        self,
        name: str,
        media: str,
        body: bytes,
        *,
        skip: bool = False,
        key: str | None = None,
        about: dict[str, Any] | None = None,
    ) -> Future[LogRecord]:
        """Checks a body at the door and appends it; `record.answer()` is what the request is answered with.

        `RejectedError` where a line is bad (with `skip`, where the body as a whole is), `LookupError` where there is no
        such stream, `MediaTypeError` where the media type is unknown, and what `Log.append` raises. With a `key` that
        came before nothing is checked. A connector puts its position into `about`: {"position": …, "backlog": …}.
        """
        raise NotImplementedError

    def records(self, name: str, after: int = 0, limit: int = 100) -> list[LogRecord]:
        """What came on a stream behind a number."""
        raise NotImplementedError

    def position(self, name: str) -> Any:
        """The `position` of the last record of a stream that has one, which a connector goes on from; else None."""
        raise NotImplementedError

    def describe(self, name: str, programs: Sequence[str] = ()) -> dict[str, Any]:
        """The object of `GET /v1/streams/{name}`; the caller knows which programs read it."""
        raise NotImplementedError

    def save(self) -> None:
        """Writes the statistics down, if they have changed; the service does it now and then, and at the end."""
