"""The process of the playground: `python -m thalweg.service.playground_process` evaluates one request, and ends.

    {"sources": […], "stream": {…}, "to": 5, "why": ["q(a)"]}      on standard input becomes
    {"status": 200, "body": {"lines": […], …}}                     on standard output

Its limits are set before anything of the request is read. What it opens are modules of this package.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from thalweg import api
from thalweg.answers.answer_timeline import TimelineRecorder
from thalweg.answers.emit import Lasting
from thalweg.answers.jsonl import jsonl
from thalweg.connectors.readers import ENDINGS
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError, Source
from thalweg.explain.timeline_page import chart_data
from thalweg.model.predicate import Predicate
from thalweg.model.time import NEVER
from thalweg.service.history import chart_up_to
from thalweg.service.process_limits import MEMORY, limit_this_process
from thalweg.service.program_text import CompiledProgram, ProgramText
from thalweg.service.refused import RefusedError, refusal
from thalweg.service.why_answer import absent, why_answer

if TYPE_CHECKING:
    from thalweg.runtimes.local import LocalRun

_MOST_WRITTEN: Final = 16 << 20
"""Characters of lines that an answer has."""
_OF_PROGRAM: Final = frozenset(("sources", "background", "options"))
_OF_TRIAL: Final = frozenset(("stream", "to", "why"))
_FORMATS: Final = tuple(ending for ending, format in ENDINGS.items() if format != "parquet")
_UNLIMITED: Final = "1 h"
"""A window that takes longer than all is allowed to take has no answer, rather than an incomplete one."""
_EXHAUSTED: Final = frozenset(("E410", "E504"))
"""Failures for want of memory: of the engine, of a solver."""


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """What is to be evaluated: a program over the text of a stream, up to a time; and the facts that are explained."""

    program: ProgramText
    stream: Source
    to: int | str | None = None
    why: tuple[str, ...] = ()

    @classmethod
    def read(cls, body: object) -> "TrialRequest":
        """Reads the decoded JSON of a request; `RefusedError` (400, 413) where it is none."""
        if not isinstance(body, Mapping) or not body.keys() <= _OF_PROGRAM | _OF_TRIAL:
            known = ", ".join(f"`{key}`" for key in sorted(_OF_PROGRAM | _OF_TRIAL))
            raise refusal(400, f"the body is an object of JSON with some of the keys {known}")
        program = ProgramText.read({key: value for key, value in body.items() if key in _OF_PROGRAM})
        if any("--solve-limit" in api.language_of_program(source).understands for source in program.sources):
            program = replace(program, options={"solve_limit": _UNLIMITED, **program.options})
        return cls(program, _stream(body.get("stream")), _time(body.get("to")), _facts(body.get("why", [])))

    def evaluate(self) -> dict[str, Any]:
        """The answer of the request."""
        warnings: list[Diagnostic] = []
        compiled = self._timed(self.program.compiled(warnings.append))
        recorder, lines = TimelineRecorder(compiled.options.timing.format), _Lines()
        with self._started(compiled, api.Observer(warnings.append, warns_live=False)) as job:
            for answer in job.pieces():
                if answer is not None:
                    lines.add(jsonl(answer, job.times))
                    recorder.see(answer)
            recorder.reach(NEVER if job.run.now is None else job.run.now)
            history = chart_data(chart_up_to(recorder.chart(_guaranteed(job.run)), job.times, job.run.now))
        proofs = self._proofs(warnings.append) if self.why else {}
        return {
            "lines": lines.read(),
            "proofs": proofs,
            "history": history,
            "diagnostics": [warning.as_data() for warning in warnings],
        }

    def _timed(self, compiled: CompiledProgram) -> CompiledProgram:
        timing = replace(compiled.options.timing, last=self.to)
        options = replace(compiled.options, timing=timing, on_error="stop")
        try:
            timing.ticks()
        except ValueError as error:
            raise RefusedError(400, Diagnostic("E403", str(error))) from None
        return replace(compiled, options=options)

    def _started(self, compiled: CompiledProgram, observer: api.Observer, explains: bool = False) -> "api.PreparedRun":
        return api.start(compiled.part, [self.stream], compiled.options, observer, explains=explains)

    def _proofs(self, report: Callable[[Diagnostic], None]) -> dict[str, Any]:
        """Why facts hold at the end, each as `why --format json` prints it; or `why_not` they do."""
        came: set[Predicate] = set()
        observer = api.Observer(lambda warning: None, look=lambda batch: came.update(batch.rows), warns_live=False)
        compiled = self._timed(self.program.compiled(everything=True))
        with self._started(compiled, observer, explains=True) as job:
            for _ in job.pieces():
                pass
            return {text: _answers_why(text, job, compiled, came, report) for text in self.why}


def _answers_why(
    text: str,
    job: "api.PreparedRun",
    compiled: CompiledProgram,
    came: set[Predicate],
    report: Callable[[Diagnostic], None],
) -> dict[str, Any] | None:
    """A proof; or, under `why_not`, how far the rules got, and a diagnostic that it does not hold."""
    answer = why_answer(job.run.derivations, text, compiled.prefixes, job.times, came)
    if answer.holds:
        return answer.data
    now = job.run.now
    report(absent(text, None if now is None else job.times.text(now)))
    return None if answer.data is None else {"why_not": answer.data}


def _guaranteed(run: "LocalRun") -> dict[str, int]:
    """Until when what holds at the end is guaranteed, where rules stand alone."""
    engine = run.derivations.engine
    if engine is None:
        return {}
    from thalweg.planning.revocable import guaranteed

    return Lasting(guaranteed(engine.program)).chosen(engine.guaranteed())


class _Lines:
    """The lines of an answer, which are not too many."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0

    def add(self, parts: Iterable[str]) -> None:
        for part in parts:
            self._parts.append(part)
            self._length += len(part)
            if self._length > _MOST_WRITTEN:
                raise refusal(413, f"the answers have more than {_MOST_WRITTEN:,} characters", "end earlier: `to`")

    def read(self) -> list[Any]:
        """Each as the object that it is."""
        return [json.loads(line) for line in "".join(self._parts).splitlines()]


def _stream(value: object) -> Source:
    match value:
        case None:
            return Source("stream.facts", "")
        case {"name": str(name), "text": str(text), **others} if not others:
            if PurePath(name).suffix.lower() in _FORMATS:
                return Source(name, text)
            raise refusal(400, f"`{name}` is not the name of a stream", f"its ending is one of {' '.join(_FORMATS)}")
    raise refusal(400, '`stream` is a text with its name: `{"name":"s.facts","text":"p(a) at 3."}`')


def _time(value: object) -> int | str | None:
    if value is None or (isinstance(value, int | str) and not isinstance(value, bool)):
        return value
    raise refusal(400, "`to` is a tick or a timestamp")


def _facts(value: object) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        return tuple(value)
    raise refusal(400, '`why` is a list of facts: `["jam(a)"]`')


def answered(body: object) -> tuple[int, Mapping[str, Any]]:
    """The status and the body of the answer to a request.

    >>> status, body = answered({"sources": [{"name": "a.lars", "text": "q :- p."}], "to": 3})
    >>> status, body["lines"]
    (200, [])
    """
    try:
        return 200, TrialRequest.read(body).evaluate()
    except RefusedError as error:
        return error.status, error.as_data()
    except RejectedError as error:
        return 400, RefusedError(400, error.diagnostics).as_data()
    except FailedError as error:
        status = 408 if error.diagnostic.code in _EXHAUSTED else 400
        return status, RefusedError(status, error.diagnostic).as_data()
    except MemoryError:
        return 408, refusal(408, f"it needs more than {MEMORY >> 20} MB of memory").as_data()


def main() -> None:
    """Answers the request on standard input."""
    limit_this_process()
    reply = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    # What libraries print is no part of the answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    status, body = answered(json.load(sys.stdin))
    with reply:
        json.dump({"status": status, "body": body}, reply, ensure_ascii=False, separators=(",", ":"))
    # Giving back memory, and ending solvers and virtual machines in good order, is of no use to anyone.
    os._exit(0)


if __name__ == "__main__":
    main()
