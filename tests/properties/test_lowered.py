"""A program that is evaluated incrementally has the answers that clingo gives window by window."""

from dataclasses import dataclass

import clingo
from hypothesis import assume, example, given
from hypothesis import strategies as st

from thalweg.diagnostics import Source
from thalweg.engine import Engine
from thalweg.ir.semantics import output
from thalweg.languages import asp
from thalweg.languages.asp.lower import INCONSISTENT
from thalweg.model.fact import Fact
from thalweg.solvers.clingo import parse

INPUTS = {"p": 1, "q": 1, "e": 2}
DERIVED = {"a": 1, "b": 1, "c": 2, "d": 2}
VARIABLES = ("X", "Y", "Z")
TERMS = ("1", "2", "-3", "x", '"1"', "2.0", "<i>", "3000000000")
WINDOW, LAST = 3, 6


@dataclass(frozen=True)
class Case:
    """A program, and facts with their ticks."""

    program: str
    facts: tuple[tuple[int, Fact], ...]


@st.composite
def atoms(draw: st.DrawFn, names: dict[str, int], terms: tuple[str, ...]) -> str:
    name = draw(st.sampled_from(sorted(names)))
    return f"{name}({','.join(draw(st.sampled_from(terms)) for _ in range(names[name]))})"


@st.composite
def expressions(draw: st.DrawFn, bound: tuple[str, ...]) -> str:
    terms = (*bound, "1", "2", "x", "n", '"1"')
    if draw(st.booleans()):
        return draw(st.sampled_from(terms))
    return f"{draw(st.sampled_from(terms[:-3]))} {draw(st.sampled_from('+-*'))} {draw(st.sampled_from(terms[:-3]))}"


@st.composite
def rules(draw: st.DrawFn) -> str:
    head = draw(st.sampled_from(sorted(DERIVED)))
    names = INPUTS | {name: arity for name, arity in DERIVED.items() if name <= head}
    below = INPUTS | {name: arity for name, arity in DERIVED.items() if name < head}
    body = draw(st.lists(atoms(names, (*VARIABLES, *VARIABLES, "1", "_", '"<i>"')), min_size=1, max_size=2))
    bound = tuple(name for name in VARIABLES if name in "".join(body))
    # Who counts on from what was counted never comes to an end.
    counts = not any(atom.startswith(head) for atom in body)
    for kind in draw(st.lists(st.sampled_from(("not", "compare", "compare", "count", "sum", "bind")), max_size=2)):
        if kind == "not":
            body.append(f"not {draw(atoms(below, (*bound, '1', '_')))}")
        elif kind == "compare":
            operator = draw(st.sampled_from(("<", "<=", ">", ">=", "!=", "=")))
            body.append(f"{draw(expressions(bound))} {operator} {draw(expressions(bound))}")
        elif kind == "bind" and counts:
            body.append(f"W = {draw(expressions(bound))}")
            bound = (*bound, "W")
        elif kind in ("count", "sum"):
            inner = draw(st.sampled_from(("e(V,_)", "e(V,U), p(U)", "p(V), not q(V)", *(f"e({x},V)" for x in bound))))
            body.append(
                f"#{kind}{{ V : {inner} }} {draw(st.sampled_from(('>', '=', '<=')))} {draw(st.sampled_from('12'))}"
            )
    if draw(st.integers(0, 9)) == 0:
        return f":- {', '.join(body)}."
    args = [draw(expressions(bound) if counts else st.sampled_from((*bound, "1"))) for _ in range(DERIVED[head])]
    return f"{head}({','.join(args)}) :- {', '.join(body)}."


facts_at = st.tuples(
    st.integers(0, LAST),
    st.sampled_from(sorted(INPUTS.items())).flatmap(
        lambda one: st.tuples(*[st.sampled_from(TERMS)] * one[1]).map(lambda args: Fact(one[0], args))
    ),
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Inputs may be derived, too; some of what is derived is a fact from the start."""
    said = draw(st.sampled_from(("", "", "p(1..2). ", "a(x;2). ", "e(X,X) :- p(X). ", "-a(X) :- q(X). ")))
    show = draw(st.sampled_from(("", "", "#show a/1. #show p/1. ")))
    text = f"#const n = 2. {show}{said}" + " ".join(draw(st.lists(rules(), min_size=1, max_size=4)))
    return Case(text, tuple(draw(st.lists(facts_at, max_size=8))))


def read(text: str) -> asp.AspProgram:
    source = Source("case.lp", text)
    directives = asp.take_out(source)
    nodes, wrong = parse(directives.text, source)
    assume(not wrong)
    return asp.read(nodes, source, directives, [f"{name}/{arity}" for name, arity in INPUTS.items()])


def by_clingo(program: asp.AspProgram, facts: set[Fact]) -> set[str] | None:
    """What is shown of the answer set; None where there is none."""
    control = clingo.Control(["--warn=none"])
    control.add("base", [], program.text())
    for fact in facts:
        for name, args in program.names.atoms(fact):
            control.add("base", [], f"{name}({','.join(map(program.names.as_symbol_text, args))}).")
    control.ground([("base", [])])
    with control.solve(yield_=True) as handle:
        for model in handle:
            atoms = model.symbols(atoms=True)
            named = ((f"{'' if atom.positive else '-'}{atom.name}", tuple(map(str, atom.arguments))) for atom in atoms)
            return {
                str(program.names.fact(name, args)) for name, args in named if f"{name}/{len(args)}" in program.shown
            }
    return None


SPLIT = Case("a(X) :- p(X), X > 1. b(X) :- p(X), X <= 1.", tuple((0, Fact("p", (term,))) for term in TERMS))


@example(SPLIT)
@given(cases())
def test_lowered_is_clingo(case: Case) -> None:
    program = read(case.program)
    lowered = program.lowered(WINDOW)
    assume(lowered is not None)
    assert lowered is not None
    assert lowered.told is not None
    engine = Engine(lowered, first=0)
    for tick in range(LAST + 1):
        engine.advance(tick, [fact for when, fact in case.facts if when == tick])
        expected = by_clingo(program, {fact for when, fact in case.facts if tick - WINDOW < when <= tick})
        naive = output(lowered, 0, tick, [(fact, when, None) for when, fact in case.facts if when <= tick])
        for found in (set(engine.facts()), {fact for fact in naive if fact.signature in lowered.told}):
            assert (None if INCONSISTENT in found else set(map(str, found))) == expected
