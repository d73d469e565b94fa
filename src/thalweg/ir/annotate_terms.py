"""Facts about the terms of what streams bring, which rules can read and which follow from the terms themselves.

'literal(L,V,D), 'outside(L,D)                a literal, its value, the datatypes that it does and does not belong to
'plain_literal(L,B), 'typed_literal(L,B,D)    the blank node that stands for a literal
'some_witness(X,R,B)                          the blank node that stands for the value which restriction R promises
"""

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Final

from thalweg.ir.nodes import TermAnnotations
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import blank, can_be_subject
from thalweg.model.term import is_literal
from thalweg.model.triples import TRIPLES
from thalweg.model.vocabulary import SAME_AS

EDGE: Final = "same'as"
"""What streams bring as `owl:sameAs`: equality itself is derived from it."""

EDGES: Final = Predicate(EDGE, 2)

LITERALS: Final = Predicate("'literal", 3)
SUPPLIED: Final = frozenset(
    {
        LITERALS,
        Predicate("'outside", 2),
        Predicate("'plain_literal", 2),
        Predicate("'typed_literal", 3),
        Predicate("'some_witness", 3),
        EDGES,
    }
)
"""All such facts."""

_SAME_AS: Final = Predicate(SAME_AS, 2)


def annotate_terms(
    batch: Batch, words: Dictionary, annotations: TermAnnotations, wanted: Collection[Predicate]
) -> Batch:
    """The batch, with the wanted facts about its terms.

    >>> words = Dictionary()
    >>> batch = Batch({Predicate("<p>", 2): [words.code("<a>"), words.code("x")]})
    >>> plain = Predicate("'plain_literal", 2)
    >>> more = annotate_terms(batch, words, TermAnnotations(stand_ins=True), {plain}).rows[plain]
    >>> [words.spell(word) for word in more]
    ['x', '_:literal_0_x']
    """
    more = Batch({**batch.rows}, batch.order, batch.stream)
    if EDGES in wanted and _SAME_AS in more.rows:
        more.rows[EDGES] = more.rows.pop(_SAME_AS)
        more.order = [EDGES if signature == _SAME_AS else signature for signature in more.order]
    if annotations == TermAnnotations(datatypes=()) and LITERALS not in wanted:
        return more
    for fact in [
        fact for term in _terms(batch, words) for fact in _about(term, annotations) if fact.signature in wanted
    ]:
        row = more.rows.setdefault(fact.signature, [])
        assert isinstance(row, list)
        row.extend(words.code(term) for term in fact.terms)
    return more


def as_streamed(signatures: Iterable[Predicate]) -> set[Predicate]:
    """The signatures as streams bring them, without facts about terms; all of them if it is only those.

    >>> sorted(as_streamed({Predicate("<p>", 2), EDGES, LITERALS})), as_streamed({LITERALS})
    (['<http://www.w3.org/2002/07/owl#sameAs>/2', '<p>/2'], {"'literal/3"})
    """
    streamed = {_SAME_AS if signature == EDGES else signature for signature in signatures}
    return streamed - SUPPLIED or streamed


def about(terms: Iterable[str], annotations: TermAnnotations) -> Iterator[Fact]:
    """The facts about terms that the annotations ask for."""
    for term in dict.fromkeys(terms):
        yield from _about(term, annotations)


def _terms(batch: Batch, words: Dictionary) -> Iterator[str]:
    """The subjects and objects of a batch, each once."""
    seen: set[int] = set()
    for signature, rows in batch.rows.items():
        arity = signature.arity
        if arity and (signature[0] != "'" or signature == TRIPLES):
            flat: list[int] = rows if isinstance(rows, list) else rows.reshape(-1).tolist()
            seen.update(flat[::arity])
            seen.update(flat[arity - 1 :: arity])
    return map(words.spell, seen)


@lru_cache(maxsize=65_536)
def _about(term: str, annotations: TermAnnotations) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    # A text is a literal as an object, and as a subject it may have what a restriction promises.
    if can_be_subject(term):
        promised = annotations.restrictions
        facts += (
            Fact("some_witness", (term, restriction, blank(f"{term} {restriction}", "some")))
            for restriction in promised
        )
    if is_literal(term):
        # Datatypes take a moment to import, and most programs do not ask for them.
        from thalweg.model.literals import describe, stand_in

        facts += [] if annotations.datatypes is None else describe(term, annotations.datatypes)
        node = stand_in(term) if annotations.stand_ins else None
        facts += [node] if node else []
    return tuple(Fact(f"'{name}", args) for name, args in facts)
