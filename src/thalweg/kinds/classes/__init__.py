"""Abstraction: events become the classes of their individuals, under an ontology and what is known besides."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from thalweg.answers.event_answers import UndecidedTotals, added
from thalweg.dataflow.context import Context
from thalweg.dataflow.plan import Expansion
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.nodes import Program
from thalweg.kinds.member import Neighbours, StandsAlone
from thalweg.kinds.part import Watch
from thalweg.kinds.typed_columns import Inputs, TypedColumns
from thalweg.languages.options import SplitName
from thalweg.languages.owl.axioms import show
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from thalweg.answers.answer_columns import AnswerColumns
    from thalweg.explain.document import PlanDocument
    from thalweg.kinds.classes.ladder import Ladder
    from thalweg.kinds.definitions import Definition


@dataclass(frozen=True)
class Abstraction(StandsAlone):
    """A program that classifies events."""

    program: AbstractionProgram

    @property
    def size(self) -> str:
        count = len(self.program.asked)
        return f"{count} class{'es' if count != 1 else ''}"

    @property
    def rules(self) -> Program:
        message = f"`{self.program.name}` classifies events and cannot be loaded as rules"
        raise RejectedError([Diagnostic("E402", message, help="pass its name to `thalweg.run`, or use `thalweg run`")])

    @property
    def compiles(self) -> bool:
        return False

    def identity(self, context: Context) -> tuple[str, str]:
        axioms = [*self.program.axioms, *self.program.background.axioms()]
        text = "\n".join([*(wanted.label for wanted in self.program.asked), *map(show, axioms)])
        options = (self.program.reasoner, self.program.individuals)
        return text, sha256(repr((text, *options)).encode()).hexdigest()

    def answer_columns(self, emit: str) -> "AnswerColumns":
        from thalweg.answers.answer_columns import EventColumns

        return EventColumns()

    def typed_columns(self, emit: str, of: Predicate | None, inputs: Inputs) -> TypedColumns | None:
        """Those of all classes, or of one by its name."""
        from thalweg.answers.answer_columns import MemberColumns

        return TypedColumns(self.answer_columns(emit) if of is None else MemberColumns(of.name))

    def answerable(self, predicate: Predicate) -> frozenset[Predicate] | None:
        """The classes that events are classified by."""
        return frozenset(Predicate(asked.label, 1) for asked in self.program.asked)

    def watch(self, context: Context, partitions: int | None) -> Watch:
        return ClassWatch()

    def account(self, write: Callable[[str], None]) -> "AbstractionReport":
        return AbstractionReport(write)

    def definitions(self, context: Context) -> "tuple[Definition, ...]":
        """The classes that were asked for."""
        from thalweg.kinds.classes.ontology_text import class_definitions

        return class_definitions(self.program)

    def expand(self, context: Context, neighbours: Neighbours | None, partitions: int | None) -> Expansion:
        """One operator; with partitions its buckets take whole events in turn."""
        from thalweg.kinds.classes.classes_operator import ClassesSpec

        self._check(context)
        return Expansion((ClassesSpec(self, split=partitions is not None),))

    @staticmethod
    def _check(context: Context) -> None:
        if context.settings.emit != "changes":
            raise RejectedError([Diagnostic("E403", "`--emit` cannot be used with `--as abstraction`: leave it out")])
        if context.settings.memory is not None:
            raise RejectedError([Diagnostic("E403", "`--memory` cannot be used with `--as abstraction`: leave it out")])

    def ladder(self) -> "tuple[Ladder, list[Diagnostic]]":
        """What decides events, and what could not be decided of the background.

        `RejectedError` where the background contradicts the ontology.
        """
        from thalweg.kinds.classes.contradiction import check_background
        from thalweg.kinds.classes.ladder import Ladder

        ladder = Ladder(self.program, self.program.reasoner)
        return ladder, check_background(ladder)

    def contradictions(self) -> list[Diagnostic]:
        try:
            return self.ladder()[1]
        except RejectedError as error:
            return list(error.diagnostics)

    def explain(
        self, partitions: int | None = None, published: bool = False, split: SplitName = "auto"
    ) -> "PlanDocument":
        from thalweg.explain.event_classes import explain_classes

        return explain_classes(self.program, partitions)


class ClassWatch(Watch):
    """Adds up the events that buckets could not decide."""

    def __init__(self) -> None:
        self._undecided = UndecidedTotals()

    def hear(self, note: object) -> bool:
        return self._undecided.hear(note)

    def summary(self) -> Iterable[Diagnostic]:
        return self._undecided.summary()


class AbstractionReport:
    """Writes one line at the end: events, hits and misses of the cache, what decided, and how long that took."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._account: dict[str, Any] | None = None

    def take(self, _: object, account: dict[str, Any]) -> None:
        """Takes an account of what was done, and adds it to those before."""
        self._account = added(self._account or {}, account)

    def finish(self) -> None:
        """Writes it."""
        if self._account is not None:
            self._write(json.dumps(self._account, separators=(",", ":")) + "\n")
