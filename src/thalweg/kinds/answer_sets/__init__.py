"""Answer set programs: windows of streams are cut, solved by clingo or the engine, and reported."""

import atexit
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from thalweg.dataflow.context import Context
from thalweg.dataflow.plan import Edge, Expansion
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.ir.nodes import Program
from thalweg.kinds.answer_sets.solve_options import SolveOptions, check_solver
from thalweg.kinds.choose_outputs import Shown
from thalweg.kinds.member import Member, Neighbours
from thalweg.kinds.typed_columns import Inputs, TypedColumns, argument_columns
from thalweg.languages.asp.frame import Frame
from thalweg.languages.options import SplitName
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.planning.wire_parts import Ports

if TYPE_CHECKING:
    from thalweg.answers.answer_columns import AnswerColumns
    from thalweg.explain.document import PlanDocument
    from thalweg.explain.wired_parts import ExplainedMember
    from thalweg.languages.asp.program import AspProgram


@dataclass(frozen=True)
class AnswerSets(Member):
    """An answer set program, the background that it knows, and how it is solved."""

    program: "AspProgram"
    background: tuple[Fact, ...] = ()
    options: SolveOptions = SolveOptions()
    output: Shown | None = None
    """What is output of its answers beside other parts, which may read more of them."""

    def taken_apart(self) -> "tuple[Any, ...]":
        """What it can be made of in another process: the text, because syntax trees of clingo do not travel."""
        program = self.program
        return program.source, program.inputs, program.shown, self.background, self.options, self.output

    @classmethod
    def put_together(cls, *parts: Any) -> "AnswerSets":
        """The part that was taken apart."""
        return _read_again(*parts)

    @property
    def size(self) -> str:
        return "answer sets"

    @property
    def rules(self) -> Program:
        message = f"`{self.program.source.name}` is an answer set program and cannot be loaded as rules"
        way_out = "pass its name to `thalweg.run`, or use `thalweg run`"
        raise RejectedError([Diagnostic("E402", message, help=way_out)])

    @property
    def compiles(self) -> bool:
        return self.options.solver != "clingo" and not self.program.obstacles

    def identity(self, context: Context) -> tuple[str, str]:
        text = "\n".join([self.program.source.text, *self.program.inputs, *map(str, self.background)])
        what = text, sorted(self.program.names.prefixes.items()), self.options, self.frame(context)
        return text, sha256(repr((*what, sorted(self.program.shown), self.output)).encode()).hexdigest()

    def fingerprint(self, context: Context, is_alone: bool) -> str:
        """Background that it does not read does not count."""
        known = tuple(fact for fact in self.background if self.reads(fact.signature) or self.writes(fact.signature))
        return f"{replace(self, background=known).identity(context)[1]} {is_alone}"

    def showing(self, shown: Shown) -> "AnswerSets":
        """The part with answers of the shown predicates only."""
        return replace(self, program=self.program.showing(shown.predicates))

    def unknown(self, shown: Shown, derived: Collection[Predicate] = ()) -> Iterator[Diagnostic]:
        """W205: what is named although this program does not derive it and it is not among the `derived`."""
        own = {name for name in shown.predicates if self.program.showing([name]).shown}
        return shown.unknown({*own, *derived, *self.program.derived})

    def answer_columns(self, emit: str) -> "AnswerColumns":
        from thalweg.answers.answer_columns import AnswerSetColumns

        return AnswerSetColumns()

    def typed_columns(self, emit: str, of: Predicate | None, inputs: Inputs) -> TypedColumns | None:
        """Types are known where the program is rules with one answer."""
        from thalweg.answers.answer_columns import AnswerSetColumns

        if of is None:
            return TypedColumns(AnswerSetColumns())
        names = tuple(f"arg{place + 1}" for place in range(of.arity))
        rules = self.program.lowered(1)
        types = {} if rules is None else argument_columns(names, rules, of, inputs)
        return TypedColumns(AnswerSetColumns(names, of), types)

    def answerable(self, predicate: Predicate) -> frozenset[Predicate] | None:
        predicates = self.program.derived | self.program.shown
        return predicates if any(self.unknown(Shown(frozenset({predicate})))) else predicates | {predicate}

    def expand(self, context: Context, neighbours: Neighbours | None, partitions: int | None) -> Expansion:
        """Its pieces are solved apart, those with a key in many buckets, and combined; or it is one operator.

        `RejectedError` where the settings have no meaning for it.
        """
        from thalweg.kinds.answer_sets.answers_operator import AnswersSpec
        from thalweg.kinds.answer_sets.combine_operator import CombineSpec
        from thalweg.kinds.answer_sets.pieces import located_heads, split_pieces
        from thalweg.kinds.answer_sets.solve_operator import SolveSpec

        if neighbours is None and context.settings.emit != "changes":
            raise _refused("emit")
        if context.settings.memory is not None:
            raise _refused("memory")
        part, frame = self if neighbours is None else self.solved, self.frame(context)
        check_solver(part.program, part.options)
        pieces = tuple(split_pieces(part.program, frame, partitions or 1))
        if (partitions or 1) == 1 or sum(piece.buckets for piece in pieces) == 1:
            # Alone on Spark, the plan is fixed.
            grows = not part.program.declared and (neighbours is not None or partitions is None)
            return Expansion((AnswersSpec(part, frame, neighbours, grows, frame.tuples),))
        on_change = neighbours is not None and self.on_change
        # In a loop, others read answers in the bucket that finds them; a time limit could cut off some of them.
        is_keyed = (
            neighbours is not None
            and neighbours.loop
            and neighbours.wanted is not None
            and part.options.seconds is None
        )
        located = tuple(sorted(located_heads(part.program, pieces).items())) if is_keyed else ()
        solving = []
        for number, piece in enumerate(pieces):
            read = () if neighbours is None else neighbours.derived
            derived = tuple(name for name in read if piece.exchange(name, part.program.names) is not None)
            shared = neighbours is not None and bool(frame.tuples or derived)
            solving.append(SolveSpec(part, frame, piece, number, derived, shared, on_change, frame.tuples, located))
        inputs = tuple(piece.piece.inputs for piece in pieces)
        combining = CombineSpec(part, frame, inputs, neighbours, on_change, located=located)
        edges = tuple(Edge(number, len(pieces), "records") for number in range(len(pieces)))
        return Expansion((*solving, combining), edges)

    # Beside other parts ---------------------------------------------------------------------------------------------

    @property
    def ports(self) -> Ports:
        name = PurePath(self.program.source.name).stem
        return Ports("the answer set program", name, self.reads, self.writes, mentions=self.program.mentioned)

    def reads(self, predicate: Predicate) -> bool:
        """Whether facts of a predicate are input."""
        return self.program.reads(predicate)

    def writes(self, predicate: Predicate) -> bool:
        """Whether answers can hold facts of a predicate."""
        return self.program.writes(predicate)

    def readers(self) -> Program:
        return self.program.readers()

    @property
    def is_costly(self) -> bool:
        """It is split where it reads streams only, unless more is asked for."""
        return False

    def looks(self, context: Context, words: Dictionary) -> Iterable[Callable[[Batch], object]]:
        """Nothing looks at batches where they come in: operators report what is wrong with facts."""
        return ()

    @property
    def on_change(self) -> bool:
        """Whether it is asked when something changes: beside other parts, where it has no windows."""
        return self.options.window is None and self.program.window is None

    @property
    def selected(self) -> frozenset[Predicate] | None:
        """The predicates of answers that are output beside other parts; None where these are all."""
        return None if self.output is None else frozenset(filter(self.solved.program.writes, self.output.predicates))

    @property
    def solved(self) -> "AnswerSets":
        """What is solved: answers have what others read of them, and what is output."""
        if self.output is None:
            return self
        shown = self.program.shown | self.program.showing(self.output.predicates).shown
        return replace(self, program=replace(self.program, shown=shown))

    def explain_member(self) -> "ExplainedMember":
        from thalweg.explain.decomposition import answer_set_statements
        from thalweg.explain.wired_parts import ExplainedMember
        from thalweg.planning.input_dependency import analyse

        dependency = analyse(self.program.outlines, self.program.inputs)
        statements = tuple(answer_set_statements(dependency))
        outputs = tuple(sorted({head for statement in statements for head in statement.heads}))
        return ExplainedMember("answer sets", self.ports.name, dependency.inputs, outputs, statements, self.explain())

    def explain(
        self, partitions: int | None = None, published: bool = False, split: SplitName = "auto"
    ) -> "PlanDocument":
        from thalweg.explain.decomposition import explain_answer_sets
        from thalweg.planning.input_dependency import analyse
        from thalweg.planning.published import Published

        dependency = analyse(self.program.outlines, self.program.inputs)
        reasons = tuple(dict.fromkeys(obstacle.words for obstacle in self.program.obstacles))
        return explain_answer_sets(dependency, Published(dependency) if published else None, reasons, partitions)

    def frame(self, context: Context) -> Frame:
        """The windows that it is asked over."""
        return self.options.frame(context.clock, self.program)


@lru_cache(maxsize=4)
def _read_again(
    source: Source,
    inputs: tuple[Predicate, ...],
    shown: frozenset[Predicate],
    background: tuple[Fact, ...],
    options: SolveOptions,
    output: Shown | None,
) -> AnswerSets:
    from thalweg.languages.asp.reader import read_program

    program = read_program(source, inputs)[0].knowing(background)
    program = program if program.shown == shown else replace(program.showing(shown), shown=shown)
    return AnswerSets(program, background, options, output)


# Syntax trees must be gone before clingo is.
atexit.register(_read_again.cache_clear)


def _refused(option: str) -> RejectedError:
    return RejectedError(
        [Diagnostic("E403", f"`{option}` cannot be used with answer set programs (`.lp`): leave it out")]
    )
