"""Prints the representation as LARS text, which `languages.lars` reads back to an equal value."""

from functools import singledispatch

from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Atom,
    Call,
    Comparison,
    Constant,
    InWindow,
    KeyedWindow,
    Not,
    Now,
    Operation,
    PastWindow,
    Program,
    Rule,
    TimeWindow,
    TupleWindow,
    Variable,
    Window,
    is_anonymous,
)
from thalweg.model.functions import CONDITIONS
from thalweg.model.predicate import Predicate

_TIGHTNESS = {"+": 1, "-": 1, "*": 2, "/": 2, "mod": 2}


@singledispatch
def show(node: object) -> str:
    """The text of any node.

    >>> show(Rule(Atom("slow", (Variable("S"),)), (InWindow(Atom("speed", (Variable("S"),)), TimeWindow(10)),)))
    'slow(S) :- speed(S) in [10].'
    """
    raise TypeError(f"{type(node).__name__} is not part of the representation")


@show.register
def _(node: Variable) -> str:
    return "_" if is_anonymous(node.name) else node.name


@show.register
def _(node: Constant) -> str:
    return node.term


@show.register
def _(node: Operation) -> str:
    def operand(side: object, tighter: bool) -> str:
        loose = isinstance(side, Operation) and (
            _TIGHTNESS[side.operator] < _TIGHTNESS[node.operator] + (1 if tighter else 0)
        )
        return f"({show(side)})" if loose else show(side)

    return f"{operand(node.left, False)} {node.operator} {operand(node.right, True)}"


@show.register
def _(node: Call) -> str:
    return f"{node.function}({', '.join(map(show, node.args))})"


@show.register
def _(node: Atom) -> str:
    return f"{node.predicate}({','.join(map(show, node.args))})" if node.args else node.predicate


@show.register
def _(node: TimeWindow) -> str:
    return f"[{node.size}]" if node.step is None else f"[{node.size} step {node.step}]"


@show.register
def _(node: TupleWindow) -> str:
    return f"[{node.size} #]" if node.of is None else f"[{node.size} # {node.of}]"


@show.register
def _(node: PastWindow) -> str:
    return f"[{node.size}]"


@show.register
def _(node: KeyedWindow) -> str:
    return f"[{node.size} # by {', '.join(f'{column + 1}' for column in node.by)}]"


def _within(window: Window, atom: Atom) -> str:
    """A window behind its atom, whose arguments are the keys where it has some."""
    if isinstance(window, KeyedWindow):
        keys = dict.fromkeys(show(atom.args[column]) for column in window.by)
        return f" in [{window.size} # by {', '.join(keys)}]"
    return f" {'before' if isinstance(window, PastWindow) else 'in'} {show(window)}"


def _from(stream: str | None) -> str:
    return "" if stream is None else f" from {stream}"


@show.register
def _(node: Now) -> str:
    return show(node.atom) + _from(node.stream)


@show.register
def _(node: At) -> str:
    window = "" if node.window is None else _within(node.window, node.atom)
    return f"{show(node.atom)}{_from(node.stream)} at {show(node.time)}{window}"


@show.register
def _(node: InWindow) -> str:
    return f"{show(node.atom)}{_from(node.stream)}{_within(node.window, node.atom)}"


@show.register
def _(node: Always) -> str:
    return f"{show(node.atom)}{_from(node.stream)} always{_within(node.window, node.atom)}"


@show.register
def _(node: Not) -> str:
    return f"not {show(node.formula)}"


@show.register
def _(node: Comparison) -> str:
    if node.operator.removeprefix("not ") in CONDITIONS:
        return f"{node.operator}({show(node.left)}, {show(node.right)})"
    return f"{show(node.left)} {node.operator} {show(node.right)}"


@show.register
def _(node: Aggregate) -> str:
    function = node.function if node.share is None else f"{node.function}({node.share})"
    terms, body = ", ".join(map(show, node.terms)), ", ".join(map(show, node.body))
    return f"{show(node.result)} = {function}{{{terms} : {body}}}"


@show.register
def _(node: Rule) -> str:
    head = show(node.head) + ("" if node.time is None else f" at {show(node.time)}")
    return f"{head} :- {', '.join(map(show, node.body))}." if node.body else f"{head}."


@show.register
def _(node: Program) -> str:
    shown = node.interface.outputs
    lines = [] if shown is None else [_directive("show", shown)]
    lines += [_directive("record", node.recorded)] if node.recorded else []
    return "\n".join([*lines, *map(show, node.rules), *(f"{fact}." for fact in node.background)])


def _directive(name: str, predicates: frozenset[Predicate]) -> str:
    return f"#{name} {', '.join(sorted(predicates))}." if predicates else f"#{name}."
