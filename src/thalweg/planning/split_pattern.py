"""By which variable a pattern of events can be split, so that its parts are matched apart from each other."""

from thalweg.ir.patterns import Pattern, occurrences


def split_variable(pattern: Pattern) -> str | None:
    """A variable on which all events of a match agree, those under `NOT` included; None where there is none.

    Without a modifier there is one match in all, which no part can know alone.

    >>> from thalweg.ir.patterns import Clause, Occurs, Sequence, Triple
    >>> clauses = (Clause("<a>", (Triple("?x", "<at>", "?l"),)), Clause("<b>", (Triple("?y", "<at>", "?l"),)))
    >>> split_variable(Pattern(Sequence((Occurs("<a>", 0), Occurs("<b>", 1))), "EVERY", clauses=clauses))
    'l'
    >>> split_variable(Pattern(Sequence((Occurs("<a>", 0), Occurs("<c>", 1))), "EVERY", clauses=clauses[:1]))
    """
    if pattern.modifier is None:
        return None
    names = [occurrence.event for occurrence in occurrences(pattern.operand)]
    bound = {clause.event: clause.variables for clause in pattern.clauses}
    carried = frozenset.intersection(*(bound.get(name, frozenset()) for name in names))
    # A variable of one name is its own in each occurrence.
    return min(carried, default=None) if len(set(names)) > 1 or len(names) == 1 else None
