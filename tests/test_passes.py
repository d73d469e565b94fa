"""Each planning pass, before and after: `tests/passes/stratify.txt` shows what `planning/stratify.py` does.

The page `lower` does the same for queries that become rules; `:w` and `:u` are windows, and `:` an empty prefix.

A page holds examples: a line that begins with `#` says what to look at, then comes a program, `becomes`, and what the
pass makes of it. After a change that is meant `python tests/test_passes.py` writes the pages anew: read the difference.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from thalweg.diagnostics import Source
from thalweg.ir.binding import binders
from thalweg.ir.nodes import At, Comparison, Expression, Formula, Not, Program, Variable
from thalweg.ir.text import show
from thalweg.languages.lars import read
from thalweg.languages.rspql.describe_lowered import describe
from thalweg.languages.rspql.lower import lower
from thalweg.languages.rspql.lowered import LoweredQuery
from thalweg.languages.rspql.query import Query
from thalweg.languages.rspql.read_query import read_query
from thalweg.model.time import FOREVER, NEVER
from thalweg.planning.horizons import horizons
from thalweg.planning.normalise import simpler
from thalweg.planning.order_joins import join_order
from thalweg.planning.partition import Route, partition
from thalweg.planning.passes import PASSES, plan
from thalweg.planning.rule_plan import PlanRule, RelationAtom
from thalweg.planning.stratify import by_stratum, ended_early

PAGES = Path(__file__).parent / "passes"


@dataclass(frozen=True)
class Written:
    """A formula, as far as joins look at it."""

    formula: Formula
    text: str
    weight: float = 1.0

    @property
    def args(self) -> tuple[Expression, ...]:
        time = (self.formula.time,) if isinstance(self.formula, At) else ()
        return (*self.formula.atom.args, *time)


def normalised(program: Program) -> Iterator[str]:
    rules, groups = simpler(program.rules)
    yield from map(show, rules)
    for group in groups:
        yield f"{group.value} is the {group.function} of {group.elements} by its first {group.width}"


def stratified(program: Program) -> Iterator[str]:
    for level, signatures in enumerate(by_stratum(program)):
        yield f"{level}  {', '.join(signatures)}"


def joined(program: Program) -> Iterator[str]:
    """For each positive formula: what follows when one of its rows is new."""
    for rule in program.rules:
        formulas = [Written(each, show(each)) for each in rule.body if isinstance(each, Formula)]
        negated = [Written(each.formula, show(each)) for each in rule.body if isinstance(each, Not)]
        tests = [each for each in rule.body if isinstance(each, Comparison)]
        for start in formulas:
            rest = [each for each in formulas if each is not start]
            bound = frozenset(arg.name for arg in start.args if isinstance(arg, Variable))
            steps = join_order(rest, negated, tests, binders(rule, rule.body), bound)
            yield " → ".join([start.text, *(each.text if isinstance(each, Written) else show(each) for each in steps)])


def planned(program: Program) -> Iterator[str]:
    made = plan(program)
    for (signature, stream), feeds in made.feeds.items():
        for feed in feeds:
            source = signature if stream is None else f"{signature} from {stream}"
            into = "" if feed.target is None else f", into {feed.target.name}"
            yield f"{source} feeds {feed.relation.name}: {feed.kind} {_ticks(feed.size)}{into}"
    for tuples in made.tuples:
        kept = ", ".join(relation.name for relation in tuples.relations.values())
        yield f"{show(tuples.window)} feeds {kept}"
    for keyed in made.keyed:
        yield f"{show(keyed.window)} feeds {keyed.relation.name}"
    for relation, signature in made.background:
        yield f"the background of {signature} feeds {relation.name}"
    yield from map(_planned_rule, made.rules)
    for count in made.counts:
        yield f"{count.target.name} where {count.source.name} has every tick"
    for group in made.groupings:
        yield f"{group.value.name} is the {group.function} of {group.elements.name} by its first {group.width}"


def viewed(program: Program) -> Iterator[str]:
    """Which relations have their rows elsewhere, and what rules look at instead of them."""
    made = plan(program)
    for number, view in made.views.items():
        yield f"{made.relations[number].name} is {view.source.name}: {', '.join(map(str, view.order))}"
    for rule in made.rules:
        for atom in rule.positive:
            if atom.relation.number in made.views:
                yield f"{_planned_atom(rule.head)} looks at {_planned_atom(made.stored(atom))}"


def _planned_rule(rule: PlanRule) -> str:
    body = [_planned_atom(atom) for atom in rule.positive]
    body += [f"not {_planned_atom(atom)}" for atom in rule.negative]
    body += map(show, rule.tests)
    clip = "" if rule.clip is None else f", clipped to {show(rule.clip.window)}"
    return f"{_planned_atom(rule.head)} :- {', '.join(body)}{clip}"


def _planned_atom(atom: RelationAtom) -> str:
    return f"‹{atom.relation.name}›({','.join(map(show, atom.args))})"


def kept(program: Program) -> Iterator[str]:
    made = plan(program)
    early = ended_early(made)
    for relation, ticks in zip(made.relations, horizons(made), strict=True):
        causes = sorted(cause for cause, ended in early.items() if relation.number in ended)
        back = f"; may be taken back: {', '.join(causes)}" if causes else ""
        yield f"{relation.name}: {_ticks(ticks)}{back}"


def partitioned(program: Program) -> Iterator[str]:
    """The program of each stage, what is sent to it, and what it tells the world."""
    for stage in partition(program).stages:
        yield f"stage {stage.number}{'' if stage.split else f', one bucket: {stage.why}'}"
        yield from (f"  {show(rule)}" for rule in stage.program.rules)
        yield from (f"  {fact}." for fact in stage.program.background)
        yield from map(_sent, stage.routes)
        yield from (f"  tells {told} from {name}" for name, told in stage.outputs)


def _sent(route: Route) -> str:
    source = "streams" if route.stage is None else f"stage {route.stage}"
    return f"  {route.name} gets {route.signature}{' at U' if route.timed else ''} of {source}"


def lowered(query: Query) -> Iterator[str]:
    """The rules of a query and what is done besides them; or the obstacles."""
    made = lower(query)
    if isinstance(made, LoweredQuery):
        yield from map(show, made.rules)
        yield from map(str, made.facts)
        yield from describe(made)
    else:
        yield from (f"{each.span.source.text[each.span.start : each.span.end]}: {each.sentence}" for each in made)


def read_query_of_page(source: Source) -> Query:
    windows = " ".join(f"FROM NAMED WINDOW :{name} ON STREAM :s [RANGE 3, SLIDE 1]" for name in "wu")
    form, _, pattern = source.text.partition("{")
    query, found = read_query(Source(source.name, f"PREFIX : <urn:> {form} {windows} {{{pattern}"))
    assert query is not None, found
    return query


def _ticks(ticks: int) -> str:
    return "never" if ticks == NEVER else "for ever" if ticks >= FOREVER else str(ticks)


PAGES_OF: dict[str, Callable[[Any], Iterator[str]]] = {
    "lower": lowered,
    "stratify": stratified,
    "normalise": normalised,
    "assign_memories": planned,
    "view_elements": viewed,
    "horizons": kept,
    "order_joins": joined,
    "partition": partitioned,
}


def examples(page: str) -> Iterator[tuple[str, str, str]]:
    """(what to look at, before, after)."""
    for block in re.split(r"(?m)^# ", (PAGES / f"{page}.txt").read_text(encoding="utf-8"))[1:]:
        title, _, rest = block.partition("\n")
        before, _, after = rest.partition("\nbecomes\n")
        yield title, before.strip(), after.strip()


def after(page: str, before: str) -> str:
    program = (read_query_of_page if page == "lower" else read)(Source(f"{page}.txt", before))
    return "\n".join(PAGES_OF[page](program)).replace(f"[{FOREVER}]", "[for ever]").replace("<urn:", "<:")


CASES = [(page, *example) for page in PAGES_OF for example in examples(page)]


@pytest.mark.parametrize(("page", "title", "before", "expected"), CASES, ids=[f"{one[0]}: {one[1]}" for one in CASES])
def test_pass(page: str, title: str, before: str, expected: str) -> None:
    assert after(page, before) == expected


def test_every_page_has_a_pass() -> None:
    assert {page.stem for page in PAGES.glob("*.txt")} == set(PAGES_OF)


def test_a_pass_is_in_the_file_of_its_name() -> None:
    homes = {one.__name__: one.__module__.removeprefix("thalweg.planning.") for one in PASSES}
    assert homes == {name: name for name in homes} | {"fit_capacity": "check_capacity"}


def rewrite() -> None:
    for page in PAGES_OF:
        blocks = (f"# {title}\n{before}\nbecomes\n{after(page, before)}\n" for title, before, _ in examples(page))
        (PAGES / f"{page}.txt").write_text("\n".join(blocks), encoding="utf-8")


if __name__ == "__main__":
    rewrite()
