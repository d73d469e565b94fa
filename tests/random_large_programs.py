"""Random programs that are larger than those of `thalweg.testing`: wide heads, long bodies, many rules and indexes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from hypothesis import strategies as st

from thalweg.ir.nodes import (
    Aggregate,
    Always,
    Atom,
    Comparison,
    Constant,
    Expression,
    Formula,
    InWindow,
    Literal,
    Not,
    Now,
    Program,
    Rule,
    TimeWindow,
    TupleWindow,
    Variable,
    Window,
)
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.testing.strategies import Scenario

Value = TypeVar("Value")
WIDTHS: Final = (9, 20, 34, 60, 130)
LENGTHS: Final = (12, 30, 66, 100)
MANY: Final = (10, 40, 80)


@dataclass(slots=True)
class Large:
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
            yield Rule(
                Atom(f"many{number}_{each}", (Variable("X"),)), (InWindow(atom, self.window(Predicate("p", 1))),)
            )

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
    large = Large(draw, draw(st.sampled_from(WIDTHS)))
    shapes = draw(st.lists(st.sampled_from(("wide", "long", "many", "indexes", "grouped")), min_size=1, max_size=3))
    rules = [rule for number, shape in enumerate(shapes) for rule in getattr(large, shape)(number)]
    events, tick = list[Event](), 0
    for _ in range(draw(st.integers(1, 5))):
        events.append(Event(tick, tuple(large.fact() for _ in range(draw(st.integers(1, 4))))))
        tick += draw(st.sampled_from((1, 1, 2, 5)))
    return Scenario(Program(tuple(rules)), tuple(events), 0, tick + draw(st.integers(0, 6)))
