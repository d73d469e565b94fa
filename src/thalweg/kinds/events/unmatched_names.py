"""Nothing matches silently: what streams bring, compared with what classes and clauses of events are about.

    temp(press1,95.2) at 3.      `:temp/2` never came; `temp/2` did
    :temp(press1,95.2) at 3.     it is about the text `press1`, and not about `:press1`, which the background has

A batch knows its predicates, so this costs nothing for each fact; subjects are looked at in the first batches only.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from thalweg.answers.event_answers import UndecidedTotals
from thalweg.diagnostics import Diagnostic
from thalweg.ir.pattern_semantics import TripleTerms
from thalweg.kinds.part import Watch
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import OWN, RDF_TYPE, XSD
from thalweg.model.similar import local_name, nearest
from thalweg.model.vocabulary import OWL, RDF, RDFS

# The words of OWL and of its datatypes, and names that nobody wrote.
_WORDS: Final = (*(f"<{space}" for space in (XSD, RDF, RDFS, OWL)), OWN)
# A text or a number, or an IRI without a scheme.
_ODD: Final = re.compile(r"(?!_:|<[A-Za-z][\w+.-]*:)")
_SHOWN: Final = 3
_BATCHES: Final = 20


class UnmatchedNames(Watch):
    """Sees what streams bring; `names` are those that classes and clauses read, `triples` the background.

    >>> watch = UnmatchedNames({"<http://ex.org/temp>"}, ())
    >>> watch.look(Dictionary())(Batch({Predicate("temp", 2): [5, 7]}))
    >>> [one.message for one in watch.summary()]
    ['`<http://ex.org/temp>/2` never came; `temp/2` did']
    """

    def __init__(self, names: Iterable[str], triples: Iterable[TripleTerms]) -> None:
        self._names = frozenset(name for name in names if not name.startswith(_WORDS))
        self._triples = triples
        self._came: set[Predicate] = set()
        self._left = _BATCHES
        self._odd: dict[str, str] = {}
        self._undecided = UndecidedTotals()

    def hear(self, note: object) -> bool:
        return self._undecided.hear(note)

    def look(self, words: Dictionary) -> Callable[[Batch], object]:
        """A function that looks at what batches are about."""
        return partial(self._look, words)

    def _look(self, words: Dictionary, batch: Batch) -> None:
        self._came.update(batch.rows)
        if self._left:
            self._left -= 1
            for name, rows in batch.rows.items():
                subject = words.spell(rows[0]) if len(rows) and name.name in self._names else "_:"
                if _ODD.match(subject):
                    self._odd.setdefault(subject, f"{name.name}({subject}{',…' * (name.arity - 1)})")

    def summary(self) -> Iterator[Diagnostic]:
        """Warnings about undecided events, and about names that never came while similar ones did, or all of them."""
        yield from self._undecided.summary()
        if not self._names:
            return
        unread = sorted(predicate for predicate in self._came if predicate.name not in self._names)
        read = {predicate.name for predicate in self._came} & self._names
        background = {target if name == RDF_TYPE else name for _, name, target in self._triples}
        missing = sorted(self._names - read - background)
        similar = {predicate: meant for predicate in unread if (meant := _meant(predicate, missing)) is not None}
        for predicate, meant in similar.items():
            help_ = f"write `{meant.name}` where the facts come from, for example in `--map`"
            help_ += f"; or use `{predicate.name}` in the events" if predicate.name[0] == "<" else ""
            yield Diagnostic("W304", f"`{meant}` never came; `{predicate}` did", help=help_)
        if unread and not read and not similar:
            message = f"no event reads what the streams brought: {_listed(unread)}"
            yield Diagnostic("W304", message, help=f"events read {_listed(missing)}: use the same names in both")
        yield from self._about_others()

    def _about_others(self) -> Iterator[Diagnostic]:
        """A warning where facts are about a text, and the background about an IRI that ends in it."""
        individuals = (
            {local_name(individual): individual for individual, _, _ in self._triples if individual[0] == "<"}
            if self._odd
            else {}
        )
        for subject, fact in self._odd.items():
            meant = individuals.get(local_name(subject.strip('"')))
            if meant is not None and meant != subject:
                space = meant.removesuffix(f"{local_name(meant)}>")
                what = f"`{subject}`" if subject[0] == "<" else f"the text `{subject}`"
                message = f"`{fact}` is about {what}, and not about `{meant}`, which the background has"
                help_ = f"make IRIs where the facts come from, in `--map` as `{space}{{column}}>`"
                yield Diagnostic("W608", message, help=help_)
                return


def _meant(name: Predicate, missing: Iterable[str]) -> Predicate | None:
    return nearest(name, (Predicate(candidate, name.arity) for candidate in missing))


def _listed(names: list[Predicate] | list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown
