"""What a selection hands on, whenever a window closes, is what its definition says of the whole stream."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from thalweg.diagnostics import Source
from thalweg.kinds.events.selected_events import SelectedEvent, SelectedEvents
from thalweg.kinds.queries.per_window import answer_once
from thalweg.kinds.queries.query_operator import StreamsRead
from thalweg.languages.cascade.read_events import read_events
from thalweg.languages.rspql.closings import closings_of, evaluation_ticks
from thalweg.languages.rspql.query import Query
from thalweg.model.dataset import Dataset
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact

LAST = 12
SPACE = "http://ex/"
# Each menu entry has the triples of the template beside it: the window of each, none for the background.
MENU = (
    ("WINDOW :w { ?o :p ?v }", (("w", "?o p ?v"),)),
    ("WINDOW :w { ?o :p ?v . ?o :q ?u }", (("w", "?o p ?v"), ("w", "?o q ?u"))),
    ("?v :k ?c . WINDOW :w { ?o :p ?v }", (("", "?v k ?c"), ("w", "?o p ?v"))),
    ("WINDOW :w { ?o :p ?v } WINDOW :x { ?u :q ?v }", (("w", "?o p ?v"), ("x", "?u q ?v"))),
    ("{ WINDOW :w { ?o :p ?v } } UNION { WINDOW :x { ?o :q ?v } }", (("w", "?o p ?v"), ("x", "?o q ?v"))),
    ("WINDOW :w { ?o :p ?v OPTIONAL { ?o :q ?u } }", (("w", "?o p ?v"), ("w", "?o q ?u"))),
    ("WINDOW :w { ?o :p ?v FILTER NOT EXISTS { ?o :q ?v } }", (("w", "?o p ?v"),)),
    ("WINDOW :w { ?o :p ?v FILTER(?v > 1) }", (("w", "?o p ?v"),)),
    ("WINDOW ?g { ?o ?r ?v }", (("?g", "?o ?r ?v"),)),
)
BACKGROUND = Dataset.of([Fact(f"<{SPACE}k>", ("2", f"<{SPACE}c>")), Fact(f"<{SPACE}k>", (f"<{SPACE}a>", "7"))], {})


@dataclass(frozen=True)
class Case:
    where: str
    template: tuple[tuple[str, str], ...]
    windows: tuple[tuple[int, int], tuple[int, int]]
    events: tuple[tuple[int, str, tuple[Fact, ...]], ...]
    steps: tuple[int, ...]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    where, template = draw(st.sampled_from(MENU))
    names = st.sampled_from((f"<{SPACE}a>", f"<{SPACE}b>"))
    values = st.sampled_from((f"<{SPACE}a>", "1", "2", '"2.50"^^<http://www.w3.org/2001/XMLSchema#decimal>'))
    facts = st.builds(lambda p, s, o: Fact(f"<{SPACE}{p}>", (s, o)), st.sampled_from("pq"), names, values)
    events = []
    for number in range(draw(st.integers(1, 6))):
        graph = draw(st.sampled_from((f"<{SPACE}g{number}>", f"<{SPACE}g>", "")))
        some = tuple(draw(st.lists(facts, min_size=1, max_size=3, unique=True)))
        events.append((draw(st.integers(0, LAST)), graph, some))
    sizes = st.tuples(st.integers(1, 5), st.integers(1, 4))
    window = draw(sizes)
    other = window if draw(st.booleans()) else draw(sizes)
    steps = draw(st.sets(st.integers(0, LAST)))
    return Case(where, template, (window, other), tuple(sorted(events)), tuple(sorted(steps | {LAST})))


def query_of(case: Case) -> Query:
    clauses = " ".join(
        f"FROM NAMED WINDOW :{name} ON STREAM :s [RANGE {size}s, SLIDE {slide}s]"
        for name, (size, slide) in zip("wx", case.windows, strict=True)
        if f":{name} " in case.where or "?g" in case.where
    )
    _, (selection,), found = read_events(Source("s.tw", f"PREFIX : <{SPACE}> {clauses} WHERE {{ {case.where} }}"))
    assert not any(one.severity == "error" for one in found), found
    assert selection.query is not None
    return selection.query


Handed = tuple[int, int, str, frozenset[Fact]]


def meant(case: Case, query: Query) -> set[Handed]:
    """By definition: the solutions of each evaluation over sets, without those of the one before."""
    closings = [closings_of(window, 0) for window in query.windows]
    before: Counter[tuple[str | None, ...]] = Counter()
    found: set[Handed] = set()
    for tick in evaluation_ticks(closings, 0, LAST):
        shown = {
            window.name: [one for one in case.events if closed - window.range < one[0] <= closed]
            for window, one in zip(query.windows, closings, strict=True)
            if (closed := one.latest(tick)) is not None
        }
        content = {name: [fact for _, _, facts in some for fact in facts] for name, some in shown.items()}
        rows = Counter(answer_once(query, content, BACKGROUND))
        groups: dict[frozenset[int], set[Fact]] = {}
        for row in rows - before:
            events, facts = rests_on(case, dict(zip(query.columns, row, strict=True)), shown)
            if events:
                groups.setdefault(frozenset(events), set()).update(facts)
        for events, facts in groups.items():
            some = [case.events[number] for number in events]
            names = {graph for _, graph, _ in some}
            name = names.pop() if len(names) == 1 else ""
            found.add((tick, max(one[0] for one in some), name, frozenset(facts)))
        before = rows
    return found


def rests_on(
    case: Case, known: dict[str, str | None], shown: dict[str, list[tuple[int, str, tuple[Fact, ...]]]]
) -> tuple[set[int], set[Fact]]:
    events: set[int] = set()
    facts: set[Fact] = set()
    for window, text in case.template:
        terms = [known.get(term[1:]) if term[0] == "?" else f"<{SPACE}{term}>" for term in text.split()]
        if None in terms:
            continue
        if not window:
            facts |= {fact for fact in BACKGROUND.default if same(fact, terms)}
            continue
        graph = known[window[1:]] if window[0] == "?" else f"<{SPACE}{window}>"
        carrying = [
            (tick, name, sorted(map(str, own)), number, fact)
            for number, (tick, name, own) in enumerate(case.events)
            for fact in own
            if same(fact, terms) and case.events[number] in shown.get(str(graph), ())
        ]
        if carrying:
            *_, number, fact = min(carrying, key=lambda one: one[:2])
            events.add(number)
            facts.add(fact)
    return events, facts


def same(fact: Fact, terms: list[str | None]) -> bool:
    plain = [term.replace('"2.50"^^<http://www.w3.org/2001/XMLSchema#decimal>', "2.5") for term in fact.terms]
    return [plain[0], fact.predicate, plain[1]] == terms


def different(case: Case) -> bool:
    """Whether events of a tick can be told apart, by the names of their graphs."""
    return len({(tick, graph) for tick, graph, _ in case.events}) == len(case.events)


def selecting(query: Query) -> SelectedEvents:
    found = SelectedEvents(query, BACKGROUND, Dictionary(), StreamsRead(query, ["s"]), lambda _: None)
    return found


def handed_on(case: Case, query: Query, stop: int | None = None) -> Iterator[Handed]:
    selection = selecting(query)
    selection.begin(0)
    words = selection._dictionary
    for tick in sorted({one[0] for one in case.events} | set(case.steps)):
        batches = []
        for _, graph, facts in (one for one in case.events if one[0] == tick):
            batch = Batch(stream="s", graphs=[(graph, len(facts))])
            for fact in facts:
                batch.add(fact.signature, [words.code(term) for term in fact.terms])
            batches.append(batch)
        for closing, selected in selection.advance(tick, batches):
            yield from (_handed(closing, one) for one in selected)
        if tick == stop:
            saved, selection = selection.save(), selecting(query)
            words = selection._dictionary
            selection.load(saved, 0)


def _handed(closing: int, event: SelectedEvent) -> Handed:
    return closing, event.tick, event.graph, frozenset(event.facts)


@given(cases().filter(different))
def test_what_is_selected_is_what_new_solutions_rest_on(case: Case) -> None:
    query = query_of(case)
    assert set(handed_on(case, query)) == meant(case, query)


@given(cases(), st.integers(0, LAST))
def test_a_selection_can_be_stopped_and_resumed(case: Case, stop: int) -> None:
    query = query_of(case)
    assert list(handed_on(case, query, stop)) == list(handed_on(case, query))
