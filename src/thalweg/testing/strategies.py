"""Hypothesis strategies for random programs and the streams to run them on.

Programs are safe and stratified by construction. Predicates live in layers: the lowest layer is input only; a rule of
a layer may use its own layer and those below in its positive part, and only those below under `not` and in aggregates.
Values come from a handful of terms so that joins meet. Arithmetic never feeds a recursive head's arguments, because
`p(X+1) :- p(X).` has no end; it may feed a head's *time*, because the timeline has one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Atom,
    Comparison,
    Constant,
    Expression,
    Formula,
    InWindow,
    Literal,
    Not,
    Now,
    Operation,
    Program,
    Rule,
    TimeWindow,
    TupleWindow,
    Variable,
    Window,
    names,
)
from thalweg.ir.text import show
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

TERMS: Final = ("1", "1", "a", "2", "1.0", "a", "2.0", "0.5", '"a"')
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

Value = TypeVar("Value")


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
    bound: list[str] = field(default_factory=list)
    fresh: int = 0
    recursive: bool = False
    computed: set[str] = field(default_factory=set)
    shifted: list[str] = field(default_factory=list)

    def pick(self, options: Sequence[Value]) -> Value:
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) < percent

    def name(self, kind: str) -> str:
        """A name that occurs nowhere else in the rule."""
        self.fresh += 1
        return f"{kind}{self.fresh}"

    def signature(self, below: int) -> Predicate:
        """A predicate of a layer up to `below`."""
        options = dict.fromkeys(INPUTS, -1) | self.derived
        usable = [found for found, level in options.items() if level <= below]
        signature = self.pick([*usable, _P, _E]) if {_P, _E} <= set(usable) else self.pick(usable)
        self.recursive |= self.derived.get(signature, -1) == self.level
        return signature

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
        signature = self.signature(below)
        atom = Atom(signature.name, tuple(argument() for _ in range(signature.arity)))
        stream = self.pick(STREAMS) if self.chance(25) else None
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
            return Constant(self.pick(TERMS))
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

    def expression(self) -> Expression:
        left = self.known(NUMBERS)
        if self.chance(40):
            return left
        right = self.known(NUMBERS) if self.chance(30) else Constant(self.pick(NUMBERS))
        return Operation(self.pick(("+", "+", "-", "-", "*", "/", "mod")), left, right)

    def test(self) -> Comparison:
        if self.chance(25):
            return Comparison("=", self.known(NUMBERS), self.known(NUMBERS))
        if self.chance(20):
            return Comparison("is", self.known(NUMBERS), Constant(self.pick(KINDS)))
        right = Constant(self.pick(NUMBERS)) if self.chance(60) else self.expression()
        return Comparison(self.pick(("<", ">=", "!=", "<=", ">", "=", "!==")), self.expression(), right)

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
            return Constant(self.pick(TERMS)) if self.chance(10) else Variable(self.pick(choices))

        def time() -> Variable | Constant:
            return Variable(self.pick([local[0], local[1], *outer]))

        formulas = [self.formula(self.level - 1, argument, time) for _ in range(self.pick((1, 1, 2)))]
        inside = sorted(names(*formulas))
        body: list[Literal] = [*formulas]
        if inside and self.chance(25):
            operator, bound = self.pick(("<", "!=", ">=")), Constant(self.pick(TERMS))
            body.append(Comparison(operator, Variable(self.pick(inside)), bound))
        terms = [Variable(self.pick(inside)) if inside else Constant("1") for _ in range(self.pick((1, 1, 2)))]
        result = Variable(self.name("N"))
        self.bound.append(result.name)
        return Aggregate(result, self.pick(FUNCTIONS), tuple(terms), tuple(body))

    def head_argument(self) -> Expression:
        free = [name for name in self.bound if not (self.recursive and name in self.computed)]
        if not free or self.chance(10):
            return Constant(self.pick(TERMS))
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
        return Rule(Atom(signature.name, args), tuple(body), self.head_time())


@st.composite
def programs(draw: st.DrawFn, max_rules: int = 6, tuples: bool = True) -> Program:
    """A safe, stratified program over a small signature; `tuples=False` leaves tuple windows out."""
    heads = [(signature, level) for level, layer in enumerate(LAYERS) for signature in layer]
    # An input predicate that is derived as well takes a layer like any other head.
    heads += [(_P, draw(st.integers(0, 1))), (_E, draw(st.integers(0, 1)))]
    chosen = draw(st.lists(st.sampled_from(heads), min_size=1, max_size=max_rules))
    derived = dict(chosen)
    rules = [_Writer(draw, level, derived, tuples).rule(signature) for signature, level in chosen]
    background = draw(st.lists(facts((*INPUTS, _A, _C)), max_size=2, unique=True))
    return Program(tuple(rules), tuple(background) if draw(st.booleans()) else ())


@st.composite
def facts(draw: st.DrawFn, signatures: Sequence[Predicate] = (*INPUTS, *INPUTS, _A, _C)) -> Fact:
    """A fact over the small signature."""
    signature = draw(st.sampled_from(signatures))
    arity = signature.arity
    return Fact(signature.name, tuple(draw(st.lists(st.sampled_from(TERMS), min_size=arity, max_size=arity))))


@st.composite
def streams(draw: st.DrawFn, max_events: int = 10, max_facts: int = 3) -> tuple[Event, ...]:
    """Events in order of time, with pauses, mostly short."""
    pauses = st.sampled_from((0, 1, 1, 1, 0, 1, 1, 2, 3, 1, 1, 7, 20))
    tick, events = draw(st.integers(0, 3)), list[Event]()
    # Facts that come again and again are what `always` is about.
    steady = draw(st.lists(facts(), max_size=2))
    for _ in range(draw(st.one_of(st.integers(4, max_events), st.integers(0, max_events)))):
        arriving = draw(st.lists(facts(), min_size=1, max_size=max_facts))
        arriving += steady if draw(st.booleans()) else []
        events.append(Event(tick, tuple(arriving), draw(st.sampled_from(STREAMS))))
        tick += draw(pauses)
    return tuple(events)


@st.composite
def scenarios(draw: st.DrawFn, tuples: bool = True) -> Scenario:
    """A program, a stream for it, and the ticks to answer for: from the first event or before, to after the last."""
    events = draw(streams())
    first = max(0, (events[0].tick if events else 3) - draw(st.integers(0, 3)))
    last = max(first, events[-1].tick if events else 0) + draw(st.integers(0, 8))
    return Scenario(draw(programs(tuples=tuples)), events, first, last)


# Large programs -------------------------------------------------------------------------------------------------------

WIDTHS: Final = (9, 20, 34, 60, 130)
LENGTHS: Final = (12, 30, 66, 100)
MANY: Final = (10, 40, 80)


@dataclass(slots=True)
class _Large:
    """Writes rules of the shapes that `programs` does not reach, over `w/N`, `e/2` and `p/1`."""

    draw: st.DrawFn
    width: int

    def pick(self, options: Sequence[Value]) -> Value:
        return self.draw(st.sampled_from(options))

    def window(self, signature: Predicate) -> Window:
        if self.pick((True, False, False)):
            return TupleWindow(self.pick(range(1, 9)), self.pick((None, signature)))
        return TimeWindow(self.pick(range(9)), self.pick((None, None, 2, 3)))

    def formula(self, atom: Atom) -> Formula:
        window = self.window(atom.signature)
        kinds: tuple[Formula, ...] = (
            Now(atom),
            InWindow(atom, window),
            InWindow(atom, TimeWindow(self.pick((3, 30)))),
            Always(atom, window),
        )
        return self.draw(st.sampled_from(kinds))

    def columns(self, known: Sequence[int], letter: str = "X") -> tuple[Expression, ...]:
        """Variables, the same for known columns in all atoms of a rule."""
        return tuple(Variable(f"K{number}" if number in known else f"{letter}{number}") for number in range(self.width))

    def known(self) -> list[int]:
        return self.draw(st.lists(st.integers(0, self.width - 1), min_size=1, max_size=6, unique=True))

    def wide(self, number: int) -> Iterator[Rule]:
        """A wide head: the columns of a wide atom, in another order, or those of two."""
        columns = self.columns(())
        head = Atom(f"wide{number}", tuple(self.draw(st.permutations(columns))))
        yield Rule(head, (self.formula(Atom("w", columns)),))
        yield Rule(
            Atom(f"old{number}", columns), (InWindow(Atom("w", columns), TimeWindow(4)), Not(Now(Atom("w", columns))))
        )

    def long(self, number: int) -> Iterator[Rule]:
        """A long body: a path with an atom, and now and then a test or something absent, for each step."""
        body: list[Literal] = []
        for step in range(self.pick(LENGTHS)):
            near, far = Variable(f"X{step}"), Variable(f"X{step + 1}")
            body.append(self.formula(Atom("e", (near, far))))
            if self.pick((True, *(False,) * 9)):
                body.append(Not(self.formula(Atom("e", (far, near)))))
            if self.pick((True, *(False,) * 9)):
                body.append(Comparison("!=", far, Constant("2")))
        yield Rule(Atom(f"path{number}", (Variable("X0"), far)), tuple(body))

    def many(self, number: int) -> Iterator[Rule]:
        """Many rules over one predicate, each with a window of its own."""
        for each in range(self.pick(MANY)):
            atom = Atom("p", (Variable("X"),))
            yield Rule(Atom(f"many{number}_{each}", (Variable("X"),)), (InWindow(atom, self.window(_P)),))

    def indexes(self, number: int) -> Iterator[Rule]:
        """Many ways to look up the same rows."""
        for each in range(self.pick(MANY)):
            known = self.known()
            body = (Now(Atom("w", self.columns(known, "Y"))), InWindow(Atom("w", self.columns(known)), TimeWindow(3)))
            yield Rule(Atom(f"same{number}_{each}", tuple(Variable(f"K{column}") for column in known)), body)

    def grouped(self, number: int) -> Iterator[Rule]:
        """An aggregate with many groups and terms."""
        known = self.known()
        inside = self.columns(known, "L")
        count = Aggregate(Variable("N"), "count", inside, (InWindow(Atom("w", inside), TimeWindow(5)),))
        keys = tuple(inside[column] for column in known)
        shown = InWindow(Atom("w", self.columns(known)), TimeWindow(2))
        yield Rule(Atom(f"sum{number}", (*keys, Variable("N"))), (shown, count))

    def wide_fact(self) -> Fact:
        """All columns but a few are the same, so that rows differ here and there."""
        changed = self.draw(st.dictionaries(st.integers(0, self.width - 1), st.sampled_from(("1", "2")), max_size=2))
        return Fact("w", tuple(changed.get(column, "a") for column in range(self.width)))

    def fact(self) -> Fact:
        term = st.sampled_from(("1", "2", "a"))
        match self.pick("wepp"):
            case "w":
                return self.wide_fact()
            case "e":
                return Fact("e", (self.draw(term), self.draw(term)))
        return Fact("p", (self.draw(term),))


@st.composite
def large_scenarios(draw: st.DrawFn) -> Scenario:
    """Wide heads, long bodies, many variables, rules, windows and indexes, over a short stream."""
    large = _Large(draw, draw(st.sampled_from(WIDTHS)))
    shapes = draw(st.lists(st.sampled_from(("wide", "long", "many", "indexes", "grouped")), min_size=1, max_size=3))
    rules = [rule for number, shape in enumerate(shapes) for rule in getattr(large, shape)(number)]
    events, tick = list[Event](), 0
    for _ in range(draw(st.integers(1, 5))):
        events.append(Event(tick, tuple(large.fact() for _ in range(draw(st.integers(1, 4))))))
        tick += draw(st.sampled_from((1, 1, 2, 5)))
    return Scenario(Program(tuple(rules)), tuple(events), 0, tick + draw(st.integers(0, 6)))
