"""Patterns of events as text, as a `.tw` writes them; bounds are in ticks."""

from typing import Final

from thalweg.ir.patterns import Absent, Both, Clause, Either, Occurs, Operand, Pattern, Sequence

# From loose to tight.
_WORDS: Final = {Sequence: "SEQ", Either: "OR", Both: "AND"}
_BINDING: Final = {Sequence: 0, Either: 1, Both: 2, Absent: 3, Occurs: 4}


def show_pattern(pattern: Pattern) -> str:
    """A pattern without its clauses.

    >>> show_pattern(Pattern(Sequence((Occurs("<a>", 0), Absent(Occurs("<n>", 1)))), "EVERY", within=9))
    'EVERY <a> SEQ NOT <n> WITHIN (9 ticks)'
    """
    modifier = f"{pattern.modifier} " if pattern.modifier else ""
    ticks = "tick" if pattern.within == 1 else "ticks"
    within = "" if pattern.within is None else f" WITHIN ({pattern.within:,} {ticks})"
    return f"{modifier}{show_operand(pattern.operand)}{within}"


def show_operand(operand: Operand) -> str:
    """An operand, with the parentheses that it needs.

    >>> show_operand(Both((Occurs("<a>", 0), Either((Occurs("<b>", 1), Occurs("<c>", 2))))))
    '<a> AND (<b> OR <c>)'
    """
    match operand:
        case Occurs(event):
            return event
        case Absent(inner):
            return f"NOT {_inside(inner, Absent)}"
        case Sequence(operands) | Both(operands) | Either(operands):
            kind = type(operand)
            return f" {_WORDS[kind]} ".join(_inside(part, kind) for part in operands)


def _inside(operand: Operand, around: type) -> str:
    text = show_operand(operand)
    return text if _BINDING[type(operand)] > _BINDING[around] else f"({text})"


def show_clause(clause: Clause) -> str:
    """The triples and filters of a clause.

    >>> from thalweg.ir.patterns import Triple
    >>> show_clause(Clause("<a>", (Triple("?o", "<at>", "?l"), Triple("?o", "<v>", "?v"))))
    '?o <at> ?l . ?o <v> ?v'
    """
    triples = [f"{triple.subject} {triple.predicate} {triple.object}" for triple in clause.triples]
    return " . ".join([*triples, *(f"FILTER {condition.text}" for condition in clause.filters)])
