"""What the arguments of a predicate are called: by the variables of the first rule that concludes it."""

from thalweg.ir.nodes import Program, Variable
from thalweg.model.predicate import Predicate


def head_names(program: Program, predicate: Predicate) -> tuple[str, ...]:
    """A name for each argument; `arg2` for one that no rule has a variable for, or whose name is taken.

    >>> from thalweg.ir.nodes import Atom, Constant, Now, Rule
    >>> head = Atom("jam", (Variable("R"), Constant("high"), Variable("R")))
    >>> head_names(Program((Rule(head, (Now(Atom("p", (Variable("R"),))),)),)), Predicate("jam", 3))
    ('R', 'arg2', 'arg3')
    """
    heads = (rule.head for rule in program.rules if rule.head.predicate == predicate.name)
    head = next((candidate for candidate in heads if len(candidate.args) == predicate.arity), None)
    names: list[str] = []
    for place in range(predicate.arity):
        term = None if head is None else head.args[place]
        name = term.name if isinstance(term, Variable) else ""
        taken = name in names or name in RESERVED or not name or name.startswith("_")
        names.append(f"arg{place + 1}" if taken else name)
    return tuple(names)


RESERVED = frozenset({"t", "op", "predicate", "args", "from", "until", "revision"})
"""The names of the other columns."""
