"""A program that is evaluated incrementally has the answers that clingo gives window by window."""

import re
from dataclasses import dataclass

import clingo
from hypothesis import assume, example, given
from hypothesis import strategies as st

from thalweg.diagnostics import Source
from thalweg.ir.semantics import output
from thalweg.kinds.answer_sets.solving import Spelling
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.asp import program as asp
from thalweg.languages.asp.directives import take_out
from thalweg.languages.asp.lower import INCONSISTENT
from thalweg.languages.asp.parse import parse
from thalweg.languages.asp.program import AspProgram
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

INPUTS = {"p": 1, "q": 1, "e": 2}
DERIVED = {"a": 1, "b": 1, "c": 2, "d": 2}
VARIABLES = ("X", "Y", "Z")
# Products and sums of the last ones are too large for clingo.
TERMS = (
    "1",
    "2",
    "-3",
    "x",
    '"1"',
    "2.0",
    "<i>",
    "<http://ex/x>",
    "3000000000",
    "2147483647",
    "-2147483648",
    "1073741824",
    "46341",
)
WINDOW, LAST = 3, 6
PREFIXES = "#prefix ex: <http://ex/>. #prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>. "
IRIS = {"q": "<http://ex/q>"}
SHOWN = "#show ex_a/1. #show b/1. #show c/2. #show d/2. #show -ex_a/1. "
TYPES = (
    "",
    "rdf_type(X,ex_c) :- p(X). b(X) :- rdf_type(X,ex_c).",
    "b(X) :- rdf_type(X,ex_q). %* taken *%",
    "rdf_type(X,ex_q) :- e(X,Y), rdf_type(Y,ex_q). d(X,1) :- rdf_type(X,ex_q), not rdf_type(X,ex_c). %* taken *%",
)


@dataclass(frozen=True)
class Case:
    """A program, and facts with their ticks."""

    program: str
    facts: tuple[tuple[int, Fact], ...]
    inputs: tuple[Predicate, ...] = tuple(Predicate(name, arity) for name, arity in INPUTS.items())


@st.composite
def atoms(draw: st.DrawFn, names: dict[str, int], terms: tuple[str, ...]) -> str:
    name = draw(st.sampled_from(sorted(names)))
    return f"{name}({','.join(draw(st.sampled_from(terms)) for _ in range(names[name]))})"


@st.composite
def expressions(draw: st.DrawFn, bound: tuple[str, ...]) -> str:
    terms = (*bound, "1", "2", "2147483647", "x", "n", '"1"')
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
            compared = draw(
                st.sampled_from(("> 1", "= 2", "<= 2", "> -5", *(f"= {x}" for x in (*bound, "S") if counts)))
            )
            body.append(f"#{kind}{{ V : {inner} }} {compared}")
            bound = (*bound, "S") if compared == "= S" else bound
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
    case = Case(text, tuple(draw(st.lists(facts_at, max_size=8))))
    return named(case, draw(st.sampled_from(TYPES))) if draw(st.integers(0, 3)) == 0 else case


def named(case: Case, types: str) -> Case:
    """The same with prefixes: some names are IRIs; the program may speak of types, and take them as input."""
    program = re.sub(r"\b([aq])(?=[(/])", r"ex_\1", re.sub(r"\bx\b", "ex_x", case.program))
    shown = "" if "#show" in program else SHOWN
    facts = tuple((tick, Fact(IRIS.get(fact.predicate, fact.predicate), fact.terms)) for tick, fact in case.facts)
    taken = (Predicate("ex_q", 1), Predicate("rdf_type", 2)) if "taken" in types else (Predicate("ex_q", 1),)
    return Case(f"{PREFIXES}{program} {shown}{types}", facts, (Predicate("p", 1), Predicate("e", 2), *taken))


def read(case: Case) -> AspProgram:
    source = Source("case.lp", case.program)
    directives = take_out(source)
    nodes, wrong = parse(directives.text, source)
    assume(not wrong)
    return asp.read(nodes, source, directives, case.inputs)


def signature(atom: clingo.Symbol) -> Predicate:
    return Predicate(f"{'' if atom.positive else '-'}{atom.name}", len(atom.arguments))


def by_clingo(program: AspProgram, facts: set[Fact]) -> set[str] | None:
    """What is shown of the answer set; None where there is none."""
    control = clingo.Control(["--warn=none"])
    control.add("base", [], program.text())
    for fact in facts:
        for name, args in program.names.atoms(fact):
            control.add("base", [], f"{name}({','.join(map(program.names.as_symbol_text, args))}).")
    control.ground([("base", [])])
    with control.solve(yield_=True) as handle:
        for model in handle:
            spelled = Spelling(program.names)
            return {spelled(str(atom)) for atom in model.symbols(atoms=True) if signature(atom) in program.shown}
    return None


LARGE = Case(
    "a(X*X) :- p(X). b(X*X*X) :- p(X). c(X+1,-X) :- p(X). d(X,Y) :- p(X), p(Y), X*Y > 5. d(S,S) :- S = #sum{X : p(X)}."
    " b(1) :- #sum{ X : p(X) } > 5. a(X*3000-1) :- p(X). a(Y) :- p(X), p(Y), Y = X+1.",
    tuple((0, Fact("p", (term,))) for term in (*TERMS, "-2147483647", "2000000000", "65536")),
)
TYPED = named(
    Case("a(X) :- q(X). -a(X) :- q(X), p(X). c(x,X) :- q(X).", ((0, Fact("q", ("1",))), (1, Fact("e", ("2", "1"))))),
    TYPES[3],
)
SPLIT = Case("a(X) :- p(X), X > 1. b(X) :- p(X), X <= 1.", tuple((0, Fact("p", (term,))) for term in TERMS))


@example(SPLIT)
@example(LARGE)
@example(TYPED)
@given(cases())
def test_lowered_is_clingo(case: Case) -> None:
    program = read(case)
    lowered = program.lowered(WINDOW)
    assume(lowered is not None)
    assert lowered is not None
    engine = Engine(lowered, first=0)
    for tick in range(LAST + 1):
        engine.advance(tick, [fact for when, fact in case.facts if when == tick])
        expected = by_clingo(program, {fact for when, fact in case.facts if tick - WINDOW < when <= tick})
        naive = output(lowered, 0, tick, [(fact, when, None) for when, fact in case.facts if when <= tick])
        for found in (set(engine.facts()), {fact for fact in naive if fact.signature in lowered.outputs}):
            assert (None if INCONSISTENT in found else set(map(str, found))) == expected
