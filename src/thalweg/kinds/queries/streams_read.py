"""Which streams of a run a query reads.

A query names a stream by an IRI, and reads the stream of the run whose name is the IRI or its local name. Where the run
has one stream and the query one, they are each other's, whatever they are called. JSON Lines may name streams line by
line: whether those come is known only at the end.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.languages.rspql.names import local_name, means_stream
from thalweg.languages.rspql.query import Query
from thalweg.model.event import Batch


class StreamsRead:
    """The streams that a query reads, by what the run calls them; `given` are those that the run was given."""

    def __init__(self, query: Query, streams: Sequence[str]) -> None:
        self._query = query
        self._written = tuple(dict.fromkeys(window.stream for window in query.windows))
        self._given = streams
        # What a stream is called that says nothing else, where there is no choice.
        self._sole: tuple[str | None, ...] = (None, *streams) if len(self._written) == 1 and len(streams) <= 1 else ()
        self._meant: dict[str | None, tuple[str, ...]] = {}
        self._came: dict[str | None, None] = {}

    def check(self, names_streams: Callable[[], bool]) -> None:
        """Refuses a query that reads a stream which the run does not have, and which nothing that comes can name."""
        if self._sole or not self._given:
            return
        wrong = [self._unknown(stream, self._given) for stream in self._written if not self._has(stream, self._given)]
        if wrong and not names_streams():
            raise RejectedError(wrong)

    def only(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches that the query reads, each with the stream's name as the query writes it."""
        for batch in batches:
            for written in self._names(batch.stream):
                yield batch if batch.stream == written else Batch(batch.rows, batch.order, written, batch.graphs)

    def _names(self, stream: str | None) -> tuple[str, ...]:
        if stream not in self._meant:
            self._came[stream] = None
            named = (name for name in self._written if stream is not None and means_stream(name, stream))
            self._meant[stream] = tuple(named) or (self._written if stream in self._sole else ())
        return self._meant[stream]

    def save(self) -> list[str | None]:
        """The streams that came."""
        return list(self._came)

    def load(self, streams: Iterable[str | None]) -> None:
        """Goes on where another one was saved."""
        for stream in streams:
            self._names(stream)

    def summary(self) -> Iterator[Diagnostic]:
        """The streams of the query that never came, and that the run was not given, where others came."""
        meant = {written for stream in self._came for written in self._meant[stream]}
        for written in self._written if self._came else ():
            if written not in meant and not self._has(written, self._given):
                yield self._unknown(written, [name for name in self._came if name is not None], "W610")

    @staticmethod
    def _has(written: str, streams: Iterable[str]) -> bool:
        return any(means_stream(written, stream) for stream in streams)

    def _unknown(self, written: str, streams: Sequence[str], code: str = "E602") -> Diagnostic:
        window = next(window for window in self._query.windows if window.stream == written)
        name = local_name(written)
        listed = ", ".join(f"`{stream}`" for stream in sorted(streams)) or "one without a name"
        is_error = code == "E602"
        message = f"there is no stream `{name}`" if is_error else f"nothing came on the stream `{name}`"
        help_ = (
            f"the streams of this run are {listed}: a stream is called by its file's name, or by `stream` in its lines"
        )
        return Diagnostic(code, message, window.span, help_)
