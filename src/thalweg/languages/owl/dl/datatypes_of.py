"""Which kinds of numbers the ranges of a property are of: values of another kind are in none of them."""

from collections import defaultdict
from collections.abc import Iterable

from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axioms import Axiom, within
from thalweg.model.literals import DATATYPES


def expected_kinds(axioms: Iterable[Axiom]) -> dict[str, frozenset[str]]:
    """The kinds of values in the ranges that axioms have for each property, also by way of other properties.

    >>> from thalweg.model.rdf import XSD
    >>> expected_kinds([ax.DataPropertyRange("<w>", f"<{XSD}double>"), ax.SubDataPropertyOf("<v>", "<w>")])
    {'<w>': frozenset({'double'}), '<v>': frozenset({'double'})}
    """
    kinds_of: dict[str, set[str]] = defaultdict(set)
    above: list[tuple[str, str]] = []
    for axiom in axioms:
        if isinstance(axiom, ax.SubDataPropertyOf):
            above.append((axiom.sub, axiom.sup))
        for part in within(axiom):
            match part:
                case ax.DataPropertyRange(name, range) | ex.DataQuantifier(name, range):
                    kinds_of[name] |= _kinds(range)
                case ex.DataCardinality(_, name, range) if range is not None:
                    kinds_of[name] |= _kinds(range)
    for _ in above:
        for sub, sup in above:
            kinds_of[sub] |= kinds_of[sup]
    return {name: frozenset(kinds) for name, kinds in kinds_of.items() if kinds}


def _kinds(range: object) -> set[str]:
    names = (part for part in within(range) if isinstance(part, str))
    return {DATATYPES[name].kind for name in names if name in DATATYPES and DATATYPES[name].kind}
