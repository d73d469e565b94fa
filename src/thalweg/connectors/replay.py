"""`replay://readings.facts?factor=10`: a recording, at the pace at which it was recorded, or a multiple of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic, sleep
from urllib.parse import parse_qsl

from thalweg.connectors.interrupt import Interrupt, Interrupted
from thalweg.connectors.transport import Transport
from thalweg.diagnostics import Diagnostic, RejectedError


@dataclass(frozen=True, slots=True)
class ReplayTransport:
    """A recording and how many times faster than its own time it is read."""

    inner: Transport
    factor: float

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def stream(self) -> str:
        return self.inner.stream

    @stream.setter
    def stream(self, name: str) -> None:
        self.inner.stream = name

    @property
    def live(self) -> bool:
        return False

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        return self.inner.blocks(interrupt)

    def close(self) -> None:
        self.inner.close()


def replayed(uri: str, open_file: Callable[[str], Transport]) -> ReplayTransport:
    """The recording that a URI names.

    >>> from thalweg.connectors.open import TextTransport
    >>> replayed("replay://p at 3.?factor=60", TextTransport).factor
    60.0
    """
    path, _, query = uri.removeprefix("replay://").partition("?")
    options = dict(parse_qsl(query))
    try:
        factor = float(options.pop("factor", "1"))
    except ValueError:
        factor = 0.0
    if options or factor <= 0:
        raise RejectedError([Diagnostic("E403", f"`{uri}` has unknown options", help="write `?factor=10`")])
    return ReplayTransport(open_file(path), factor)


class ReplayPace:
    """Holds events back until their time has come.

    >>> pace = ReplayPace(tick_length=1_000, factor=1_000_000)
    >>> pace.early(5), pace.early(5) <= 0
    (0.0, True)
    """

    def __init__(self, tick_length: int, factor: float) -> None:
        self._seconds = tick_length / 1_000 / factor
        self._begun: tuple[int, float] | None = None

    def early(self, tick: int) -> float:
        """How many seconds too early it is for a tick; the first one sets the clock."""
        first, moment = self._begun = self._begun or (tick, monotonic())
        return min(moment + (tick - first) * self._seconds - monotonic(), float(1 << 30)) if tick > first else 0.0

    def wait(self, tick: int, interrupt: Interrupt) -> bool:
        """Waits for the time of a tick; False where the user does not want to."""
        while (early := self.early(tick)) > 0:
            try:
                with interrupt.waiting():
                    sleep(min(early, 0.2))
            except Interrupted:
                return False
        return not interrupt.asked
