"""`[output] to`: the lines of a program go to a file or a broker as they come.

    file       cut to what a checkpoint has, and written on: each line is there once, also after a crash
    broker     each line is a message, at least once: it goes on behind the last one that was acknowledged

    output/NAME.json     {"to": …, "generation": 1, "line": 812, "length": 30211, …}     how far that is

Another generation answers anew. A file of the one before it is set aside (`answers.1.jsonl`); to a broker goes what
is behind the last tick that was sent.
"""

import json
import os
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import IO, Any, Final

from thalweg.connectors.open import open_output
from thalweg.connectors.transport import Sink
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.model.time import FOREVER, NEVER
from thalweg.runtimes.checkpoint_folder import replace_file
from thalweg.service.answer_lines import Line
from thalweg.service.generation import Generation
from thalweg.service.registered_program import RegisteredProgram
from thalweg.service.served_deployment import ServedOutput

_TOGETHER: Final = 1_000
_LOOK: Final = 0.5
"""Seconds after which it is seen what a checkpoint has, although nothing comes."""
_SAVE: Final = 0.5
"""Seconds between two notes of how far it is, at least."""
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_ENDING: Final = 3.0


@dataclass(frozen=True, slots=True)
class OutputPlace:
    """How far an output is: the last line of a generation that it has, its length if it is a file, and the tick.

    What is not `behind` a tick has been sent to a broker by an earlier generation.
    """

    generation: int = 0
    line: int = 0
    length: int = 0
    t: int = NEVER
    behind: int = NEVER


class FollowedOutput:
    """A thread that writes what a program answers; `file` is where it keeps how far that is."""

    def __init__(
        self,
        output: ServedOutput,
        program: RegisteredProgram,
        file: Path,
        report: Callable[[Diagnostic], None] = lambda wrong: None,
    ) -> None:
        """Nothing is written before `start`."""
        self._output = output
        self._program = program
        self._file = file
        self._report = report
        self._saved = self._place = read_place(output, file)
        self._marks: deque[OutputPlace] = deque()
        self._saved_at = 0.0
        self._trouble: Diagnostic | None = None
        self._news = Event()
        self._is_closed = False
        self._thread = Thread(target=self._run, name=f"output of {program.name}", daemon=True)

    def start(self) -> None:
        """Begins, or goes on where it was."""
        self._stop_listening = self._program.subscribe(self._news.set)
        self._thread.start()

    def close(self) -> None:
        """Writes what the program has answered, and ends; to be called behind the end of the program."""
        self._is_closed = True
        self._news.set()
        if self._thread.ident is not None:
            self._stop_listening()
            self._thread.join(_ENDING)

    # How far it is --------------------------------------------------------------------------------------------------

    def _save(self, place: OutputPlace) -> None:
        self._file.parent.mkdir(exist_ok=True)
        replace_file(self._file, json.dumps({"to": self._output.to, **asdict(place)}).encode())
        self._saved, self._saved_at = place, monotonic()

    def _note(self, sink: Sink, generation: Generation) -> None:
        """Notes how far it is, as far as that stays: in a file, what a checkpoint has."""
        settled = generation.settled_lines if self._output.is_file else self._place.line
        reached: OutputPlace | None = None
        while self._marks and self._marks[0].line <= settled:
            reached = self._marks.popleft()
        if reached is None:
            return
        if monotonic() - self._saved_at < _SAVE and not self._is_closed:
            self._marks.appendleft(reached)
            return
        sink.flush()
        if self._output.is_file:
            os.fsync(sink.fileno())  # type: ignore[attr-defined]
        self._save(reached)

    # The thread -----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            before = self._saved
            try:
                self._follow()
                return
            except FailedError as error:
                self._stumble(error.diagnostic)
            except RejectedError as error:
                self._stumble(error.diagnostics[0])
            except OSError as error:
                message = f"answers cannot be written to `{self._output.to}`: {error.strerror or error}"
                self._stumble(Diagnostic("E401", message))
            if self._is_closed:
                return
            pause = _FIRST_PAUSE if self._saved != before else min(2 * pause, _LONGEST_PAUSE)
            self._wait(pause)

    def _stumble(self, wrong: Diagnostic) -> None:
        if wrong != self._trouble:
            self._trouble = wrong
            self._report(wrong)

    def _wait(self, seconds: float) -> None:
        """Waits a while, unless it is closed."""
        until = monotonic() + seconds
        while not self._is_closed and (left := until - monotonic()) > 0:
            self._news.wait(left)
            self._news.clear()

    def _follow(self) -> None:
        """Writes what comes, from where it was noted, until it is closed."""
        self._place = self._saved
        self._marks.clear()
        is_over = False
        while not is_over:
            generation = self._program.current
            # Before it is open it has lines that were not saved before a crash, and come again.
            if generation.is_open:
                self._begin(generation)
                sink = self._opened()
                try:
                    is_over = self._write_on(sink, generation)
                finally:
                    sink.close()
            else:
                is_over = self._is_closed
                self._look()

    def _look(self) -> None:
        """Waits until something has happened, or a while."""
        self._news.wait(0 if self._is_closed else _LOOK)
        self._news.clear()

    def _begin(self, generation: Generation) -> None:
        """Another generation answers anew."""
        if self._place.generation == generation.number:
            return
        if self._place.generation and self._output.is_file:
            _set_aside(Path(self._output.to), self._place.generation)
        self._place = OutputPlace(generation.number, t=self._place.t, behind=self._place.t)
        self._save(self._place)

    def _opened(self) -> Sink:
        if not self._output.is_file:
            return open_output(self._output.to)
        path = Path(self._output.to)
        if not path.exists():
            # It was moved away: the rest goes into another one.
            self._place = replace(self._place, length=0)
        file: IO[bytes] = path.open("r+b" if path.exists() else "wb")
        file.truncate(self._place.length)
        file.seek(self._place.length)
        return file

    def _write_on(self, sink: Sink, generation: Generation) -> bool:
        """Writes the lines of a generation while it is the one that answers; whether this is to end."""
        while self._program.current is generation:
            lines = generation.lines.read(self._place.line, _TOGETHER)
            if lines:
                self._write(sink, lines)
                self._trouble = None
            self._note(sink, generation)
            if not lines and self._is_closed:
                return True
            if not lines:
                self._look()
        return False

    def _write(self, sink: Sink, numbered: list[tuple[int, Line]]) -> None:
        place = self._place
        if numbered[0][0] != place.line + 1:
            message = f"`{self._output.to}` lacks the lines {place.line + 1} to {numbered[0][0] - 1}"
            self._report(Diagnostic("W425", message, help="keep more: `--retain`, `--retain-size`"))
        behind = NEVER if self._output.is_file else place.behind
        text = b"".join(line.text + b"\n" for _, line in numbered if line.t > behind)
        sink.write(text)
        sink.flush()
        t = max((line.t for _, line in numbered if line.t < FOREVER), default=NEVER)
        self._place = replace(place, line=numbered[-1][0], length=place.length + len(text), t=max(place.t, t))
        self._marks.append(self._place)


def read_place(output: ServedOutput, file: Path) -> OutputPlace:
    """Where an output was, as a file of this service says; the beginning where that is about another output."""
    if not file.exists():
        return OutputPlace()
    data: dict[str, Any] = json.loads(file.read_bytes())
    return OutputPlace(**data) if data.pop("to") == output.to else OutputPlace()


def check_output(output: ServedOutput, file: Path) -> None:
    """`RejectedError` where an output is not one that this service has written, as a file of it says (E408)."""
    path, place = Path(output.to), read_place(output, file)
    if not output.is_file:
        return
    if not path.parent.is_dir():
        raise RejectedError([Diagnostic("E401", f"cannot write `{path}`: there is no folder `{path.parent}`")])
    size = path.stat().st_size if path.exists() else None
    if size and not place.generation:
        message = f"`{path}` exists, and this service has not written it: it is not overwritten"
        raise RejectedError([Diagnostic("E408", message, help="remove it, or name another output")])
    if size is not None and size < place.length:
        message = f"`{path}` does not contain what this service has written to it"
        raise RejectedError([Diagnostic("E408", message, help="restore the file, or move it away")])


def _set_aside(path: Path, generation: int) -> None:
    """What an earlier generation has answered stays, under another name."""
    if path.exists():
        path.rename(path.with_name(f"{path.stem}.{generation}{path.suffix}"))
