"""How an answer set program is solved: over which windows, for which answer sets, by what, and for how long."""

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from thalweg.diagnostics import Diagnostic, RejectedError, Span
from thalweg.languages.asp.frame import Frame, own_frame, read_frame
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.time import Clock, Duration, milliseconds

if TYPE_CHECKING:
    from thalweg.kinds.answer_sets.windowed import Connected
    from thalweg.languages.asp.program import AspProgram
    from thalweg.solvers.pool import Solvers

MODELS: Final = ("first", "all", "brave", "cautious")
SOLVERS: Final = ("auto", "clingo", "engine")


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """What a user asks for; `ValueError` where that has no meaning.

    `limit` is how long a window may take, `workers` how many processes of clingo there are at most: 0 for none, which
    solves in this process.

    >>> SolveOptions(models="most")
    Traceback (most recent call last):
    ValueError: unknown value `--models most`; choose one of first, all, brave, cautious
    """

    models: str = "first"
    window: int | Duration | None = None
    slide: int | Duration | None = None
    limit: Duration | None = None
    solver: str = "auto"
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.models not in MODELS:
            raise ValueError(f"unknown value `--models {self.models}`; choose one of {', '.join(MODELS)}")
        if self.solver not in SOLVERS:
            raise ValueError(f"unknown value `--solver {self.solver}`; choose one of {', '.join(SOLVERS)}")

    def check(self, clock: Clock) -> None:
        """Complains about times that have no meaning."""
        self.frame(clock)
        assert self.seconds is None or self.seconds > 0

    @property
    def seconds(self) -> float | None:
        """How long a window may take."""
        if self.limit is None:
            return None
        seconds = milliseconds(self.limit) / 1_000
        if not seconds:
            raise ValueError("`--solve-limit` must be longer than 0")
        return seconds

    def frame(self, clock: Clock, program: "AspProgram | None" = None) -> Frame:
        """The windows; a program may have some of its own, which it is asked over unless the user says otherwise."""
        window, slide = self.window, self.slide
        if window is None and slide is None and program is not None and program.window is not None:
            return own_frame(program.window, clock)
        return read_frame(window, slide, clock)


def evaluator(
    program: "AspProgram",
    options: SolveOptions,
    frame: Frame,
    background: Iterable[Fact] = (),
    pool: "Solvers | None" = None,
    dictionary: Dictionary | None = None,
    derived: Collection[Predicate] = (),
    shared: bool = False,
) -> "Connected":
    """The engine where it can answer and no option asks for clingo; else clingo, by processes of its own or of a pool.

    Other parts of a plan derive some of the inputs. Where the `dictionary` is not `shared` with these, it spells terms
    as the program does.
    """
    dictionary = Dictionary() if dictionary is None else dictionary
    if not shared:
        dictionary.canonical = program.names.canonical if program.prefixes else None
    # Names with prefixes stand for IRIs, which the engine knows by a dictionary of its own.
    foreign = shared and bool(program.prefixes)
    rules = None if options.solver == "clingo" or foreign else program.lowered(frame.panes)
    if rules is not None:
        from thalweg.kinds.answer_sets.lowering import Lowered, PieceTally
        from thalweg.planning.input_dependency import analyse

        pieces = [piece.inputs for piece in analyse(program.outlines, program.inputs).pieces]
        tally, canonical = PieceTally(pieces, program.names.known_as), program.names.canonical
        facts = [Fact(fact.predicate, tuple(map(canonical, fact.terms))) for fact in background]
        return Lowered(rules, frame, program.inputs, facts, options.seconds, tally, dictionary, derived)
    check_solver(program, options)
    from thalweg.kinds.answer_sets.solving import Solving
    from thalweg.solvers.pool import SolverPool

    workers = os.cpu_count() or 1 if options.workers is None else options.workers
    pool = pool or SolverPool(workers)
    limit = options.seconds
    return Solving(program, pool, options.models, limit, background, buckets=workers, dictionary=dictionary)


def check_solver(program: "AspProgram", options: SolveOptions) -> None:
    """`RejectedError` where the engine is asked for and cannot answer."""
    if options.solver == "engine" and program.obstacles:
        raise RejectedError([_obstacle(obstacle.reason, obstacle.span) for obstacle in program.obstacles])


def _obstacle(reason: str, span: Span) -> Diagnostic:
    return Diagnostic(
        "E507", f"the engine cannot evaluate this program: {reason}", span, help="leave out `--solver engine`"
    )
