"""What deserves a warning about facts that rules read, at the end of a run.

    W304    nothing matches silently: what rules read and no stream brought, where something similar came
    W305    what was compared although it has no common order, once for each comparison

A batch knows its predicates, so the first costs nothing for each fact; the engine notes the second.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from thalweg.answers.record import Answer
from thalweg.diagnostics import Diagnostic, Span
from thalweg.engine.incomparable import Incomparable
from thalweg.ir.nodes import Program
from thalweg.ir.text import show
from thalweg.kinds.rules.rule_progress import watched_rules
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.values import Kind, value_of
from thalweg.planning.check_unmatched import Inputs, check_unmatched

if TYPE_CHECKING:
    from thalweg.answers.event_answers import UndecidedTotals
    from thalweg.kinds.part import Scout

_SHOWN = 3
_KINDS = {Kind.NUMBER: "a number", Kind.TEXT: "a text", Kind.TIME: "a time"}


class Unmatched:
    """Sees what streams bring, and reports at the end what rules waited for in vain.

    >>> from thalweg.ir.nodes import Atom, Now, Rule, Variable
    >>> watch = Unmatched(Program((Rule(Atom("hot"), (Now(Atom("tempp", (Variable("V"),))),)),)))
    >>> watch.look(Batch({Predicate("temp", 1): [5]}))
    >>> [one.message for one in watch.summary()]
    ['`tempp/1` never came; `temp/1` did']
    """

    def __init__(self, program: Program, among_others: bool = False) -> None:
        """`among_others`: others read streams too, whatever these bring."""
        self._inputs = Inputs(program)
        self._among_others = among_others
        self._came: set[Predicate] = set()
        self._streams: dict[str, set[Predicate]] = {}

    def look(self, batch: Batch) -> None:
        """Looks at what a batch is about."""
        self._came.update(batch.rows)
        if self._inputs.streams:
            self._streams.setdefault(batch.stream or "", set()).update(batch.rows)

    @property
    def misspelt(self) -> dict[Predicate, Predicate]:
        """The predicates that never came while a similar one did, with that one."""
        inputs, came = self._inputs, self._came
        missing = [name for name in inputs.awaited if name not in came] if came else []
        meant_by = inputs.meant_among(came | inputs.program.derived)
        return {name: meant for name in missing if (meant := meant_by(name)) is not None}

    def summary(self) -> Iterator[Diagnostic]:
        """A warning for each predicate that never came while a similar one did; one where nothing that came is read."""
        if not self._came:
            return
        yield from self._unknown_streams()
        inputs, came = self._inputs, self._came
        missing = {name: span for name, span in inputs.awaited.items() if name not in came}
        similar = self.misspelt
        unread = sorted(came - inputs.read.keys())
        for number, (name, meant) in enumerate(similar.items()):
            notes = () if number else _also(unread, [*similar.values()])
            how = "did" if meant in came else "is derived"
            help_ = f"write `{meant}` in the rule, or `{name}` where the facts come from"
            yield Diagnostic("W304", f"`{name}` never came; `{meant}` {how}", missing[name], help_, notes)
        is_alone = not self._among_others and not inputs.has_vocabulary
        if not similar and missing and is_alone and came.isdisjoint(inputs.read):
            names = _listed(unread)
            message = f"no rule reads what the streams brought: {names}"
            awaited = _listed(sorted(missing))
            yield Diagnostic("W304", message, help=f"rules read {awaited}: use the same names in both")

    def _unknown_streams(self) -> Iterator[Diagnostic]:
        """A warning where rules read a predicate from a stream that never came, while others brought it."""
        for (name, stream), span in self._inputs.streams.items():
            sources = sorted(other for other, brought in self._streams.items() if other and name in brought)
            if stream not in self._streams and sources:
                shown = " and ".join(f"`{other}`" for other in sources[:_SHOWN])
                help_ = (
                    f"write `from {sources[0]}` in the rule, or name the stream in a deployment: `[streams.{stream}]`"
                )
                message = f"nothing came from the stream `{stream}`; `{name}` came from {shown}"
                yield Diagnostic("W304", message, span, help_)


class RuleWatch:
    """Sees what comes to rules and what they conclude, and says at the end what never came.

    `rules`: those of which it also says how far they got, where they concluded nothing. Events of other parts that
    buckets could not decide are added up in `undecided`.
    """

    def __init__(
        self,
        program: Program,
        among_others: bool = False,
        rules: Program | None = None,
        also: Callable[[Dictionary], Iterable[Callable[[Batch], object]]] = lambda words: (),
        undecided: "UndecidedTotals | None" = None,
    ) -> None:
        """`also` makes other functions that look at batches."""
        self._unmatched = Unmatched(program, among_others)
        self._progress = None if rules is None else watched_rules(rules)
        self._also = also
        self._undecided = undecided

    def look(self, words: Dictionary) -> Callable[[Batch], object]:
        """Returns a function that looks at batches whose terms have these words."""
        progress = None if self._progress is None else self._progress.look(words)
        looks = [self._unmatched.look, *(() if progress is None else (progress,)), *self._also(words)]
        return looks[0] if len(looks) == 1 else lambda batch: [look(batch) for look in looks]

    def presenter(self) -> Callable[[Answer], Answer] | None:
        """A function that sees answers on their way, where progress is watched."""
        return None if self._progress is None else self._progress.see

    def scout(self) -> "Scout | None":
        """What looks at facts of premises elsewhere, where progress is watched."""
        return None if self._progress is None else self._progress.scout()

    def hear(self, note: object) -> bool:
        """Takes what a bucket could not decide, and what scouts have seen."""
        if self._undecided is not None and self._undecided.hear(note):
            return True
        return self._progress is not None and self._progress.hear(note)

    def summary(self) -> Iterator[Diagnostic]:
        yield from self._unmatched.summary()
        if self._progress is not None:
            yield from self._progress.summary(frozenset(self._unmatched.misspelt))
        if self._undecided is not None:
            yield from self._undecided.summary()


def _also(unread: list[Predicate], meant: list[Predicate]) -> tuple[str, ...]:
    ignored = [name for name in unread if name not in meant]
    return (f"no rule reads {_listed(ignored)}, which came as well",) if ignored else ()


def _listed(names: list[Predicate]) -> str:
    """Some names, the others counted.

    >>> _listed([Predicate(name, 1) for name in "abcde"])
    '`a/1`, `b/1`, `c/1` and 2 more'
    """
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def mixed_kinds(program: Program, comparisons: Collection[Incomparable]) -> Iterator[Diagnostic]:
    """A warning for each comparison that met terms of different kinds, unless one was given before the run.

    >>> from thalweg.ir.nodes import Comparison, Constant, Variable
    >>> over = Comparison(">", Variable("V"), Constant("20"))
    >>> [one.message for one in mixed_kinds(Program(), [Incomparable(over, '"n/a"', "20")])]
    ['`V > 20` compared `"n/a"`, a text, with `20`, a number: between different kinds it is false']
    """
    reported = _reported(program) if comparisons else frozenset()
    for comparison, left, right in comparisons:
        if comparison.span not in reported:
            what = " with ".join(f"`{term}`, {_kind(term)}," for term in (left, right)).removesuffix(",")
            message = f"`{show(comparison)}` compared {what}: between different kinds it is false"
            yield Diagnostic("W305", message, comparison.span, help=_way_out(left, right))


def _reported(program: Program) -> frozenset[Span]:
    """Where W207 was given before the run."""
    return frozenset(
        diagnostic.span
        for diagnostic in check_unmatched(program)
        if diagnostic.code == "W207" and diagnostic.span is not None
    )


def _kind(term: str) -> str:
    value = value_of(term)
    return "an IRI" if term[0] == "<" else "without a value" if value is None else _KINDS[value.kind]


def _way_out(*terms: str) -> str:
    kinds = {value.kind for term in terms if (value := value_of(term)) is not None}
    if kinds == {Kind.NUMBER, Kind.TEXT}:
        return "keep texts out of the comparison, or compare `number(X)`, the number that a text stands for"
    if kinds == {Kind.NUMBER, Kind.TIME}:
        return "only a tick that `at` binds is compared with a time, as in `p(X) at T in [1 h], T > @2026-11-15`"
    return "compare values of one kind: numbers, texts or times"
