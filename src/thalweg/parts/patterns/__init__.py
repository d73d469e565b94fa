"""The events of a `.tw`: classes of the events of a stream, and patterns over them, in one process."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.nodes import Program
from thalweg.languages.cascade.check_entailed import overlooked
from thalweg.languages.cascade.event_definitions import CascadeProgram
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, Asked
from thalweg.parts.abstraction import Abstraction
from thalweg.parts.part import Context, Evaluation, Explained, SparkWork

if TYPE_CHECKING:
    from thalweg.parts.abstraction.ladder import Ladder


@dataclass(frozen=True)
class EventCascade:
    """Definitions of events, what decides their classes, and the names of those that are output."""

    program: CascadeProgram
    abstraction: AbstractionProgram | None = None
    output: frozenset[str] = frozenset()

    @property
    def size(self) -> str:
        count = len(self.program.events)
        return f"{count} event{'s' if count != 1 else ''}"

    @property
    def rules(self) -> Program:
        help_ = "pass the name of its file to `thalweg.run`, or use `thalweg run`"
        raise RejectedError([Diagnostic("E402", "events cannot be loaded as rules", help=help_)])

    def identity(self, context: Context) -> tuple[str, str]:
        known = self._abstraction()
        text, fingerprint = known.identity(context) if known is not None else ("", "")
        events = "\n".join(repr(one) for one in self.program.events)
        return f"{events}\n{text}", sha256(repr((events, fingerprint, sorted(self.output))).encode()).hexdigest()

    def start(self, context: Context) -> Evaluation:
        from thalweg.parts.patterns.event_run import EventRun

        self._check(context)
        ladder, doubts = self._ladder()
        for doubt in doubts:
            context.report(doubt)
        run = EventRun(self.program, ladder, self.output, context.settings.first, context.report)
        return Evaluation(run, run, state=run, summary=run.summary)

    def _check(self, context: Context) -> None:
        if self.program.selections:
            span = self.program.selections[0].span
            message = "a selection cannot be run yet: events are taken as they come"
            raise RejectedError([Diagnostic("E403", message, span, "leave it out")])
        if context.settings.emit != "changes":
            raise RejectedError([Diagnostic("E403", "an event is a point of the output: leave `--emit` out")])
        if context.settings.memory is not None:
            raise RejectedError([Diagnostic("E403", "`--memory` cannot be used with events: leave it out")])

    def _ladder(self) -> "tuple[Ladder, list[Diagnostic]]":
        known = self._abstraction()
        if known is None:
            help_ = "name its file as well, as in `thalweg run rules.tw city.ofn`"
            raise RejectedError(
                [Diagnostic("E403", "the classes of events need an ontology, and there is none", help=help_)]
            )
        return known.ladder()

    def _abstraction(self) -> Abstraction | None:
        """What decides the classes of events, by the names of these events."""
        if self.abstraction is None:
            return None
        classes = zip(self.program.classes, self.abstraction.asked, strict=True)
        asked = tuple(Asked(name, one.name) for (name, _), one in classes)
        return Abstraction(replace(self.abstraction, asked=asked))

    def spread(self, context: Context, partitions: int) -> SparkWork:
        from thalweg.parts.spark_plan import in_one_bucket

        return in_one_bucket(self, context, partitions)

    def explain(self, partitions: int | None = None, published: bool = False) -> Explained:
        raise RejectedError([Diagnostic("E403", "the plan of events cannot be shown yet")])


def cascade_part(
    program: CascadeProgram, compiled: Collection[object], names: Collection[str] | None
) -> tuple[EventCascade, list[Diagnostic]]:
    """The part of definitions, and what is wrong with what stands beside them; `names` are the events asked for."""
    abstraction = next((one for one in compiled if isinstance(one, AbstractionProgram)), None)
    others = [
        one
        for one in compiled
        if one is not program and one is not abstraction and not (isinstance(one, Program) and not one.rules)
    ]
    found = [Diagnostic("E403", "events stand beside ontologies only: leave the other programs out")] if others else []
    known = {one.name for one in program.events}
    found += [
        Diagnostic("E801", f"the event `{name}` is not defined", help="write the name of a `NAMED EVENT`")
        for name in sorted(names or ())
        if name not in known
    ]
    if abstraction is not None:
        found += overlooked(program, abstraction.triples)
    return EventCascade(program, abstraction, frozenset(names) if names else program.top), found
