"""What a service answers becomes a stream again: at each tick the facts that hold then.

    event: snapshot   {"t":5,"facts":[{"fact":"jam(a)",…}]}     {"t":5,"facts":["jam(a)"]}
    event: line       {"t":8,"begin":["jam(b)"],"end":[]}       {"t":6,"facts":["jam(a)"]}
                                                        becomes {"t":7,"facts":["jam(a)"]}
                                                                {"t":8,"facts":["jam(a)","jam(b)"]}
    event: time       {"t":9}                                   {"t":9,"facts":["jam(a)","jam(b)"]}

A tick of answer sets is complete when a later one is known: what rules change at it comes behind them. After a `gap` or
a `reset` a snapshot says what holds; of the ticks between nothing is known, and nothing is said.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from thalweg.connectors.server_sent_events import ServerSentEvent
from thalweg.diagnostics import Diagnostic

_BLOCK: Final = 1 << 16
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class UpstreamClock:
    """The ticks of a service, as its answers write them: numbers, or timestamps.

    >>> clock = UpstreamClock(60_000)
    >>> clock.tick("1970-01-01T02:03:00+01:00"), clock.data(63, is_iso=True)
    (63, '1970-01-01T01:03:00Z')
    """

    milliseconds: int = 1_000

    def tick(self, time: int | str) -> int:
        """The number of a tick."""
        if isinstance(time, int):
            return time
        return (datetime.fromisoformat(time) - _EPOCH) // timedelta(milliseconds=self.milliseconds)

    def data(self, tick: int, is_iso: bool) -> int | str:
        """A tick as streams write it."""
        if not is_iso:
            return tick
        moment = _EPOCH + tick * timedelta(milliseconds=self.milliseconds)
        return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds").replace("+00:00", "Z")


@dataclass(slots=True)
class AnswerPlace:
    """How far answers were handed over: behind which of them, up to which tick, and what holds there."""

    id: str = ""
    tick: int | None = None
    is_iso: bool = False
    concluded: dict[str, None] = field(default_factory=dict)
    solved: dict[str, None] = field(default_factory=dict)
    """What answer sets say, until another window is solved."""

    @property
    def facts(self) -> list[str]:
        """What holds, each fact once."""
        return [*(self.concluded | self.solved)]

    def save(self) -> dict[str, Any]:
        """It as JSON."""
        holds = {"concluded": [*self.concluded], "solved": [*self.solved]}
        return {"id": self.id, "tick": self.tick, "iso": self.is_iso, **holds}

    @classmethod
    def load(cls, saved: Mapping[str, Any]) -> "AnswerPlace":
        """What was saved."""
        holds = dict.fromkeys(saved["concluded"]), dict.fromkeys(saved["solved"])
        return cls(saved["id"], saved["tick"], saved["iso"], *holds)

    def copy(self) -> "AnswerPlace":
        """Another one, which stays as it is."""
        return AnswerPlace(self.id, self.tick, self.is_iso, dict(self.concluded), dict(self.solved))

    def go(self, step: "AnswerStep") -> None:
        """Goes on by a step."""
        self.id, self.tick, self.is_iso = step.id, step.tick, step.is_iso
        if step.anew:
            self.concluded, self.solved = {}, {}
        for fact in step.end:
            self.concluded.pop(fact, None)
        self.concluded |= dict.fromkeys(step.begin)
        if step.solved is not None:
            self.solved = dict.fromkeys(step.solved)


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """From one place to another: where that is, and what has begun and ended on the way."""

    id: str
    tick: int | None
    is_iso: bool
    begin: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    solved: tuple[str, ...] | None = None
    anew: bool = False


class HeldAnswers:
    """Rebuilds what holds from the events of a service; `name` is that of its address in warnings.

    >>> held = HeldAnswers("http://host/v1/programs/jam/events", UpstreamClock())
    >>> opened = ServerSentEvent("snapshot", "1-3", b'{"t":5,"facts":[{"fact":"p(a)"}]}')
    >>> ended = ServerSentEvent("line", "1-4", b'{"t":7,"begin":[],"end":["p(a)"]}')
    >>> for event in (opened, ended):
    ...     for lines, _ in held.take(event): print(lines.decode(), end="")
    {"t":5,"facts":["p(a)"]}
    {"t":6,"facts":["p(a)"]}
    {"t":7,"facts":[]}
    """

    def __init__(self, name: str, clock: UpstreamClock) -> None:
        self._name = name
        self._clock = clock
        self.place = AnswerPlace()
        self._notices: list[Diagnostic] = []
        self._has_left_out = False

    def notices(self) -> list[Diagnostic]:
        """The warnings since they were asked for."""
        notices, self._notices = self._notices, []
        return notices

    def take(self, event: ServerSentEvent) -> Iterator[tuple[bytes, AnswerStep]]:
        """The lines that an event makes, in blocks, and the step that each of them is."""
        data = json.loads(event.data)
        match event.kind:
            case "snapshot":
                yield from self._snapshot(event.id, data)
            case "line":
                yield from self._line(event.id, data)
            case "time":
                yield from self._up_to(self._tick(data["t"]))
            case "gap":
                kept, after = data["kept"], data["after"]
                self._begins_anew(f"answers behind `{after}` are no longer kept there, only those from `{kept}` on")
            case "reset":
                self._begins_anew(f"generation {data['generation']} of the program answers now")

    def _begins_anew(self, because: str) -> None:
        help_ = "of the ticks between nothing is known here; let the service keep more with `--retain`"
        self._notices.append(Diagnostic("W424", f"what holds at `{self._name}` begins anew: {because}", help=help_))

    def _snapshot(self, id_: str, data: Mapping[str, Any]) -> Iterator[tuple[bytes, AnswerStep]]:
        facts = tuple(fact["fact"] for fact in data["facts"])
        if data["t"] is None:
            yield b"", self._go(id_, self.place.tick, begin=facts, anew=True)
            return
        tick, reached = self._tick(data["t"]), self.place.tick
        before = tick - 1 if reached is None else max(reached, tick - 1)
        yield b"", self._go(id_, before, begin=facts, anew=True)
        yield from self._up_to(tick)

    def _line(self, id_: str, data: Mapping[str, Any]) -> Iterator[tuple[bytes, AnswerStep]]:
        tick = self._tick(data["t"])
        yield from self._up_to(tick - 1)
        match data:
            case {"begin": begin, "end": end} if _are_facts(begin):
                ended = (*end, *data.get("unknown", ()))
                yield b"", self._go(id_, self.place.tick, begin=tuple(begin), end=ended)
            case {"facts": facts} if _are_facts(facts):
                yield b"", self._go(id_, self.place.tick, begin=tuple(facts), anew=True)
            case {"answers": answers}:
                solved = tuple(dict.fromkeys(fact for answer in answers for fact in answer))
                yield b"", self._go(id_, self.place.tick, solved=solved)
                return
            case _:
                self._leave_out()
                yield b"", self._go(id_, self.place.tick)
                return
        yield from self._up_to(tick)

    def _leave_out(self) -> None:
        if not self._has_left_out:
            self._has_left_out = True
            message = (
                f"`{self._name}` answers with events, rows or clashes, which are no facts that hold: they are left out"
            )
            help_ = "let rules of that program conclude facts from them"
            self._notices.append(Diagnostic("W424", message, help=help_))

    def _up_to(self, last: int) -> Iterator[tuple[bytes, AnswerStep]]:
        """Every tick up to one with what holds; where nothing does, the last one is enough."""
        place = self.place
        if place.tick is not None and place.tick >= last:
            return
        facts = place.facts
        first = last if place.tick is None or not facts else place.tick + 1
        text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
        together = max(1, _BLOCK // (len(text) + 1))
        for start in range(first, last + 1, together):
            end = min(start + together - 1, last)
            lines = "".join(self._written(tick, text) for tick in range(start, end + 1))
            yield lines.encode(errors="replace"), self._go(place.id, end)

    def _written(self, tick: int, facts: str) -> str:
        return f'{{"t":{json.dumps(self._clock.data(tick, self.place.is_iso))},"facts":{facts}}}\n'

    def _go(self, id_: str, tick: int | None, **changes: Any) -> AnswerStep:
        step = AnswerStep(id_ or self.place.id, tick, self.place.is_iso, **changes)
        self.place.go(step)
        return step

    def _tick(self, time: int | str) -> int:
        self.place.is_iso = isinstance(time, str)
        return self._clock.tick(time)


def _are_facts(listed: Iterable[Any]) -> bool:
    return all(isinstance(fact, str) for fact in listed)
