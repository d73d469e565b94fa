"""Answers of clingo in our spelling: many at once are spelled as each of them is."""

from collections.abc import Sequence
from zlib import crc32

import clingo
from hypothesis import given
from hypothesis import strategies as st

from thalweg.diagnostics import Source
from thalweg.kinds.answer_sets.solving import Solving, Spelling
from thalweg.languages.asp.reader import read_program
from thalweg.languages.asp.terms import Names
from thalweg.model.fact import Fact
from thalweg.solvers.clingo import Solved, Task

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NAMES = (Names({"ub": "http://ub#", "rdf": RDF}), Names({"": "http://all#"}), Names())
STRINGS = ("<http://x>", "<http://ub#c>", "a", "a,b", "a(b", ")", "", '"2.5"', "a\nb", "\\<x>", "_:b", "<a b>")

strings = st.sampled_from(STRINGS).map(clingo.String)
constants = st.builds(
    clingo.Function, st.sampled_from(("ub_x", "a", "_z", "q'", "rdf_type")), st.just([]), st.booleans()
)
words = constants | st.integers(-3, 3).map(clingo.Number) | st.sampled_from((clingo.Infimum, clingo.Supremum))
nested = st.recursive(
    strings | words,
    lambda inner: st.builds(clingo.Function, st.sampled_from(("f", "", "ub_f")), st.lists(inner, max_size=2)),
    max_leaves=3,
)
plain = st.builds(
    clingo.Function, st.sampled_from(("p", "ub_p", "_q")), st.lists(strings | words, max_size=3), st.booleans()
)
any_atom = st.builds(
    clingo.Function, st.sampled_from(("p", "ub_p", "rdf_type")), st.lists(nested, max_size=3), st.booleans()
)


@given(
    names=st.sampled_from(NAMES),
    shown=st.lists(plain | strings, max_size=6) | st.lists(plain | any_atom | nested, max_size=6),
)
def test_many_are_spelled_as_each_of_them(names: Names, shown: list[clingo.Symbol]) -> None:
    spelled, atoms = Spelling(names), list(map(str, shown))
    assert spelled.all(atoms) == [spelled(atom) for atom in atoms]


def test_types_are_classes() -> None:
    spelled = Spelling(NAMES[0])
    assert spelled.all(['rdf_type("<http://x>",ub_c)', '-rdf_type("<http://x>",ub_c)', "rdf_type(a)"]) == [
        "<http://ub#c>(<http://x>)",
        "-<http://ub#c>(<http://x>)",
        f"<{RDF}type>(a)",
    ]


class Slow:
    """Has found some answer sets when the time is up, and remembers what it was asked."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def solve(self, tasks: Sequence[Task]) -> list[Solved]:
        self.tasks += tasks
        return [Solved((("a",), ("b",), ("c",)), complete=False) for _ in tasks]

    def close(self) -> None:
        pass


def test_all_that_was_found_in_time_is_told() -> None:
    program, _ = read_program(Source("x.lp", "{a; b; c}. :- #count{1 : a; 2 : b; 3 : c} != 1."))
    answered = Solving(program, Slow(), "all", limit=0.01).answer(0, 0)
    assert (answered.sets, answered.complete) == ((("a",), ("b",), ("c",)), False)
    assert [share.answers for share in answered.shares] == [3]


def test_facts_of_one_cell_are_spread_again() -> None:
    program, _ = read_program(Source("x.lp", "a(X) :- p(X), not q(X)."))
    cell = [Fact("p", (f"x{number}",)) for number in range(400) if crc32(f"x{number}".encode()) % 4 == 1]
    pool = Slow()
    Solving(program, pool, background=cell, buckets=4, spread_from=0).answer(0, 0)
    assert [task.facts.count("p(") > len(cell) / 8 for task in pool.tasks] == [True] * 4
