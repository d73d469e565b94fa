"""ProgramSubscriptions: definitions of events that are added to a program while it runs, and taken from it.

    PUT …/subscriptions/jam      MATCH EVERY :High SEQ :Low WITHIN (10 m)

is `NAMED EVENT :jam { MATCH … }` from the next tick on. Each change is a record of the log, so a replay meets it at the
same place; the checkpoint of a generation says which there are.

    ProgramSubscriptions      of a program, for any thread: writes the record, waits until it is taken
    ActiveSubscriptions       of a generation, on its thread: takes the records, and changes the run

Whether a change can be made is decided when its record is taken, by what there is then. So a replay decides alike; a
request asks beforehand, on the thread of the generation, and what cannot be made is not written down.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.kinds.added_definitions import growing_part, grown
from thalweg.kinds.part import Part
from thalweg.runtimes.local import LocalRun
from thalweg.service.log_record import LogEntry, LogRecord
from thalweg.service.program_text import MOST_TEXT, ProgramText
from thalweg.service.refused import RefusedError, has_failed, refusal
from thalweg.service.streams import NAME

if TYPE_CHECKING:
    from thalweg.service.generation import Generation
    from thalweg.service.log import Log
    from thalweg.service.registered_program import RegisteredProgram

WAIT: Final = 10.0
"""Seconds that a request waits until its record is taken."""
_AGAIN: Final = 0.1
_NAME: Final = re.compile(NAME)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription under its local name, and its first tick; None where it began with the run."""

    name: str
    text: str
    seq: int
    """The record with which it came."""
    first: int | None = None
    definition: Any = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> tuple[str, str, int]:
        """What another generation begins with."""
        return self.name, self.text, self.seq


@dataclass(frozen=True, slots=True)
class EarlierSubscriptions:
    """What a generation knows of subscriptions when it begins, so that a restarted program keeps its own."""

    since: int = 0
    """The record behind which its body was PUT; changes before that were of another program."""
    taken: int = 0
    """The record up to which changes were taken."""
    active: tuple[tuple[str, str, int], ...] = ()
    """Those that it begins with: name, text, and the record with which each came."""

    def up_to(self, seq: int) -> "EarlierSubscriptions":
        """The same without those that came behind a record."""
        active = tuple(subscription for subscription in self.active if subscription[2] <= seq)
        return EarlierSubscriptions(self.since, min(self.taken, seq), active)

    def as_data(self) -> list[Any]:
        """It as JSON.

        >>> earlier = EarlierSubscriptions(3, 9, (("seen", "AS :Seen", 7),))
        >>> EarlierSubscriptions.read(earlier.as_data()) == earlier
        True
        """
        return [self.since, self.taken, [list(subscription) for subscription in self.active]]

    @staticmethod
    def read(data: Sequence[Any]) -> "EarlierSubscriptions":
        """What `as_data` gave."""
        since, taken, active = data
        return EarlierSubscriptions(since, taken, tuple((name, text, seq) for name, text, seq in active))


NO_SUBSCRIPTIONS: Final = EarlierSubscriptions()


class ActiveSubscriptions:
    """The subscriptions of a generation, which its thread adds to its run and takes from it.

    Where a generation is opened:

        active = ActiveSubscriptions(text, part, program, earlier)
        active.load(saved)                           # what `save` gave, where there is a checkpoint
        run = …LocalRun or jobs.start(active.part)…
        LoggedItems(…, subscribed=lambda record: active.take(record, run))

    Items say None before they call `subscribed`: what was decided up to the record has been evaluated by then.
    """

    def __init__(self, text: ProgramText, part: Part, program: str, earlier: EarlierSubscriptions) -> None:
        """Those of a program that it begins with."""
        self._sources = text.sources
        self._part = part
        # Another body of the program has records of its own.
        self._place = {"program": program, "body": text.fingerprint}
        self._since = earlier.since
        self._active: dict[str, Subscription] = {}
        self._all: tuple[Subscription, ...] = ()
        self._taken = Condition()
        self._seq = earlier.taken
        self.load([[*subscription, None] for subscription in earlier.active])

    @property
    def part(self) -> Part:
        """The part with all subscriptions; the run is opened with it."""
        return grown(self._part, [(active.definition, active.first) for active in self._all])

    # On the thread of the generation --------------------------------------------------------------------------------

    def take(self, record: LogRecord, run: LocalRun) -> None:
        """Changes a run as a record says; a record for another program, or for another body of it, changes nothing."""
        if record.seq <= self._since or any(record.about.get(key) != value for key, value in self._place.items()):
            return
        name, text = record.about["name"], record.about["text"]
        try:
            if text is None:
                self._remove(name, run)
            else:
                self._add(name, text, record.seq, run)
        except RefusedError:
            # By what there is now it cannot be made; whoever asked for it looks, and says why.
            pass
        with self._taken:
            self._seq = record.seq
            self._all = tuple(self._active.values())
            self._taken.notify_all()

    def _add(self, name: str, text: str, seq: int, run: LocalRun) -> None:
        definition = self.check(name, text, run)
        if definition is not None:
            self._active[name] = Subscription(name, text, seq, run.add_definition(definition), definition)

    def _remove(self, name: str, run: LocalRun) -> None:
        self.check_removal(name)
        run.remove_definition(self._active.pop(name).definition.name)

    def check(self, name: str, text: str, run: LocalRun) -> Any:
        """The definition that can be added; None where there is the same one, `RefusedError` where it cannot be."""
        growing = growing_part(self._part)
        if growing is None or run.definitions is None:
            message = "the program has no events that could be subscribed to"
            raise RefusedError(400, Diagnostic("E817", message, help="register a program of events (`.tw`)"))
        if name in self._active:
            if self._active[name].text == text:
                return None
            raise RefusedError(409, _in_use(f"there is a subscription `{name}` with another text"))
        try:
            if growing.name_of(name, self._sources) in growing.names_in_use():
                raise RefusedError(409, _in_use(f"the program itself uses the name `:{name}`"))
            definition = growing.read_definition(name, text, self._sources)
            run.definitions.check_definition(definition)
        except RefusedError:
            raise
        except RejectedError as error:
            raise RefusedError(400, error.diagnostics) from None
        return definition

    def check_removal(self, name: str) -> None:
        """`RefusedError` where there is no such subscription (404), or another definition uses it (409)."""
        if name not in self._active:
            raise RefusedError(404, Diagnostic("E801", f"there is no subscription `{name}`"))
        own = self._active[name].definition.name
        users = [active.name for active in self._active.values() if own in active.definition.uses]
        if users:
            message = f"the subscription `{users[0]}` uses `{name}`"
            raise RefusedError(409, Diagnostic("E817", message, help="take that away first"))

    # For any thread -------------------------------------------------------------------------------------------------

    def all(self) -> Sequence[Subscription]:
        """Those that are active, in the order in which they came; may be called from any thread."""
        return self._all

    def get(self, name: str) -> Subscription | None:
        """The one of a name."""
        return next((active for active in self._all if active.name == name), None)

    def earlier(self, taken: int) -> EarlierSubscriptions:
        """They as what a generation begins with, where changes up to a record were taken."""
        return EarlierSubscriptions(self._since, taken, tuple(active.key for active in self._all))

    def wait(self, seq: int, seconds: float) -> bool:
        """Waits until a record of the program's subscriptions was taken, and returns whether it was."""
        with self._taken:
            return self._taken.wait_for(lambda: self._seq >= seq, seconds)

    # In a checkpoint ------------------------------------------------------------------------------------------------

    def save(self) -> list[Any]:
        """They as JSON, for the position of a checkpoint."""
        return [[*active.key, active.first] for active in self._all]

    def load(self, saved: Sequence[Any]) -> None:
        """Makes those active that were saved, in place of all others."""
        growing = growing_part(self._part)
        self._active.clear()
        for name, text, seq, first in saved:
            assert growing is not None
            definition = growing.read_definition(name, text, self._sources)
            self._active[name] = Subscription(name, text, seq, first, definition)
        self._all = tuple(self._active.values())


class ProgramSubscriptions:
    """The subscriptions of a program. Its methods wait: call them from a thread that may.

    Changes of one program come one after the other.
    """

    def __init__(self, program: "RegisteredProgram", log: "Log", body: Callable[[], str]) -> None:
        self._program = program
        self._log = log
        self._body = body
        self._lock = Lock()

    def put(self, name: str, text: str, seconds: float = WAIT) -> tuple[dict[str, Any], bool]:
        """Adds a definition; `{"from": TICK}` and whether it is new: 201, or 200 where it has been there.

        TICK is null where it began with the program. `RefusedError`: 400 with all that is wrong with the text, or where
        the program has no events; 409 where the name is in use, or the program has failed; 413 where the text is too
        long; 503 where the program has not come to the record within so many seconds: then it will, and the same
        request again says when. Raises what `Log.append` raises.
        """
        _check_request(name, text)
        until = time.monotonic() + seconds
        with self._turn(seconds):
            generation = self._live()
            definition = self._asked(generation, lambda run: _active(generation).check(name, text, run), until)
            active = _active(generation)
            seq = 0 if definition is None else self._write(active, name, text, until)
            subscription = active.get(name)
            if subscription is None or subscription.text != text:
                raise RefusedError(409, _in_use(f"the name `{name}` was taken meanwhile, or what it uses is gone"))
            # While a program catches up, the same text may come from an earlier record.
            return {"from": _time(generation, subscription)}, subscription.seq == seq

    def delete(self, name: str, seconds: float = WAIT) -> None:
        """Takes one away; `RefusedError`: 404 there is none, 409 another definition uses it, 503 as above."""
        until = time.monotonic() + seconds
        with self._turn(seconds):
            generation = self._live()
            self._asked(generation, lambda run: _active(generation).check_removal(name), until)
            active = _active(generation)
            self._write(active, name, None, until)
            if active.get(name) is not None:
                raise RefusedError(409, _in_use(f"`{name}` has come into use meanwhile"))

    def describe(self) -> list[Mapping[str, Any]]:
        """All of them, `{"name", "text", "from"}`, for the object of the program."""
        generation = self._program.next or self._program.current
        active = () if generation.subscriptions is None else generation.subscriptions.all()
        return [
            {"name": subscription.name, "text": subscription.text, "from": _time(generation, subscription)}
            for subscription in active
        ]

    @contextmanager
    def _turn(self, seconds: float) -> Iterator[None]:
        """One change at a time: whether it can be made rests on those before."""
        if not self._lock.acquire(timeout=seconds):
            raise _busy()
        try:
            yield
        finally:
            self._lock.release()

    def _live(self) -> "Generation":
        """The generation that was PUT last."""
        generation = self._program.next or self._program.current
        if generation.state == "failed":
            raise has_failed()
        return generation

    def _asked(self, generation: "Generation", question: Callable[[LocalRun], T], until: float) -> T:
        """The answer of the thread of a generation; one that catches up refuses nothing that may be otherwise then."""
        last = self._log.last
        while True:
            is_behind = generation.seq < last
            try:
                return generation.ask(question, max(0.0, until - time.monotonic())).result()
            except RefusedError as error:
                if not is_behind or error.status == 503 or generation.state == "failed":
                    raise
            if time.monotonic() + _AGAIN >= until:
                raise _busy()
            time.sleep(_AGAIN)

    def _write(self, active: ActiveSubscriptions, name: str, text: str | None, until: float) -> int:
        """Has a change written down, and waits until it is taken; the number of the record."""
        about = {"program": self._program.name, "body": self._body(), "name": name, "text": text}
        record = self._log.append(LogEntry("subscription", about=about)).result()
        if not active.wait(record.seq, max(0.0, until - time.monotonic())):
            raise _busy()
        return record.seq


def _active(generation: "Generation") -> ActiveSubscriptions:
    """Those of a generation that has been opened: it answers questions."""
    assert generation.subscriptions is not None
    return generation.subscriptions


def _time(generation: "Generation", subscription: Subscription) -> Any:
    return None if subscription.first is None else generation.times.data(subscription.first)


def _check_request(name: str, text: str) -> None:
    if not _NAME.fullmatch(name):
        message = f"`{name[:80]}` cannot be the name of a subscription"
        help_ = "a name begins with a letter and has up to 64 letters, digits, `_` and `-`"
        raise RefusedError(400, Diagnostic("E403", message, help=help_))
    if len(text) > MOST_TEXT:
        raise RefusedError(413, Diagnostic("E403", f"the text may have {MOST_TEXT:,} characters"))


def _in_use(message: str) -> Diagnostic:
    return Diagnostic("E817", message, help="choose another name")


def _busy() -> RefusedError:
    message = "the program is busy with what has come, and has not come to this request in time"
    help_ = "ask again in a few seconds: the same request changes nothing twice"
    return refusal(503, message, help_, {"Retry-After": "2"})
