"""A program of the service: the generation that answers, and the next one while it catches up.

A body that differs from the one before becomes the next generation, on a thread of its own. The one before answers
until the next has caught up; then whoever follows the program gets to know of the switch.

    NAME.json     {"generations": [{"number": 3, "after": 812, "body": {…}}, {"number": 4, …}]}: current, and next
    NAME/3/       what generation 3 has answered, and its checkpoint
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from threading import RLock, Thread
from typing import Any, Final, Literal

from thalweg.diagnostics import Diagnostic
from thalweg.explain.document import PlanDocument
from thalweg.runtimes.checkpoint_folder import replace_file
from thalweg.service.generation import Beginning, Generation, SharedParts
from thalweg.service.program_text import CompiledProgram, Origin, ProgramText
from thalweg.service.refused import RefusedError, refusal
from thalweg.service.subscriptions import EarlierSubscriptions, ProgramSubscriptions

RestartFrom = Literal["checkpoint", "earliest", "now"]

RESTARTS: Final[tuple[RestartFrom, ...]] = ("checkpoint", "earliest", "now")

PATIENCE: Final = 2.7
"""Seconds that a thread may take to end while a request waits."""
RESTARTING: Final = 8.0
"""The same where it is to be saved and opened again: only then is the request answered."""


class RegisteredProgram:
    """A name under which generations follow each other. All of it may be used from any thread."""

    def __init__(self, name: str, folder: Path, around: SharedParts) -> None:
        """A program without a generation; `folder` has what is kept of all programs."""
        self.name = name
        self.is_deleted = False
        self.current: Generation
        """The generation that answers."""
        self.next: Generation | None = None
        """The one that will, while it catches up."""
        self.body: Mapping[str, Any] = {}
        """What was PUT last, with all defaults."""
        self._folder = folder
        self._around = around
        self._lock = RLock()
        self._listeners: list[Callable[[], None]] = []
        self._caught_up: Generation | None = None
        self._has_begun = False
        self.subscriptions = ProgramSubscriptions(self, around.log, lambda: self._last.text.fingerprint)
        """Definitions of events that come and go while it runs."""

    # Generations ----------------------------------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """The number of the generation that was PUT last, which is the ETag."""
        return self._last.number

    @property
    def _last(self) -> Generation:
        return self.next or self.current

    @property
    def text(self) -> ProgramText:
        """What was PUT last."""
        return self._last.text

    def begin(self, text: ProgramText, compiled: CompiledProgram) -> None:
        """Makes the next generation of a program, or its first one, durable, and starts it."""
        if self._has_begun and text.origin == "keep":
            self.current.save(PATIENCE)
        with self._lock:
            now = self._around.log.last
            kept_from = self.current.folder if self._has_begun and text.origin == "keep" else None
            self._begin(text, self._behind(text.origin), EarlierSubscriptions(now, now), compiled, kept_from)

    def _behind(self, origin: Origin | RestartFrom) -> int:
        """The record of the log behind which a generation begins."""
        log = self._around.log
        return max(0, log.first - 1 if origin == "earliest" else log.last)

    def _begin(
        self,
        text: ProgramText,
        after: int,
        subscribed: EarlierSubscriptions,
        compiled: CompiledProgram | None = None,
        kept_from: Path | None = None,
    ) -> None:
        before = self.current if self._has_begun else None
        number = 1 if before is None else self.generation + 1
        folder = self._folder / self.name / str(number)
        generation = self._made(Beginning(self.name, number, text, folder, after, kept_from, subscribed), compiled)
        abandoned, self.body = self.next, text.as_data()
        if before is None:
            self.current, self._has_begun = generation, True
        else:
            self.next = generation
        generation.start()
        if abandoned is not None:
            self._discard(abandoned)
        if before is not None and before.state == "failed":
            self._switch(generation)

    def _made(self, beginning: Beginning, compiled: CompiledProgram | None) -> Generation:
        """A generation that is there after a crash, too; `RefusedError` (507) where the disk is full."""
        rmtree(beginning.folder, ignore_errors=True)
        try:
            generation = Generation(beginning, self._around, self._hear, compiled)
            self._write([self.current, generation] if self._has_begun else [generation])
        except OSError as error:
            rmtree(beginning.folder, ignore_errors=True)
            raise refusal(507, f"the program cannot be written to the disk: {error.strerror}", "make room") from None
        return generation

    def load(self) -> None:
        """Opens the generations that its file names."""
        data = json.loads(self._file.read_bytes())
        generations = [self._loaded(about) for about in data["generations"]]
        self.current, self.next = generations[0], generations[1] if len(generations) > 1 else None
        self._has_begun = True
        if [generation.from_seq for generation in generations] != [about["after"] for about in data["generations"]]:
            self._write(generations)
        self.body = self._last.text.as_data()
        kept = {generation.folder for generation in generations}
        for folder in (self._folder / self.name).iterdir():
            if folder not in kept:
                rmtree(folder, ignore_errors=True)

    def start(self) -> None:
        """Starts what `load` has opened."""
        for generation in self.generations:
            generation.start()

    def _loaded(self, about: Mapping[str, Any]) -> Generation:
        text, folder = ProgramText.read(about["body"]), self._folder / self.name / str(about["number"])
        kept_from = about.get("kept_from")
        kept = None if kept_from is None else folder.with_name(str(kept_from))
        subscribed = EarlierSubscriptions.read(about["subscribed"])
        # A log that has lost its end gives the numbers that it had to other records.
        after = min(about["after"], self._around.log.last)
        beginning = Beginning(self.name, about["number"], text, folder, after, kept, subscribed)
        return Generation(beginning, self._around, self._hear)

    @property
    def _file(self) -> Path:
        return self._folder / f"{self.name}.json"

    @property
    def generations(self) -> list[Generation]:
        """The one that answers, and the one that will."""
        return [generation for generation in (self.current, self.next) if generation is not None]

    def _write(self, generations: Sequence[Generation]) -> None:
        about = {"generations": [generation.beginning.as_data() for generation in generations]}
        replace_file(self._file, json.dumps(about, ensure_ascii=False).encode())

    def _hear(self, generation: Generation) -> None:
        """Something has happened to a generation, on whose thread this is."""
        if generation is self.next and generation.state == "live" and self._caught_up is not generation:
            self._caught_up = generation
            # A request may hold the lock and wait for this thread.
            Thread(target=self._answer_with, args=[generation], name=f"{self.name} switches", daemon=True).start()
        elif generation is self.current:
            self._tell()

    def _answer_with(self, generation: Generation) -> None:
        with self._lock:
            if generation is self.next and not self.is_deleted:
                try:
                    self._switch(generation)
                except OSError:
                    # The disk is full: it answers as soon as that can be written.
                    self._caught_up = None

    def _switch(self, generation: Generation) -> None:
        """The next generation answers from now on."""
        self._write([generation])
        before, self.current, self.next = self.current, generation, None
        self._tell()
        self._discard(before)

    def _discard(self, generation: Generation) -> None:
        """Ends a generation that answers no more, without waiting for it, and removes its folder."""

        def end() -> None:
            generation.stop(save=False, seconds=PATIENCE)
            generation.join()
            generation.forget()

        Thread(target=end, name=f"{generation.name} {generation.number} ends", daemon=True).start()

    def _tell(self) -> None:
        for heard in tuple(self._listeners):
            heard()

    # For requests ---------------------------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """The object of `GET /v1/programs/{p}`.

        State and progress are those of the generation that was PUT last; while that catches up, the one before answers,
        and `answering` says its number.
        """
        with self._lock:
            last, current = self._last, self.current
        log = self._around.log
        behind = max(0, log.last - current.seq)
        data = {
            "name": self.name,
            "generation": last.number,
            "state": last.state,
            "progress": round(last.progress, 4),
            "because": last.because,
            "t": None if current.t is None else current.times.data(current.t),
            "awaits": list(current.awaits),
            "lag": {"records": behind, "seconds": self._lag_seconds(current, behind)},
            "lines": current.lines.last,
            "holding": len(current.holding),
            "late": current.late,
            "bytes": current.bytes,
            "cpu": round(current.cpu, 6),
            "warnings": list(last.warnings),
            "subscriptions": self.subscriptions.describe(),
        }
        if last is not current:
            data["answering"] = current.number
        return data | {key: self.body[key] for key in ("sources", "background", "streams", "options", "from", "memory")}

    def _lag_seconds(self, generation: Generation, behind: int) -> float:
        """How much older the first record that was not taken is than the last one."""
        if not behind:
            return 0.0
        records = self._around.log.read(generation.seq, most=1)
        return max(0.0, (self._around.log.arrived - records[0].arrived) / 1_000) if records else 0.0

    def snapshot(self) -> tuple[str, dict[str, Any]]:
        """The id of the last line, and at the same instant `{"t": …, "facts": [{"fact","since","until"}]}`."""
        generation = self.current
        with generation.lock:
            last, t = generation.lines.last, generation.t
            facts = list(generation.holding.facts(t))
        written = generation.times.data
        held = [
            {
                "fact": held.fact,
                "since": written(held.since),
                "until": None if held.until is None else written(held.until),
            }
            for held in facts
        ]
        return f"{generation.number}-{last}", {"t": None if t is None else written(t), "facts": held}

    def subscribe(self, heard: Callable[[], None]) -> Callable[[], None]:
        """Calls a function whenever there are more lines, time has passed (`current.t`) or `current` is another one.

        It is called on a program's thread and must return at once: compare `current.number`, `current.lines.last` and
        `current.t` with what you have sent. Returns how to stop that.
        """
        self._listeners.append(heard)

        def stop() -> None:
            if heard in self._listeners:
                self._listeners.remove(heard)

        return stop

    def restart(self, origin: RestartFrom) -> None:
        """Goes on from the last checkpoint, or begins a generation from the log's beginning or its end.

        `RefusedError`: 400 where the origin is none, 409 where the program cannot be stopped just now.
        """
        if origin not in RESTARTS:
            choices = " or ".join(f"`{name}`" for name in RESTARTS)
            raise RefusedError(400, Diagnostic("E902", f"`from` cannot be `{origin}`; it is {choices}"))
        if origin == "checkpoint":
            self._restart(self._last)
        else:
            with self._lock:
                after = self._behind(origin)
                self._begin(self.text, after, self._last.subscribed_up_to(after))

    def _restart(self, generation: Generation) -> None:
        """Stops a generation and opens it again; without the lock, because it may be deleted meanwhile."""
        if generation.stop(save=True, seconds=RESTARTING):
            self._reopen(generation)
        else:
            Thread(target=self._reopen, args=[generation], name=f"{self.name} restarts", daemon=True).start()
            raise refusal(409, "the program is still being stopped", "it goes on by itself when it has stopped")

    def _reopen(self, generation: Generation) -> None:
        """Opens a generation again, behind its end, where its last checkpoint was taken."""
        generation.join()
        with self._lock:
            if self.is_deleted or generation not in self.generations:
                return
            again = Generation(generation.beginning, self._around, self._hear)
            if generation is self.next:
                self.next = again
            else:
                self.current = again
            again.start()
            self._tell()

    def plan(self) -> dict[str, Any]:
        """The plan that runs, as `explain --format json` has it, with `"counts"` by the id of a box.

        `RefusedError` (503) where a tick is being evaluated for so long that nothing can be counted just now.
        """
        generation = self.current
        document = _document(generation)
        if generation.state == "failed":
            return document.as_data() | {"counts": {}}
        return generation.ask(generation.counter.totals, PATIENCE).result().plan(document)

    def plan_svg(self) -> str:
        """The same, drawn as `explain --format svg` draws it."""
        return _document(self.current).as_svg()

    # Its end --------------------------------------------------------------------------------------------------------

    def due(self) -> float | None:
        """Seconds until time must pass for one of its generations; None where it need not."""
        dues = (generation.due() for generation in self.generations)
        return min((due for due in dues if due is not None), default=None)

    def close(self, save: bool, seconds: float) -> bool:
        """Ends its threads; False where one could not be ended in that time."""
        generations = self.generations
        for generation in generations:
            generation.ask_to_stop(save)
        until = time.monotonic() + seconds
        ended = [generation.stop(save, max(0.0, until - time.monotonic())) for generation in generations]
        return all(ended)

    def mark_deleted(self) -> None:
        """From here on it is gone after a restart of the service."""
        with self._lock:
            self.is_deleted = True
            self._file.unlink(missing_ok=True)

    def end(self) -> bool:
        """Ends a program that is deleted; False where a thread of it is still stopping."""
        ended = self.close(save=False, seconds=PATIENCE)
        self._tell()
        return ended

    def remove(self) -> None:
        """Waits until its threads have ended, and removes what they have answered."""
        for generation in self.generations:
            generation.join()
            generation.forget()
        rmtree(self._folder / self.name, ignore_errors=True)


def _document(generation: Generation) -> PlanDocument:
    """How a generation is evaluated, with the subscriptions that it has."""
    active = generation.subscriptions
    part = generation.text.compiled().part if active is None else active.part
    return part.explain()
