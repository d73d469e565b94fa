"""A pump: a thread that brings what a connector has into the log, with the position behind it.

    connector ──blocks──▶ bodies ──▶ log        then messages up to there are acknowledged

After a crash it goes on behind the position in the log, so what a source can repeat is taken once. A connector that
fails is tried again, ever less often; a file, and whatever else has an end, is read once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any, Final

from thalweg.connectors.open import is_remote
from thalweg.connectors.service_client import ServiceRefusedError
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.service.log import DiskFullError, LogBusyError
from thalweg.service.pumped_source import StreamOrigin
from thalweg.service.streams import LoggedStreams

_BUSY: Final = 0.05
_FULL: Final = 1.0
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_ENDING: Final = 2.0


@dataclass(frozen=True, slots=True)
class ConnectorState:
    """How a connector is doing: `opening`, `reading`, `retrying`, `failed` or `ended`; `because` says why."""

    state: str = "opening"
    because: Diagnostic | None = None

    def as_data(self) -> dict[str, Any]:
        """It as JSON.

        >>> ConnectorState("retrying", Diagnostic("E404", "no connection")).as_data()["because"]["message"]
        'no connection'
        """
        return {"state": self.state, "because": None if self.because is None else self.because.as_data()}


class _EndedError(Exception):
    """The service ends while something waits to be appended."""


class Pump:
    """A thread that brings a stream into the log; `uri` is a file, a folder or an address."""

    def __init__(
        self, streams: LoggedStreams, name: str, uri: str, report: Callable[[Diagnostic], None] = lambda wrong: None
    ) -> None:
        """`report` gets what is wrong when it begins to be so. Nothing is opened before `start`."""
        self.state = ConnectorState()
        self._streams = streams
        self._name = name
        self._uri = uri
        self._report = report
        self._closed = Event()
        self._thread = Thread(target=self._run, name=f"pump of {name}", daemon=True)

    @property
    def _origin(self) -> StreamOrigin:
        """The source, with the mappings that the stream has now."""
        return StreamOrigin(self._uri, self._name, self._streams[self._name].version.tally())

    def check(self) -> None:
        """`RejectedError` where a file cannot be read; one that has been read need not be there any more."""
        origin = self._origin
        if not is_remote(self._uri) and not origin.has_ended(self._streams.position(self._name)):
            origin.check()

    def start(self) -> None:
        """Begins, or goes on behind the position in the log."""
        self._thread.start()

    def ask_to_end(self) -> None:
        """Has it end, and does not wait for that."""
        self._closed.set()

    def close(self) -> None:
        """Has it end, and waits for that a while; what is not durable has not been acknowledged."""
        self._closed.set()
        if self._thread.ident is not None:
            self._thread.join(_ENDING)

    def join(self, seconds: float) -> bool:
        """Waits until the source has ended and all of it is in the log; whether that is so."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._closed.is_set():
            before = self._streams.position(self._name)
            try:
                if self._pump(before):
                    return
            except FailedError as error:
                self._stumble("retrying", error.diagnostic)
            except ServiceRefusedError as error:
                # A program that is not there yet may be there later, and a token may become known.
                self._stumble("retrying", error.diagnostics[0])
            except RejectedError as error:
                # It would be wrong the next time, too.
                self._stumble("failed", error.diagnostics[0])
                return
            except (LookupError, _EndedError):
                return
            except Exception as error:
                self._stumble("failed", _unforeseen(self._name, error))
                return
            pause = _FIRST_PAUSE if self._streams.position(self._name) != before else min(2 * pause, _LONGEST_PAUSE)
            self._closed.wait(pause)

    def _stumble(self, state: str, because: Diagnostic) -> None:
        """Says what is wrong, unless that has been said."""
        if because != self.state.because:
            self._report(because)
        self.state = ConnectorState(state, because)

    def _pump(self, position: Any) -> bool:
        """Brings what the source has behind a position; whether it has ended, or this has been closed."""
        origin = self._origin
        if not origin.has_ended(position):
            transport = origin.open()
            try:
                for part in origin.parts(transport, position):
                    self.state = ConnectorState("reading")
                    part.pump(self._append, self._closed, self._report)
                    part.close()
                    if self._closed.is_set():
                        return True
            finally:
                transport.close()
        self.state = ConnectorState("ended")
        return True

    # The log --------------------------------------------------------------------------------------------------------

    def _append(self, media: str, body: bytes, about: dict[str, Any]) -> None:
        """Returns when a body is durable, without what cannot be read of it."""
        try:
            self._append_whole(media, body, about)
        except RejectedError:
            lines = body.splitlines(keepends=True)
            half = len(lines) // 2
            if half:
                self._append(media, b"".join(lines[:half]), {})
            # What is wrong with a line is among the bad ones of the stream; it is not read again.
            self._append(media, b"".join(lines[half:]) if half else b"", about)

    def _append_whole(self, media: str, body: bytes, about: dict[str, Any]) -> None:
        """Returns when a body is durable; `RejectedError` where it makes no sense as a whole."""
        while True:
            try:
                self._streams.post(self._name, media, body, skip=True, about=about).result()
                break
            except LogBusyError:
                pause = _BUSY
            except DiskFullError as error:
                self._stumble("retrying", Diagnostic("E401", f"`{self._name}` cannot be logged: {error}"))
                pause = _FULL
            if self._closed.wait(pause):
                raise _EndedError
        if self.state.state == "retrying":
            self.state = ConnectorState("reading")


def _unforeseen(name: str, error: Exception) -> Diagnostic:
    """The diagnostic of an error that nobody has thought of: other streams go on."""
    message = f"what brings `{name}` has failed: {type(error).__name__}: {error}"
    return Diagnostic("E904", message, help="this is a fault of Thalweg: please report it, with the deployment")
