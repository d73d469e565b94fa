"""The programs of a service, by their names: what is PUT, checked, listed and deleted."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree
from threading import RLock, Thread
from typing import Any, Final, TypeVar

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.kinds.units import changed
from thalweg.service.generation import SharedParts, run_program
from thalweg.service.in_time import in_time
from thalweg.service.program_text import CompiledProgram, ProgramText
from thalweg.service.refused import RefusedError, refusal
from thalweg.service.registered_program import RegisteredProgram
from thalweg.service.streams import NAME

MOST_PROGRAMS: Final = 100

COMPILING: Final = 120.0
"""Seconds that a program may take to be compiled."""

T = TypeVar("T")


class Programs:
    """All programs. A `body` is the decoded JSON of a request, of any shape: what is wrong with it is refused (400)."""

    def __init__(self, folder: Path, around: SharedParts) -> None:
        """Opens the programs in a folder, which is made where it is missing; `start` starts them."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._around = around
        self._lock = RLock()
        self._by_name: dict[str, RegisteredProgram] = {}
        for file in sorted(folder.glob("*.json")):
            program = RegisteredProgram(file.stem, folder, around)
            program.load()
            self._by_name[file.stem] = program
        for answers in folder.iterdir():
            if answers.is_dir() and answers.name not in self._by_name:
                rmtree(answers, ignore_errors=True)

    def start(self) -> None:
        """Starts all programs where they were saved."""
        for program in self:
            program.start()

    def check(self, body: object, program: str | None = None) -> dict[str, Any]:
        """The answer of `POST /v1/check`; for a `program` also what would go on and what would begin."""
        registered = None if program is None else self.get(program)
        try:
            text = ProgramText.read(body)
            diagnostics = _in_time(text.diagnostics)
        except RefusedError as error:
            if error.status != 400:
                raise
            return {"ok": False, "diagnostics": [diagnostic.as_data() for diagnostic in error.diagnostics]}
        is_ok = not any(diagnostic.severity == "error" for diagnostic in diagnostics)
        answer: dict[str, Any] = {"ok": is_ok, "diagnostics": [diagnostic.as_data() for diagnostic in diagnostics]}
        return answer | ({"would": _would(registered.text, text)} if registered is not None and is_ok else {})

    def put(self, name: str, body: object, if_match: int | None = None) -> tuple[RegisteredProgram, bool]:
        """Registers a program, or replaces it; and whether it is new. The same body again changes nothing.

        `RefusedError`: 400 and 413 for what is wrong with the body, 408 where it takes too long to compile, 409 where
        there is no room or a program of that name is still stopping, 412 where `if_match` is not its generation.
        """
        if not re.fullmatch(NAME, name):
            way_out = "a name begins with a letter; letters, digits, `_` and `-` follow, 64 at most"
            raise RefusedError(400, Diagnostic("E902", f"a program cannot be called `{name}`", help=way_out))
        text = ProgramText.read(body)
        if not text.streams:
            way_out = 'for example `"streams":["north"]`; a stream that is not there yet is made'
            raise RefusedError(400, Diagnostic("E902", "`streams` names no stream", help=way_out))
        program = self._by_name.get(name)
        self._check(program, if_match)
        if program is not None and program.body == text.as_data():
            return program, False
        compiled = _in_time(text.compiled)
        if program is not None and text.origin == "keep":
            _check_kept(program.text, text, compiled)
        # Each takes the disk a moment, in which others need not wait.
        self._make_streams(text)
        with self._lock:
            self._check(self._by_name.get(name), if_match)
            # One may have been deleted meanwhile.
            self._make_streams(text)
            return self._begun(name, text, compiled)

    def _make_streams(self, text: ProgramText) -> None:
        """Makes the streams that a program reads and that are not there yet."""
        for stream in text.streams:
            if self._around.streams.get(stream) is None:
                self._around.streams.put(stream, {})

    def _check(self, program: RegisteredProgram | None, if_match: int | None) -> None:
        if program is not None and program.is_deleted:
            raise refusal(409, f"the program `{program.name}` is being stopped")
        if if_match is not None and (program is None or program.generation != if_match):
            now = "there is no such program" if program is None else f"it is {program.generation}"
            raise refusal(412, f"the generation is not {if_match}: {now}", "look at it, and send its `ETag`")
        if program is None and len(self._by_name) >= MOST_PROGRAMS:
            message = f"there are {len(self._by_name)} programs, and there may be {MOST_PROGRAMS}"
            raise refusal(409, message, "delete one of them")

    def _begun(self, name: str, text: ProgramText, compiled: CompiledProgram) -> tuple[RegisteredProgram, bool]:
        program = self._by_name.get(name)
        if program is not None and program.body == text.as_data():
            # Somebody else has PUT the same meanwhile.
            return program, False
        registered = program or RegisteredProgram(name, self._folder, self._around)
        registered.begin(text, compiled)
        self._by_name[name] = registered
        return registered, program is None

    def get(self, name: str) -> RegisteredProgram:
        """The program of a name; `RefusedError` (404) where there is none."""
        program = self._by_name.get(name)
        if program is None:
            raise refusal(404, f"there is no program `{name}`")
        return program

    def __iter__(self) -> Iterator[RegisteredProgram]:
        """All of them, by name."""
        by_name = self._by_name.copy()
        return iter([by_name[name] for name in sorted(by_name)])

    def __len__(self) -> int:
        return len(self._by_name)

    def readers(self, stream: str) -> list[str]:
        """The names of the programs that read a stream."""
        return [
            program.name
            for program in self
            if any(stream in generation.text.streams for generation in program.generations)
        ]

    def delete_stream(self, name: str) -> bool:
        """Deletes a stream, False where there is none; `RefusedError` (409) while a program reads it.

        No program that reads it can be put meanwhile.
        """
        with self._lock:
            if readers := self.readers(name):
                message = f"the stream `{name}` is read by {', '.join(f'`{reader}`' for reader in readers)}"
                raise refusal(409, message, "delete them first, or replace them by others")
            return self._around.streams.delete(name)

    def delete(self, name: str) -> bool:
        """Stops a program and removes its answers; False where it is still `stopping` (202)."""
        with self._lock:
            program = self.get(name)
            program.mark_deleted()
        ended = program.end()
        if ended:
            self._remove(program)
        else:
            Thread(target=self._remove, args=[program], name=f"{name} is deleted", daemon=True).start()
        return ended

    def _remove(self, program: RegisteredProgram) -> None:
        program.remove()
        with self._lock:
            if self._by_name.get(program.name) is program:
                del self._by_name[program.name]

    def due(self) -> float | None:
        """Seconds until time must pass for one of them; None where it need not."""
        return min((due for program in self if (due := program.due()) is not None), default=None)

    def close(self, seconds: float) -> None:
        """Ends all threads within a time; what comes to an end in it is saved."""
        stopping = [
            Thread(target=program.close, args=(True, seconds), name=f"{program.name} ends", daemon=True)
            for program in self
        ]
        for thread in stopping:
            thread.start()
        for thread in stopping:
            thread.join(seconds)


def _in_time(compile: Callable[[], T]) -> T:
    """What comes of compiling a program; `RefusedError` (408) where that takes too long."""
    try:
        return in_time(compile, COMPILING, "compiles a program")
    except TimeoutError:
        message = f"the program could not be compiled in {COMPILING:g} seconds"
        raise refusal(408, message, "write it shorter, or in several programs") from None


def _would(before: ProgramText, after: ProgramText) -> dict[str, Any]:
    """What of a program would go on with another body, from `keep`, and what would begin."""
    change = changed(run_program(before, before.compiled()).units, run_program(after, after.compiled()).units, None)
    return {"keeps": list(change.same), "begins": list(change.begun)}


def _check_kept(before: ProgramText, after: ProgramText, compiled: CompiledProgram) -> None:
    """`RefusedError` (400) where a program cannot go on with another body."""
    earlier, program = run_program(before, before.compiled()), run_program(after, compiled)
    wrong = [
        Diagnostic("E423", f"what is unchanged cannot go on with another `{option}`", help='begin from `"now"`')
        for option in sorted(earlier.settings.keys() | program.settings.keys())
        if earlier.settings.get(option) != program.settings.get(option)
    ]
    try:
        changed(earlier.units, program.units, None)
    except RejectedError as error:
        wrong += error.diagnostics
    if wrong:
        raise RefusedError(400, wrong)
