"""Hypothesis strategies for random programs and the streams to run them on.

Programs are safe and stratified by construction. Predicates live in layers: the lowest layer is input only; a rule of
a layer may use its own layer and those below in its positive part, and only those below under `not` and in aggregates.
Values come from a handful of terms so that joins meet. Arithmetic never feeds a recursive head's arguments, because
`p(X+1) :- p(X).` has no end; it may feed a head's *time*, because the timeline has one. `before` may use every
predicate that is streamed or recorded, of whatever layer: it looks at what is settled.

Some constructs are drawn on request only: with `remembering` those of the past (`#record`, `before`), with `values`
what programs do with the values of terms (functions, conditions, other aggregates, the order of texts, numbers with
datatypes).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final, TypeVar

from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

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
    Window,
    names,
)
from thalweg.ir.text import show
from thalweg.model import functions
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.planning.check_future import check_future

TERMS: Final = ("1", "1", "a", "2", "1.0", "a", "2.0", "0.5", '"a b"')
VALUES: Final = (
    *TERMS,
    "b",
    '"1.5"^^<http://www.w3.org/2001/XMLSchema#double>',
    '"1"^^<http://www.w3.org/2001/XMLSchema#float>',
    '"NaN"^^<http://www.w3.org/2001/XMLSchema#double>',
    '"1970-01-01"^^<http://www.w3.org/2001/XMLSchema#date>',
    '"1970-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>',
)
KINDS: Final = ("literal", "resource", "integer", "non_integer")
NUMBERS: Final = ("1", "2", "0.5", "3", "0")
TICKS: Final = ("0", "2", "4", "6", "9", "12")
STREAMS: Final = (None, None, None, "s", "r")
_P, _E = Predicate("p", 1), Predicate("e", 2)
_A, _C = Predicate("a", 1), Predicate("c", 1)
INPUTS: Final = (_P, _E, Predicate("k", 0))
LAYERS: Final = ((_A, Predicate("b", 2)), (_C, Predicate("d", 2)), (Predicate("f", 1), Predicate("g", 0)))
VARIABLES: Final = ("X", "Y", "Z")
TIMES: Final = ("T", "U")
FUNCTIONS: Final = ("count", "sum", "min", "max", "avg")
MORE_FUNCTIONS: Final = (*FUNCTIONS, "stddev", "median", "quantile")
CALLS: Final = (
    "abs", "floor", "ceil", "round", "sqrt", "number", "text", "length", "lower", "upper",
    "hour", "minute", "weekday", "date", "iso", "min", "max", "concat", "round",
)  # fmt: skip
CALLS_OF_TWO: Final = frozenset({"min", "max", "concat"})
CONDITIONS: Final = ("starts_with", "ends_with", "contains", "matches")

Value = TypeVar("Value")


@cache
def _below(limit: int) -> st.SearchStrategy[int]:
    """Numbers, drawn from one strategy: to make one for each draw takes longer than to draw from it."""
    return st.integers(0, limit - 1)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A program and a stream for it; prints as the page that a person would write down to look into a failure."""

    program: Program
    events: tuple[Event, ...]
    first: int
    last: int

    def __repr__(self) -> str:
        lines = [f"    {line}" for line in show(self.program).splitlines()]
        for event in self.events:
            stream = "" if event.stream is None else f" from {event.stream}"
            lines.append(f"| {event.tick} | {', '.join(f'{fact}{stream}' for fact in event.facts)} |")
        return "\n".join(["", *lines, f"| {self.first} to {self.last} |"])

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        """Hypothesis prints a dataclass field by field unless it is asked not to."""
        printer.text(repr(self))


@dataclass(slots=True)
class _Writer:
    """Writes one rule: knows what the rule may use, and which variables are bound so far."""

    draw: st.DrawFn
    level: int
    derived: dict[Predicate, int]
    tuples: bool
    recorded: frozenset[Predicate] = frozenset()
    remembering: bool = False
    values: bool = False
    bound: list[str] = field(default_factory=list)
    fresh: int = 0
    recursive: bool = False
    computed: set[str] = field(default_factory=set)
    shifted: list[str] = field(default_factory=list)

    def pick(self, options: Sequence[Value]) -> Value:
        return options[self.draw(_below(len(options)))]

    def chance(self, percent: int) -> bool:
        return self.draw(_below(100)) < percent

    def name(self, kind: str) -> str:
        """A name that occurs nowhere else in the rule."""
        self.fresh += 1
        return f"{kind}{self.fresh}"

    def signature(self, below: int) -> Predicate:
        """A predicate of a layer up to `below`."""
        options = dict.fromkeys(INPUTS, -1) | self.derived
        usable = [predicate for predicate, level in options.items() if level <= below]
        signature = self.pick([*usable, _P, _E]) if {_P, _E} <= set(usable) else self.pick(usable)
        self.recursive |= self.derived.get(signature, -1) == self.level
        return signature

    @property
    def terms(self) -> Sequence[str]:
        return VALUES if self.values else TERMS

    def past(self, argument: Callable[[], Expression], time: Callable[[], Variable | Constant]) -> Formula:
        """`before`, over any predicate that is streamed or recorded."""
        kept = [
            predicate
            for predicate in (*INPUTS, *self.derived)
            if predicate not in self.derived or predicate in self.recorded
        ]
        signature = self.pick(kept)
        atom = Atom(signature.name, tuple(argument() for _ in range(signature.arity)))
        window, stream = PastWindow(self.pick((1, 1, 2, 3, 5))), self.pick(STREAMS) if self.chance(10) else None
        return At(atom, time(), window, stream) if self.chance(30) else InWindow(atom, window, stream)

    def keyed(self, atom: Atom) -> KeyedWindow | None:
        """A window by some of the variables of an atom."""
        keys = sorted(name for name in names(atom) if not name.startswith("_"))
        if not keys:
            return None
        chosen = self.draw(st.lists(st.sampled_from(keys), min_size=1, max_size=2, unique=True))
        columns = (number for number, arg in enumerate(atom.args) if isinstance(arg, Variable) and arg.name in chosen)
        return KeyedWindow(self.pick((1, 1, 2, 3)), tuple(columns))

    def window(self, signature: Predicate, longest: int = 6) -> Window:
        kind = self.pick(("time", "time", "hop", "tuples", "own tuples"))
        if kind == "hop":
            return TimeWindow(self.pick(range(longest)), self.pick((1, 2, 3, 5)))
        if kind != "time" and self.tuples and signature not in self.derived:
            return TupleWindow(self.pick((1, 2, 3, 5)), signature if kind == "own tuples" else None)
        return TimeWindow(self.pick(range(longest + 1)))

    def formula(
        self, below: int, argument: Callable[[], Expression], time: Callable[[], Variable | Constant]
    ) -> Formula:
        """Any formula over a predicate of a layer up to `below`, its arguments chosen by the caller."""
        if self.remembering and self.chance(25):
            return self.past(argument, time)
        signature = self.signature(below)
        atom = Atom(signature.name, tuple(argument() for _ in range(signature.arity)))
        stream = self.pick(STREAMS) if self.chance(25) else None
        if self.tuples and signature not in self.derived and self.chance(15):
            window = self.keyed(atom)
            if window is not None:
                return At(atom, time(), window, stream) if self.chance(30) else InWindow(atom, window, stream)
        match self.pick(("now", "in", "in", "in", "always", "always", "at", "at in", "at in")):
            case "now":
                return Now(atom, stream)
            case "in":
                return InWindow(atom, self.window(signature), stream)
            case "always":
                return Always(atom, self.window(signature, longest=3), stream)
            case "at":
                return At(atom, time(), None, stream)
        return At(atom, time(), self.window(signature), stream)

    def positive(self) -> Formula:
        """A formula that binds its variables."""
        return self.formula(
            self.level,
            lambda: self.term(lambda: self.bind(self.pick((*VARIABLES, *VARIABLES, "T")))),
            lambda: self.tick(lambda: self.bind(self.pick((*TIMES, *TIMES, "X")))),
        )

    def bind(self, name: str) -> Variable:
        if name not in self.bound:
            self.bound.append(name)
        return Variable(name)

    def term(self, variable: Callable[[], Variable]) -> Expression:
        kind = self.pick(("variable",) * 9 + ("constant", "any"))
        if kind == "constant":
            return Constant(self.pick(self.terms))
        return Variable(self.name("_'")) if kind == "any" else variable()

    def tick(self, variable: Callable[[], Variable]) -> Variable | Constant:
        kind = self.pick(("variable",) * 7 + ("constant", "any"))
        if kind == "constant":
            return Constant(self.pick(TICKS))
        return Variable(self.name("_'")) if kind == "any" else variable()

    def known(self, constants: Sequence[str] = TERMS) -> Variable | Constant:
        """A bound variable, or a constant where nothing is bound."""
        return Variable(self.pick(self.bound)) if self.bound else Constant(self.pick(constants))

    def negated(self) -> Not:
        return Not(
            self.formula(
                self.level - 1,
                lambda: Variable(self.name("_'")) if self.chance(20) else self.known(),
                lambda: Variable(self.name("_'")) if self.chance(20) else self.known(TICKS),
            )
        )

    def called(self) -> Call:
        function = self.pick(CALLS)
        constants = NUMBERS if functions.FUNCTIONS[function].numeric else self.terms
        args = [self.known(constants)]
        if function in CALLS_OF_TWO:
            args.append(self.known(constants))
        elif function == "round" and self.chance(60):
            args.append(Constant(self.pick(("0", "1", "-1"))))
        return Call(function, tuple(args))

    def expression(self) -> Expression:
        if self.values and self.chance(35):
            return self.called()
        left = self.known(NUMBERS)
        if self.chance(40):
            return left
        right = self.known(NUMBERS) if self.chance(30) else Constant(self.pick(NUMBERS))
        return Operation(self.pick(("+", "+", "-", "-", "*", "/", "mod")), left, right)

    def test(self) -> Comparison:
        if self.values and self.chance(30):
            operator = self.pick(("", "not ")) + self.pick(CONDITIONS)
            return Comparison(
                operator, self.known(self.terms), Constant(self.pick(("a", '"a$"', '"[0-9]"', '"(a|b)"')))
            )
        if self.chance(25):
            return Comparison("=", self.known(NUMBERS), self.known(NUMBERS))
        if self.chance(20):
            return Comparison("is", self.known(NUMBERS), Constant(self.pick(KINDS)))
        right = Constant(self.pick(NUMBERS)) if self.chance(60) else self.expression()
        # The engine knows no order of texts, so that one side must be a number.
        ordered = () if isinstance(right, Variable) and not self.values else ("<", ">=", "<=", ">")
        return Comparison(self.pick(("!=", "=", "!==", *ordered)), self.expression(), right)

    def assignment(self) -> Comparison:
        """Binds a new variable to a computed value."""
        value, result = self.expression(), Variable(self.name("V"))
        self.bound.append(result.name)
        self.computed.add(result.name)
        sides = (result, value) if self.chance(70) else (value, result)
        return Comparison("=", *sides)

    def aggregate(self) -> Aggregate:
        """Groups by what is bound; what is counted has names of its own."""
        local = [self.name("L"), self.name("L")]
        outer = list(self.bound)

        def argument() -> Expression:
            choices = [*local, *local, *outer[:2]]
            return Constant(self.pick(self.terms)) if self.chance(10) else Variable(self.pick(choices))

        def time() -> Variable | Constant:
            return Variable(self.pick([local[0], local[1], *outer]))

        formulas = [self.formula(self.level - 1, argument, time) for _ in range(self.pick((1, 1, 2)))]
        inside = sorted(names(*formulas))
        body: list[Literal] = [*formulas]
        if inside and self.chance(25):
            operator = self.pick(("<", "!=", ">="))
            bound = Constant(self.pick(NUMBERS if operator != "!=" and not self.values else self.terms))
            body.append(Comparison(operator, Variable(self.pick(inside)), bound))
        terms = [Variable(self.pick(inside)) if inside else Constant("1") for _ in range(self.pick((1, 1, 2)))]
        result = Variable(self.name("N"))
        self.bound.append(result.name)
        function = self.pick(MORE_FUNCTIONS if self.values else FUNCTIONS)
        share = self.pick(("0", "0.25", "0.95", "1")) if function == "quantile" else None
        return Aggregate(result, function, tuple(terms), tuple(body), share)

    def head_argument(self) -> Expression:
        free = [name for name in self.bound if not (self.recursive and name in self.computed)]
        if not free or self.chance(10):
            return Constant(self.pick(self.terms))
        variable = Variable(self.pick(free))
        if not self.recursive and self.chance(12):
            return Operation(self.pick(("+", "-", "*")), variable, Constant(self.pick(("1", "0.5"))))
        return variable

    def head_time(self) -> Expression | None:
        times = [name for name in self.bound if name in TIMES or name in self.shifted]
        return Variable(self.pick([*times, *self.shifted])) if times and self.chance(60) else None

    def shift(self) -> Literal:
        """A tick shortly before or after one that is bound: the time of a head in the past or the future."""
        result, time = Variable(self.name("V")), Variable(self.pick([name for name in self.bound if name in TIMES]))
        self.bound.append(result.name)
        self.computed.add(result.name)
        self.shifted.append(result.name)
        distance = Constant(self.pick(("1", "2", "3")))
        return Comparison("=", result, Operation(self.pick(("+", "-", "-")), time, distance))

    def body(self) -> list[Literal]:
        literals: list[Literal] = [self.positive() for _ in range(self.pick((0, 1, 1, 1, 1, 2, 2, 2, 3)))]
        if any(name in TIMES for name in self.bound) and self.chance(30):
            literals.append(self.shift())
        if self.chance(15):
            literals.append(self.assignment())
        if self.chance(25):
            literals.append(self.aggregate())
        if self.chance(20):
            literals.append(self.test())
        literals += [self.negated() for _ in range(self.pick((0, 0, 0, 1, 1, 2)))]
        return literals or [self.positive()]

    def rule(self, signature: Predicate) -> Rule:
        body = self.body()
        if self.chance(30):
            body = self.draw(st.permutations(body))
        args = tuple(self.head_argument() for _ in range(signature.arity))
        time = None if signature in self.recorded else self.head_time()
        rule = Rule(Atom(signature.name, args), tuple(body), time)
        # A head that always lies in the future is rejected; one that may is a program.
        return replace(rule, time=None) if check_future(Program((rule,))) else rule


@st.composite
def programs(
    draw: st.DrawFn, max_rules: int = 6, tuples: bool = True, remembering: bool = False, values: bool = False
) -> Program:
    """A safe, stratified program over a small signature; `tuples=False` leaves tuple windows out, also those by key."""
    heads = [(signature, level) for level, layer in enumerate(LAYERS) for signature in layer]
    # An input predicate that is derived as well takes a layer like any other head.
    heads += [(_P, draw(st.integers(0, 1))), (_E, draw(st.integers(0, 1)))]
    chosen = draw(st.lists(st.sampled_from(heads), min_size=1, max_size=max_rules))
    derived = dict(chosen)
    kept = draw(st.sets(st.sampled_from(sorted(derived)))) if remembering else ()
    recorded = frozenset(kept)
    rules = [
        _Writer(draw, level, derived, tuples, recorded, remembering, values).rule(signature)
        for signature, level in chosen
    ]
    terms = VALUES if values else TERMS
    background = draw(st.lists(facts((*INPUTS, _A, _C), terms), max_size=2, unique=True))
    return Program(tuple(rules), tuple(background) if draw(st.booleans()) else (), recorded=recorded)


@st.composite
def facts(
    draw: st.DrawFn,
    signatures: Sequence[Predicate] = (*INPUTS, *INPUTS, _A, _C),
    terms: Sequence[str] = TERMS,
) -> Fact:
    """A fact over the small signature."""
    signature = draw(st.sampled_from(signatures))
    arity = signature.arity
    return Fact(signature.name, tuple(draw(st.lists(st.sampled_from(terms), min_size=arity, max_size=arity))))


@st.composite
def streams(
    draw: st.DrawFn, max_events: int = 10, max_facts: int = 3, terms: Sequence[str] = TERMS
) -> tuple[Event, ...]:
    """Events in order of time, with pauses, mostly short."""
    pauses = st.sampled_from((0, 1, 1, 1, 0, 1, 1, 2, 3, 1, 1, 7, 20))
    tick, events = draw(st.integers(0, 3)), list[Event]()
    # Facts that come again and again are what `always` is about.
    steady = draw(st.lists(facts(terms=terms), max_size=2))
    for _ in range(draw(st.one_of(st.integers(4, max_events), st.integers(0, max_events)))):
        arriving = draw(st.lists(facts(terms=terms), min_size=1, max_size=max_facts))
        arriving += steady if draw(st.booleans()) else []
        events.append(Event(tick, tuple(arriving), draw(st.sampled_from(STREAMS))))
        tick += draw(pauses)
    return tuple(events)


@st.composite
def scenarios(draw: st.DrawFn, tuples: bool = True, remembering: bool = False, values: bool = False) -> Scenario:
    """A program, a stream for it, and the ticks to answer for: from the first event or before, to after the last."""
    events = draw(streams(terms=VALUES if values else TERMS))
    first = max(0, (events[0].tick if events else 3) - draw(st.integers(0, 3)))
    last = max(first, events[-1].tick if events else 0) + draw(st.integers(0, 8))
    program = draw(programs(tuples=tuples, remembering=remembering, values=values))
    return Scenario(program, events, first, last)


def remembering_scenarios(tuples: bool = True) -> st.SearchStrategy[Scenario]:
    """Programs that record conclusions and look at what was before."""
    return scenarios(tuples, remembering=True)
