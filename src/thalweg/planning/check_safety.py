"""Whether every rule can be evaluated as it is written.

A variable gets its values from a positive formula (its arguments, and the time of `at`), from `=` with a side that has
a value, or as the result of an aggregate. Everything else only tests values: heads, negation, comparisons, groups.

    jam(S) :- not slow(S,T).     has nothing that says which S and T to look at
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from thalweg.diagnostics import NOWHERE, Diagnostic, Span
from thalweg.ir.dependency import formulas, is_past
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Atom,
    Call,
    Comparison,
    Constant,
    Expression,
    Formula,
    InWindow,
    KeyedWindow,
    Literal,
    Not,
    Now,
    Operation,
    PastWindow,
    Program,
    Rule,
    TimeWindow,
    TupleWindow,
    Variable,
    global_names,
    is_anonymous,
    names,
    variables,
)
from thalweg.ir.text import show
from thalweg.model.functions import FUNCTIONS
from thalweg.model.predicate import Predicate
from thalweg.model.term import NUMERIC
from thalweg.model.values import number_of


def check_safety(program: Program) -> list[Diagnostic]:
    """Everything that keeps the rules from being evaluated, in the order in which they are written.

    >>> unsafe = Rule(Atom("jam", (Variable("S"),)), (Not(Now(Atom("slow", (Variable("S"),)))),))
    >>> [(error.code, error.message) for error in check_safety(Program((unsafe,)))]
    [('E203', 'variable `S` is not bound by a positive atom')]
    """
    diagnostics = [diagnostic for check in CHECKS for diagnostic in check(program)]
    return sorted(diagnostics, key=lambda diagnostic: (diagnostic.span.source.name, diagnostic.span.start))


def check_arities(program: Program) -> Iterator[Diagnostic]:
    """E201: one name, one number of arguments; IRIs are free, since a class may be a property too."""
    first: dict[str, tuple[Predicate, str]] = {}
    for fact in program.background:
        first.setdefault(fact.predicate, (fact.signature, f"in the fact `{fact}`"))
    for atom in _atoms(program):
        other, where = first.setdefault(atom.predicate, (atom.signature, f"at {_place(atom.span)}"))
        if other.arity != len(atom.args) and not atom.signature.public.startswith("<"):
            yield Diagnostic(
                "E201",
                f"`{atom.predicate}` has {_arguments(len(atom.args))} here and {other.arity} elsewhere",
                atom.span,
                help="use another name for one of them, or `_` for an argument that does not matter",
                notes=(f"`{other}` {where}",),
            )


def check_binding(program: Program) -> Iterator[Diagnostic]:
    """E202 and E203: each variable has a source of values."""
    by_arity: dict[int, list[Predicate]] | None = None
    for rule in program.rules:
        times = list(variables(rule.time))
        for use in _unbound(rule):
            if any(use.variable is variable for variable in times):
                yield _unbound_time(rule, use.variable)
            else:
                by_arity = _given(program) if by_arity is None else by_arity
                yield _unbound_variable(by_arity, rule, use)


def check_windows(program: Program) -> Iterator[Diagnostic]:
    """E205, E206, E208 and E212: windows that cannot be, or cannot hold what is sought in them."""
    for formula in _formulas(program):
        window = None if isinstance(formula, Now) else formula.window
        match window:
            case PastWindow(size) if size <= 0:
                message = f"the window `before {show(window)}` is empty"
                help_ = "it ends before now, so it reaches back at least one tick, as in `before [1]`"
                yield Diagnostic("E206", message, window.span, help=help_)
            case KeyedWindow():
                yield from _keyed_window(formula, window, program.derived)
            case TimeWindow(size, step) if size < 0 or (step is not None and step <= 0):
                message = f"the window `{show(window)}` is negative or never moves"
                help_ = "a window reaches back from now, in steps of at least one tick"
                yield Diagnostic("E206", message, window.span, help=help_)
            case TupleWindow(size):
                if size <= 0:
                    message = f"the tuple window `{show(window)}` is empty"
                    yield Diagnostic("E206", message, window.span, help="it holds at least one fact, as in `[1 #]`")
                yield from _tuple_window(formula, window, program.derived)


def _counts_derived(formula: Formula, derived: frozenset[Predicate]) -> Iterator[Diagnostic]:
    signature = formula.atom.signature
    if signature in derived and formula.stream is None:
        yield Diagnostic(
            "E205",
            f"a tuple window counts what arrives, but `{signature}` is derived by rules",
            formula.span,
            help=f"use a time window, as in `{show(formula.atom)} in [10 sec]`, or the facts that it is derived from",
        )


def _keyed_window(formula: Formula, window: KeyedWindow, derived: frozenset[Predicate]) -> Iterator[Diagnostic]:
    if window.size <= 0:
        message = f"the tuple window `{_text(window)}` is empty"
        yield Diagnostic("E206", message, window.span, help="it holds at least one fact, as in `[1 # by D]`")
    if isinstance(formula, Always):
        yield Diagnostic(
            "E212",
            "`always` cannot be used with a window by key, which has no ticks of its own",
            formula.span,
            help=f"use `in` for some fact of the window, or `always` with a time window, as in "
            f"`{_text(formula.atom)} always in [10 sec]`",
        )
    yield from _counts_derived(formula, derived)


def _tuple_window(formula: Formula, window: TupleWindow, derived: frozenset[Predicate]) -> Iterator[Diagnostic]:
    signature, of = formula.atom.signature, window.of
    yield from _counts_derived(formula, derived)
    if of is not None and of != signature:
        yield Diagnostic(
            "E208",
            f"the window counts facts of `{of}`, so it has no facts of `{signature}`",
            window.span,
            help=f"write `[{window.size} # {signature}]`, or `[{window.size} #]` to count all facts",
        )


def check_keys(program: Program) -> Iterator[Diagnostic]:
    """W206: a window by key takes the last facts first, and a constant outside the key is compared only then."""
    for rule in program.rules:
        for formula, _ in formulas(rule.body):
            if isinstance(formula, At | InWindow) and isinstance(formula.window, KeyedWindow):
                yield from _constants_beside_keys(rule, formula, formula.window)


def _constants_beside_keys(rule: Rule, formula: At | InWindow, window: KeyedWindow) -> Iterator[Diagnostic]:
    """A warning where a value of the last fact is asked for: `door(D,open) in [1 # by D]` only tests a state."""
    args = formula.atom.args
    constants = [arg for column, arg in enumerate(args) if isinstance(arg, Constant) and column not in window.by]
    values = [arg for column, arg in enumerate(args) if isinstance(arg, Variable) and column not in window.by]
    if not constants or not (values or isinstance(formula, At)):
        return
    used = names(rule.head, rule.time, *rule.body)
    free = (name for number in count() for name in (f"Q{number or ''}",) if name not in used)
    keys = {id(constant): Variable(next(free)) for constant in constants}
    atom = replace(formula.atom, args=tuple(keys.get(id(arg), arg) for arg in args))
    by = tuple(column for column, arg in enumerate(args) if column in window.by or id(arg) in keys)
    counted = replace(formula, atom=atom, window=replace(window, by=by))
    tests = ", ".join(f"{keys[id(constant)].name} = {constant.term}" for constant in constants)
    listed = ", ".join(dict.fromkeys(_text(args[column]) for column in window.by))
    yield Diagnostic(
        "W206",
        f"`{_text(formula)}` takes the last facts of `{formula.atom.signature}` for each {listed}, whatever stands "
        f"in the place of `{constants[0].term}`",
        formula.span,
        help=f"to take the last ones with `{constants[0].term}`, count by that place too: `{show(counted)}, {tests}`",
    )


def check_recorded(program: Program) -> Iterator[Diagnostic]:
    """E210, E211, W203 and W205: what is remembered, and what rules expect to be."""
    computed = program.derived | {signature for signature, _ in program.interface.imports}
    kept = program.recorded | program.interface.inputs
    timed = {rule.head.signature for rule in program.rules if rule.time is not None}
    # What follows only from facts of its own predicate has its first ones from a stream.
    founded = {rule.head.signature for rule in program.rules if not _is_recursive(rule)}
    for rule in program.rules:
        if rule.time is not None and rule.head.signature in program.recorded:
            yield Diagnostic(
                "E211",
                f"`{rule.head.signature}` is recorded, so it cannot be derived for another tick than now",
                rule.span,
                help="derive it now, or leave it out of `#record`",
            )
    for formula in _formulas(program):
        signature = formula.atom.signature
        if signature not in computed or signature in kept or formula.stream is not None:
            continue
        if is_past(formula):
            message = f"`before` looks at earlier ticks, but the conclusions of `{signature}` are not recorded"
            yield Diagnostic("E210", message, formula.span, help=f"record them: `#record {signature}.`")
        elif signature in founded - timed and _reaches_back(formula) and _is_written(formula):
            message = f"the window sees `{signature}` at the present tick only, because it is derived and not recorded"
            yield Diagnostic("W203", message, formula.span, help=f"record its conclusions: `#record {signature}.`")


def check_directives(program: Program) -> Iterator[Diagnostic]:
    """W205: `#record` and `#show` name what rules derive."""
    derived = program.derived | {signature for signature, _ in program.interface.imports}
    derived |= {program.equality.representative} if program.equality is not None else set()
    for directive, named in (("record", program.recorded), ("show", program.interface.outputs or ())):
        for signature in sorted(set(named) - derived):
            similar = sorted(predicate for predicate in derived if predicate.name.lower() == signature.name.lower())
            help_ = f"there is `{similar[0]}`" if similar else "write a rule for it, or leave it out"
            yield Diagnostic("W205", f"`#{directive} {signature}.` has no effect: no rule derives it", help=help_)


def _is_written(formula: Formula) -> bool:
    """Whether people wrote it: rules of ontologies are made up, or come from tables about OWL's own predicates."""
    return formula.span is not NOWHERE and not formula.atom.predicate.startswith(("'", "<http://www.w3.org/"))


def _is_recursive(rule: Rule) -> bool:
    return any(formula.atom.signature == rule.head.signature for formula, settled in formulas(rule.body) if not settled)


def _reaches_back(formula: Formula) -> bool:
    """Whether a formula has a window that is more than the present tick."""
    return (
        isinstance(formula, At | InWindow | Always)
        and isinstance(formula.window, TimeWindow)
        and formula.window.size > 0
    )


def check_readings(program: Program) -> Iterator[Diagnostic]:
    """W204: a sum or an average over a window in which equal values of different ticks are one."""
    for rule in program.rules:
        for literal in rule.body:
            if isinstance(literal, Aggregate) and literal.function in ("sum", "avg"):
                yield from _merged_readings(literal)


def _merged_readings(aggregate: Aggregate) -> Iterator[Diagnostic]:
    listed, values = names(*aggregate.terms), names(aggregate.terms[0])
    for formula in aggregate.body:
        if not isinstance(formula, At | InWindow) or not names(formula.atom) & values or _is_latest(formula):
            continue
        if isinstance(formula, At) and (isinstance(formula.time, Constant) or formula.time.name in listed):
            continue
        time = formula.time if isinstance(formula, At) else Variable("T")
        terms = ", ".join(map(_text, (*aggregate.terms, time)))
        text = f"{show(formula.atom)} at {show(time)} in …"
        yield Diagnostic(
            "W204",
            f"`{aggregate.function}` takes equal values of different ticks for one",
            aggregate.span,
            help=f"list the tick as well, as in `{aggregate.function}{{{terms} : {text}}}`",
        )


def _is_latest(formula: At | InWindow) -> bool:
    """Whether a window holds one tick, or one fact for each key."""
    match formula.window:
        case TimeWindow(0) | KeyedWindow(1) | TupleWindow(1):
            return True
    return False


def check_arithmetic(program: Program) -> Iterator[Diagnostic]:
    """E207: `+ - * / mod`, functions such as `abs` and aggregates such as `sum` take numbers."""
    for rule in program.rules:
        words = _words(rule)
        for operand in _operands(rule):
            term = _constant(operand, words)
            if term is not None and number_of(term) is None:
                subject = f"`{term}`" if isinstance(operand, Constant) else f"`{show(operand)}`, which is `{term}`,"
                yield Diagnostic("E207", f"{subject} is not a number", operand.span, help=_number_help(term))


def check_memory(program: Program) -> Iterator[Diagnostic]:
    """W201: a time that nothing bounds asks for every fact since the stream began."""
    derived = program.derived - program.recorded
    for rule in program.rules:
        bounded = {name for formula, settled in formulas(rule.body) if not settled for name in _bounds(formula)}
        for formula, _ in formulas(rule.body):
            match formula:
                case At(atom, Variable(name) as time, None) if name not in bounded and atom.signature not in derived:
                    yield Diagnostic(
                        "W201",
                        f"all facts of `{atom.signature}` must be kept for ever",
                        formula.span,
                        help=f"limit how far back `{_text(time)}` may be, as in `{_text(formula)} in [1 hour]`",
                    )


_NUMERIC_AGGREGATES: Final = ("sum", "avg", "stddev", "median", "quantile")

CHECKS: tuple[Callable[[Program], Iterator[Diagnostic]], ...] = (
    check_arities,
    check_binding,
    check_windows,
    check_keys,
    check_recorded,
    check_directives,
    check_readings,
    check_arithmetic,
    check_memory,
)


def _bounds(formula: Formula) -> frozenset[str]:
    """The time that a formula keeps from lying further back than its window."""
    match formula:
        case At(_, Variable(name), TimeWindow(_, None) | PastWindow()):
            return frozenset((name,))
    return frozenset()


@dataclass(frozen=True, slots=True)
class _Use:
    """A variable without a value, where it is used: in a literal, inside its braces, or in the head."""

    variable: Variable
    literal: Literal | None = None
    inside: bool = False


def bound_names(rule: Rule, body: tuple[Literal, ...], bound: frozenset[str] = frozenset()) -> frozenset[str]:
    """The variables that have values once a body of the rule is satisfied.

    >>> rule = Rule(Atom("a"), (Comparison("=", Variable("Y"), Variable("X")), Now(Atom("p", (Variable("X"),)))))
    >>> sorted(bound_names(rule, rule.body))
    ['X', 'Y']
    """
    while True:
        extended = bound.union(*(_binds(rule, literal, bound) for literal in body))
        if extended == bound:
            return bound
        bound = extended


def _binds(rule: Rule, literal: Literal, bound: frozenset[str]) -> frozenset[str]:
    """The variables that a literal gives values to when some have one."""
    match literal:
        case Comparison("=", left, right):
            return frozenset(to.name for to, value in _ways(left, right) if names(value) <= bound)
        case Not() | Comparison():
            return frozenset()
        case Aggregate(result):
            return frozenset((result.name,)) if global_names(rule, literal) - {result.name} <= bound else frozenset()
    return names(literal)


def _ways(left: Expression, right: Expression) -> Iterator[tuple[Variable, Expression]]:
    """The ways in which `left = right` may set a variable."""
    if isinstance(left, Variable):
        yield left, right
    if isinstance(right, Variable):
        yield right, left


def _unbound(rule: Rule) -> list[_Use]:
    """Where the rule uses variables without values: the first use of each that does not merely wait for another."""
    bound = bound_names(rule, rule.body)
    in_head = (_Use(variable) for variable in variables(rule.head, rule.time) if variable.name not in bound)
    first: dict[str, _Use] = {}
    for use in (*in_head, *_uses(rule, rule.body, bound)):
        first.setdefault(use.variable.name, use)
    causes = first.keys() - _waiting(rule, bound)
    return [use for name, use in first.items() if name in causes or not causes]


def _uses(rule: Rule, body: tuple[Literal, ...], bound: frozenset[str]) -> Iterator[_Use]:
    for literal in body:
        match literal:
            case Not(formula):
                used = (variable for variable in variables(formula) if not is_anonymous(variable.name))
                yield from (_Use(variable, literal) for variable in used if variable.name not in bound)
            case Comparison():
                yield from (_Use(variable, literal) for variable in variables(literal) if variable.name not in bound)
            case Aggregate(result, _, terms, inner):
                groups = global_names(rule, literal) - {result.name} - bound
                yield from (_Use(v, literal) for v in variables(*terms, *inner) if v.name in groups)
                inner_bound = bound_names(rule, inner, bound) | groups
                yield from (_Use(v, literal, inside=True) for v in variables(*terms) if v.name not in inner_bound)
                yield from (_Use(use.variable, literal, inside=True) for use in _uses(rule, inner, inner_bound))


def _waiting(rule: Rule, bound: frozenset[str]) -> set[str]:
    """The variables that would have a value if others had one."""
    waiting = set()
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            waiting.add(literal.result.name)
        elif isinstance(literal, Comparison) and literal.operator == "=":
            waiting |= {to.name for to, value in _ways(literal.left, literal.right) if names(value) - bound - {to.name}}
    return waiting


def _unbound_time(rule: Rule, variable: Variable) -> Diagnostic:
    name = _shown(variable.name)
    atoms = [formula.atom for formula, settled in formulas(rule.body) if not settled]
    example = f"{_text(atoms[0]) if atoms else 'p(X)'} at {name} in [10 sec]"
    message = f"the time `{name}` of the head is not bound"
    return Diagnostic("E202", message, variable.span, help=f"bind it in the body, for example `{example}`")


def _unbound_variable(by_arity: Mapping[int, list[Predicate]], rule: Rule, use: _Use) -> Diagnostic:
    message = f"variable `{_shown(use.variable.name)}` is not bound by a positive atom"
    return Diagnostic("E203", message, use.variable.span, help=_way_out(by_arity, rule, use))


def _way_out(by_arity: Mapping[int, list[Predicate]], rule: Rule, use: _Use) -> str:
    """The help: an example, made from the rule, that would bind the variable."""
    name = use.variable.name
    if is_anonymous(name):
        return "a lone `_` matches any value; use a variable that the body binds"
    if use.literal is None:
        return f"bind it in the body, for example `{_text(rule.head)} :- {_example(by_arity, rule, [name])}, …`"
    if use.inside:
        return f"bind it inside the braces, for example `{{… : {_example(by_arity, rule, [name])}, …}}`"
    here = names(use.literal)
    causes = (cause.variable.name for cause in _unbound(rule) if not cause.inside)
    missing = [cause for cause in causes if cause in here and not is_anonymous(cause)]
    return f"bind it first, for example `{_example(by_arity, rule, missing)}, {_text(use.literal)}`"


def _example(by_arity: Mapping[int, list[Predicate]], rule: Rule, missing: list[str]) -> str:
    """A positive atom for some variables: of a predicate that the program knows, where one fits."""
    tested = {formula.atom.signature for formula, settled in formulas(rule.body) if settled}
    fitting = (signature.name for signature in by_arity.get(len(missing), ()) if signature not in tested)
    return f"{next(fitting, 'known')}({', '.join(missing)})"


def _given(program: Program) -> dict[int, list[Predicate]]:
    """The signatures that a program uses and does not derive, by their number of arguments."""
    derived, by_arity = program.derived, dict[int, list[Predicate]]()
    used = [fact.signature for fact in program.background]
    used += [formula.atom.signature for formula in _formulas(program)]
    for signature in dict.fromkeys(used):
        if signature not in derived and signature[0] != "<":
            by_arity.setdefault(signature.arity, []).append(signature)
    return by_arity


def _operands(rule: Rule) -> Iterator[Expression]:
    """The expressions of a rule that have to be numbers."""
    yield from _within(*rule.head.args, rule.time)
    yield from _calculated(rule.body)


def _calculated(body: tuple[Literal, ...]) -> Iterator[Expression]:
    for literal in body:
        match literal:
            case Comparison(_, left, right):
                yield from _within(left, right)
            case Aggregate(_, function, terms, inner):
                yield from _within(*terms)
                if function in _NUMERIC_AGGREGATES and not isinstance(terms[0], Operation | Call):
                    yield terms[0]
                yield from _calculated(inner)


def _within(*expressions: Expression | None) -> Iterator[Expression]:
    for expression in expressions:
        match expression:
            case Operation(_, left, right):
                yield from _numeric(left, right)
            case Call(function, args) if FUNCTIONS[function].numeric:
                yield from _numeric(*args)
            case Call(_, args):
                yield from _within(*args)


def _numeric(*operands: Expression) -> Iterator[Expression]:
    for operand in operands:
        yield from _within(operand) if isinstance(operand, Operation | Call) else (operand,)


def _words(rule: Rule) -> dict[str, str]:
    """The variables that the rule sets equal to a constant."""
    equal = (
        comparison for comparison in rule.body if isinstance(comparison, Comparison) and comparison.operator == "="
    )
    ways = (way for comparison in equal for way in _ways(comparison.left, comparison.right))
    return {to.name: value.term for to, value in ways if isinstance(value, Constant)}


def _constant(operand: Expression, words: dict[str, str]) -> str | None:
    """The term that an operand visibly stands for."""
    match operand:
        case Constant(term):
            return term
        case Variable(name):
            return words.get(name)
    return None


def _number_help(term: str) -> str:
    if term[0] == '"' and NUMERIC.match(term[1:-1]):
        return f"write `{term[1:-1]}` without quotes for the number"
    return "calculate with numbers only; `=` and `!=` compare anything"


def _atoms(program: Program) -> Iterator[Atom]:
    for rule in program.rules:
        yield rule.head
        yield from (formula.atom for formula, _ in formulas(rule.body))


def _formulas(program: Program) -> Iterator[Formula]:
    return (formula for rule in program.rules for formula, _ in formulas(rule.body))


def _arguments(number: int) -> str:
    return "1 argument" if number == 1 else f"{number} arguments"


def _shown(name: str) -> str:
    return "_" if is_anonymous(name) else name


def _text(node: Atom | Literal | Expression | KeyedWindow) -> str:
    """A node as it was written, on one line."""
    if node.span is NOWHERE:
        return show(node)
    return " ".join(node.span.source.text[node.span.start : node.span.end].split())


def _place(span: Span) -> str:
    line, column = span.source.position(span.start)
    return f"{span.source.name}:{line}:{column}"
