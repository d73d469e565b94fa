"""Solved in pieces, an answer set program has the answers that it has as a whole."""

from dataclasses import dataclass
from itertools import product

import clingo
from hypothesis import example, given
from hypothesis import strategies as st

from thalweg.diagnostics import Source
from thalweg.languages.asp import program as asp
from thalweg.languages.asp.directives import take_out
from thalweg.languages.asp.parse import parse
from thalweg.languages.asp.program import AspProgram
from thalweg.model.predicate import Predicate
from thalweg.planning.input_dependency import Dependency, analyse

INPUTS = {"p": 1, "q": 1, "r": 1, "e": 2}
DERIVED = {"a": 1, "b": 1, "c": 1, "d": 2, "f": 2}
VARIABLES = ("X", "Y", "Z")
CONSTANTS = ("1", "2", "x")
Answers = frozenset[frozenset[str]]


@dataclass(frozen=True)
class Case:
    """A program, and the facts of a window."""

    program: str
    facts: tuple[str, ...]


@st.composite
def atoms(draw: st.DrawFn, names: dict[str, int], variables: tuple[str, ...] = VARIABLES) -> str:
    name = draw(st.sampled_from(sorted(names)))
    terms = st.sampled_from((*variables, *variables, CONSTANTS[0])) if variables else st.sampled_from(CONSTANTS)
    return f"{name}({','.join(draw(terms) for _ in range(names[name]))})"


def used(*texts: str) -> tuple[str, ...]:
    return tuple(name for name in VARIABLES if any(name in text for text in texts))


@st.composite
def bodies(draw: st.DrawFn, names: dict[str, int], below: dict[str, int]) -> tuple[list[str], tuple[str, ...]]:
    """Atoms that bind, and things that are said about what they bind, in terms of what lies below."""
    body = draw(st.lists(atoms(names), min_size=1, max_size=3))
    bound = used(*body)
    one = st.sampled_from([name for name, arity in below.items() if arity == 1])
    for kind in draw(st.lists(st.sampled_from(("not", "count", "compare", "condition")), max_size=2)):
        if kind == "not":
            body.append(f"not {draw(atoms(below, bound))}")
        elif kind == "count":
            body.append(f"#count{{ W : {draw(one)}(W), {draw(atoms(below, (*bound, 'W')))} }} > 1")
        elif kind == "condition":
            body.append(f"{draw(atoms(below, ('W',)))} : {draw(one)}(W)")
        elif bound:
            body.append(f"{draw(st.sampled_from(bound))} != {draw(st.sampled_from((*bound, '1')))}")
    return body, bound


@st.composite
def statements(draw: st.DrawFn, choices: bool) -> str:
    kinds = ("rule",) * 7 + ("constraint",) + (("choice", "disjunction", "weak") if choices else ())
    kind, head = draw(st.sampled_from(kinds)), draw(st.sampled_from(sorted(DERIVED)))
    everything = INPUTS | DERIVED
    # Without choices there is one answer set: what is negated lies below the head.
    free = choices or kind == "constraint"
    names, below = (
        {name: arity for name, arity in everything.items() if name in INPUTS or free or reach(name, head)}
        for reach in (str.__le__, str.__lt__)
    )
    body, bound = draw(bodies(names, below))
    written = "; ".join(body)
    if kind == "constraint":
        return f":- {written}."
    if kind == "weak":
        return f":~ {written}. [1@{draw(st.sampled_from('12'))},{','.join(bound) or 'x'}]"
    derived = draw(atoms({head: DERIVED[head]}, bound))
    if kind == "choice":
        return f"{{ {derived} }} :- {written}."
    if kind == "disjunction":
        return f"{derived} ; {draw(atoms(DERIVED, bound))} :- {written}."
    return f"{draw(st.sampled_from(('', '', '', '', '', '-')))}{derived} :- {written}."


@st.composite
def cases(draw: st.DrawFn, choices: bool = False, brought: dict[str, int] = INPUTS) -> Case:
    rules = draw(st.lists(statements(choices), min_size=1, max_size=6))
    known = draw(st.lists(atoms(DERIVED, ()), max_size=1))
    facts = draw(st.lists(atoms(brought, ()), max_size=8, unique=True))
    return Case(" ".join([*rules, *(f"{fact}." for fact in known)]), tuple(facts))


def read(text: str, inputs: dict[str, int] = INPUTS) -> AspProgram:
    source = Source("case.lp", text)
    directives = take_out(source)
    nodes, wrong = parse(directives.text, source)
    assert not wrong
    return asp.read(nodes, source, directives, [Predicate(name, arity) for name, arity in inputs.items()])


def solve(program: str, facts: list[str]) -> Answers:
    """All answer sets, optimal ones where the program prefers some; without what was put in."""
    control = clingo.Control(["0", "--warn=none", "--opt-mode=optN"])
    control.add("base", [], program + " ".join(f"{fact}." for fact in facts))
    control.ground([("base", [])])
    found = set()
    with control.solve(yield_=True) as handle:
        for model in handle:
            if model.optimality_proven or not model.cost:
                found.add(frozenset(map(str, model.symbols(atoms=True))) - set(facts))
    return frozenset(found)


def in_pieces(program: AspProgram, dependency: Dependency, facts: tuple[str, ...]) -> Answers:
    parts: dict[int, list[Answers]] = {}
    for piece in dependency.pieces:
        own = [fact for fact in facts if signature(fact) in piece.inputs]
        parts.setdefault(piece.part, []).append(solve(program.text(piece.rules), own))
    return combined([union(found) for found in parts.values()])


def signature(fact: str) -> Predicate:
    return Predicate(fact.partition("(")[0], fact.count(",") + 1)


def union(pieces: list[Answers]) -> Answers:
    """The answer of a part; its pieces have one answer each where there are several."""
    if len(pieces) == 1:
        return pieces[0]
    assert all(len(piece) <= 1 for piece in pieces)
    if not all(pieces):
        return frozenset()
    return frozenset({frozenset(atom for piece in pieces for answer in piece for atom in answer)})


def combined(parts: list[Answers]) -> Answers:
    return frozenset(frozenset(atom for answer in chosen for atom in answer) for chosen in product(*parts))


COUNTEREXAMPLE = Case("a(X) :- p(X), not q(X). b(X) :- p(X), r(X).", ("p(1)", "q(1)", "r(1)"))
SELF_JOIN = Case("a(X) :- p(X). a(X) :- q(X). d(X,Y) :- a(X), a(Y).", ("p(1)", "q(2)"))
ONE_PENALTY = Case("{a(1)}. {b(1)}. :- not a(1). :~ a(1). [1@1] :~ b(1). [1@1]", ())


@example(COUNTEREXAMPLE)
@example(SELF_JOIN)
@example(Case("a(X) :- p(X). a(X) :- q(X). b(X) :- r(X), not a(X).", ("r(1)",)))
@example(Case("a(X) :- p(X). a(X) :- q(X). b(X) :- r(X), #count{ W : a(W) } > 1.", ("r(1)", "p(1)", "q(2)")))
@given(cases())
def test_in_pieces_is_the_whole(case: Case) -> None:
    program = read(case.program)
    dependency = analyse(program.outlines, program.inputs)
    assert dependency.deterministic
    assert in_pieces(program, dependency, case.facts) == solve(case.program, list(case.facts))


@example(ONE_PENALTY)
@given(cases(choices=True))
def test_every_combination_is_an_answer_set(case: Case) -> None:
    program = read(case.program)
    dependency = analyse(program.outlines, program.inputs)
    assert in_pieces(program, dependency, case.facts) == solve(case.program, list(case.facts))


@example(Case("d(X,Y) :- e(X,Y). d(X,Y) :- d(X,Z), e(Z,Y).", ("d(1,2)", "e(2,x)")), {"d"})
@example(Case("a(X) :- p(X). b(X) :- q(X), not a(X).", ("a(1)", "q(1)")), {"a"})
@example(Case("{ a(X) } :- p(X). b(X) :- a(X), q(X).", ("a(1)", "q(1)")), {"a"})
@example(Case("a(X) :- a(X). -d(X,X) :- a(X).", ("a(1)", "d(1,1)")), set())
@given(
    cases(brought=INPUTS | DERIVED) | cases(choices=True, brought=INPUTS | DERIVED), st.sets(st.sampled_from("abcdf"))
)
def test_what_is_derived_may_be_input_too(case: Case, declared: set[str]) -> None:
    inputs = {name for name in DERIVED if name in declared or any(fact.startswith(name) for fact in case.facts)}
    program = read(case.program, INPUTS | {name: DERIVED[name] for name in inputs})
    dependency = analyse(program.outlines, program.inputs)
    pieces = in_pieces(program, dependency, case.facts)
    whole = solve(case.program, list(case.facts))
    assert {answer.union(case.facts) for answer in pieces} == {answer.union(case.facts) for answer in whole}


def bucket(fact: str, place: int | None, buckets: int) -> int:
    """Where a fact goes; without a key, by anything that it has."""
    args = fact.partition("(")[2].rstrip(")").split(",")
    return sum(map(ord, fact if place is None else args[place])) % buckets


@example(Case("a(X) :- e(X,Y), q(Y). b(X) :- a(X).", ("e(1,2)", "q(2)", "e(x,2)")))
@given(cases())
def test_spread_by_key_is_the_piece(case: Case) -> None:
    program = read(case.program)
    dependency = analyse(program.outlines, program.inputs)
    for piece in dependency.pieces:
        keys = dependency.keys(piece)
        if keys is None:
            continue
        text, buckets = program.text(piece.rules), [list[str](), list[str](), list[str]()]
        own = [fact for fact in case.facts if signature(fact) in piece.inputs]
        for fact in own:
            buckets[bucket(fact, keys.get(signature(fact)), len(buckets))].append(fact)
        assert union([solve(text, facts) for facts in buckets]) == solve(text, own)
