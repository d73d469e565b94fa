"""A service answers what a run answers over the same text, however the text was cut into bodies."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, pairwise
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import random_cascades
from case_pages import PAGES, cases_of
from random_cascades import Arrival
from random_large_programs import large_scenarios
from services import ANSWER_SETS, EVENTS, EX, KINDS, ONTOLOGY, RULES, before, body, expected, serving, settled
from thalweg import api
from thalweg.diagnostics import Source
from thalweg.ir.patterns import Pattern
from thalweg.ir.text import show
from thalweg.service.service import Service
from thalweg.testing import Case
from thalweg.testing.strategies import Scenario, scenarios

LAST: Final = 30
STAFF: Final = f"""@prefix : <{EX}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Slow owl:disjointWith :Fast . :Fast a owl:Class .
"""
ABOVE: Final = "both(R) :- left(R), jam(R) in [2].\nidle(R) :- left(R), not <" + EX + "Slow>(<" + EX + "r1>).\n"
SERVED: Final[dict[str, dict[str, Any]]] = {
    **KINDS,
    "consistency": {"sources": {"staff.ttl": STAFF}, "options": {"as": "consistency", "window": "3"}},
    "in windows": {"sources": {"side.lp": ANSWER_SETS}, "options": {"window": "4", "slide": "2", "models": "brave"}},
    "all": {
        "sources": {
            "jam.lars": RULES + ABOVE,
            "side.lp": ANSWER_SETS,
            "twice.tw": EVENTS,
            "seen.ttl": ONTOLOGY,
            "slow.rspql": KINDS["query"]["sources"]["slow.rspql"],
        },
    },
}
NOT_SHOWN: Final = {"local"}
"""Pages of cases whose programs, once they are read, cannot be written down: names are local to a file."""
_NUMBERS = count()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("served") / "data") as opened:
        yield opened


@st.composite
def statements(draw: st.DrawFn) -> list[str]:
    """Facts, some at the tick of the one before and a few that come after those of a later tick."""
    lines, tick = [], 0
    for _ in range(draw(st.integers(1, 40))):
        tick += draw(st.sampled_from((0, 0, 0, 1, 1, 2, 7)))
        road = draw(st.integers(0, 3))
        fact = draw(
            st.sampled_from((f"speed(r{road},{draw(st.integers(0, 80))})",) * 3)
            | st.sampled_from((f"<{EX}Slow>(<{EX}r{road}>)", f"<{EX}Fast>(<{EX}r{road}>)"))
        )
        lines.append(f"{fact} at {max(0, tick - draw(st.sampled_from((0, 0, 0, 0, 1, 3))))}.")
    return [*lines, f"speed(r0,1) at {tick + 1}."]


@st.composite
def pieces(draw: st.DrawFn, lines: list[str]) -> list[str]:
    """A text of statements, cut in any places between them."""
    ends = [draw(st.sampled_from(("\n", "\n", " ", "\n\n% a comment\n"))) for _ in lines]
    cuts = sorted(draw(st.sets(st.integers(1, len(lines)), max_size=12)) | {0, len(lines)})
    return ["".join(f"{line}{end}" for line, end in zip(lines[a:b], ends[a:b], strict=True)) for a, b in pairwise(cuts)]


def as_run(options: dict[str, str]) -> dict[str, str]:
    """Options as keywords of Python."""
    return {{"as": "as_"}.get(name, name): value for name, value in options.items()}


@settings(max_examples=max(4, settings().max_examples // 20))
@given(st.data(), st.sampled_from(({}, {"delay": "1"}, {"delay": "4"})))
def test_programs_of_each_kind_answer_as_a_run(service: Service, data: st.DataObject, disorder: dict[str, str]) -> None:
    texts = data.draw(pieces(data.draw(statements())))
    last = int(texts[-1].rpartition(" at ")[2].split(".")[0])
    programs = {}
    for kind, about in SERVED.items():
        options = about.get("options", {}) | disorder
        name = f"p{next(_NUMBERS)}"
        programs[kind], _ = service.programs.put(name, body(about["sources"], options=options))
    for text in texts:
        posted = service.post("north", "text/plain", text.encode(), skip=False, key=None).result(60)
    reached = last - int(disorder.get("delay", "0"))
    for kind, program in programs.items():
        about = SERVED[kind]
        answered = settled(program, posted["seq"])
        wanted = expected(about["sources"], texts, **as_run(about.get("options", {}) | disorder))
        assert answered == wanted[: len(answered)], kind
        assert before(answered, reached) == before(wanted, reached), kind
    for program in programs.values():
        assert service.programs.delete(program.name)
    service.streams.delete("north")


def answered_alike(service: Service, scenario: Scenario | Case) -> int:
    """Compares the answers of a service and a run; how many lines they are."""
    text = show(scenario.program)
    names = sorted({"main", "s", "r", *(event.stream for event in scenario.events if event.stream is not None)})
    end = max([scenario.last, *(event.tick for event in scenario.events)]) + 1
    documents: dict[str, list[str]] = {name: [] for name in names}
    name = f"p{next(_NUMBERS)}"
    program, _ = service.programs.put(name, body({"case.lars": text}) | {"streams": list(names)})
    bodies = [
        (event.stream or "main", f"{fact} at {event.tick}.\n") for event in scenario.events for fact in event.facts
    ]
    for stream, fact in (*bodies, *((stream, f"it_is_over at {end}.\n") for stream in names)):
        documents[stream].append(fact)
        posted = service.post(stream, "text/plain", fact.encode(), skip=False, key=None).result(60)
    answered = settled(program, posted["seq"])
    assert service.programs.delete(name)
    for stream in names:
        service.streams.delete(stream)
    streams = {stream: Source(f"{stream}.facts", "".join(documents[stream])) for stream in names}
    answers = api.run(Source("case.lars", text), streams, report=lambda warning: None)
    wanted = [line for answer in answers for line in str(answer).splitlines()]
    assert answered == wanted[: len(answered)]
    assert before(answered, end) == before(wanted, end)
    return len(answered)


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(PAGES.keys() - NOT_SHOWN))
def test_cases_are_answered_as_by_a_run(service: Service, page: str, record_property: Any) -> None:
    lines = sum(answered_alike(service, case) for case in cases_of(page))
    record_property("summary", f"{page}: {len(cases_of(page))} cases, {lines} lines")


@settings(max_examples=max(6, settings().max_examples // 10))
@given(random_cascades.definitions(), random_cascades.arrivals((0,)), st.data())
def test_cascades_answer_as_a_run_over_quads_that_are_cut_anywhere(
    service: Service, named: tuple[tuple[str, Pattern], ...], came: list[Arrival], data: st.DataObject
) -> None:
    # An event of quads is complete when another one begins.
    ends = [Arrival(tick, tick, f"<end{tick}>", "<i9>", ("Any",), ()) for tick in (LAST, LAST + 1)]
    quads = random_cascades.absolute("".join(arrival.quads for arrival in (*came, *ends))).splitlines(keepends=True)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(quads)), max_size=8)) | {0, len(quads)})
    known = "".join(" ".join(triple) + " .\n" for triple in random_cascades.BACKGROUND)
    sources = {"case.tw": random_cascades.text_of(named), "case.ofn": random_cascades.ONTOLOGY}
    background = Source("known.nt", random_cascades.absolute(known))
    about = body(sources, background=[{"name": background.name, "text": background.text}])
    program, _ = service.programs.put(f"p{next(_NUMBERS)}", about)
    for first, last in pairwise(cuts):
        text = "".join(quads[first:last]).encode()
        posted = service.post("north", "application/n-quads", text, skip=False, key=None).result(60)
    answered = settled(program, posted["seq"])
    assert service.programs.delete(program.name)
    service.streams.delete("north")
    programs = [Source(name, text) for name, text in sources.items()]
    streams = {"north": Source("north.nq", "".join(quads))}
    answers = api.run(programs, streams, background=background, report=lambda warning: None)
    wanted = [line for answer in answers for line in str(answer).splitlines()]
    assert answered == wanted[: len(answered)]
    assert before(answered, LAST) == before(wanted, LAST)


@settings(max_examples=max(4, settings().max_examples // 12))
@given(scenarios(remembering=True, values=True) | large_scenarios())
def test_random_rules_are_answered_as_by_a_run(service: Service, scenario: Scenario) -> None:
    answered_alike(service, scenario)


@contextmanager
def emptied(service: Service) -> Iterator[None]:
    """A service that has no program behind the block, nor facts of `north` that another one would read."""
    try:
        yield
    finally:
        for program in [*service.programs]:
            service.programs.delete(program.name)
        service.streams.delete("north")


CHANGES: Final = ("put", "put", "from earliest", "same", "checkpoint", "earliest", "now", "delete")


def changed(service: Service, name: str, change: str, sources: dict[str, str]) -> None:
    """Does something with a program, which is there or not."""
    program = next((program for program in service.programs if program.name == name), None)
    if change in ("put", "from earliest"):
        service.programs.put(name, body(sources, **{"from": "now" if change == "put" else "earliest"}))
    elif program is None:
        return
    elif change == "same":
        again, is_new = service.programs.put(name, program.body)
        assert (again, is_new, again.generation) == (program, False, program.generation)
    elif change == "delete":
        assert service.programs.delete(name)
    else:
        program.restart(change)  # type: ignore[arg-type]


@settings(max_examples=max(4, settings().max_examples // 20))
@given(st.data(), st.sampled_from([*SERVED]))
def test_what_happens_to_others_changes_no_line_and_a_late_one_has_them_all(
    service: Service, data: st.DataObject, kind: str
) -> None:
    with emptied(service):
        texts, about = data.draw(pieces(data.draw(statements()))), SERVED[kind]
        options = about.get("options", {})
        number = next(_NUMBERS)
        witness, _ = service.programs.put(f"witness{number}", body(about["sources"], options=options))
        for text in texts:
            posted = service.post("north", "text/plain", text.encode(), skip=False, key=None).result(60)
            for change in data.draw(st.lists(st.sampled_from(CHANGES), max_size=2)):
                changed(service, f"other{number}", change, SERVED[data.draw(st.sampled_from([*SERVED]))]["sources"])
        late, _ = service.programs.put(f"late{number}", body(about["sources"], options=options, **{"from": "earliest"}))
        answered, late_answered = settled(witness, posted["seq"]), settled(late, posted["seq"])
        wanted = expected(about["sources"], texts, **as_run(options))
        last = int(texts[-1].rpartition(" at ")[2].split(".")[0])
        assert answered == late_answered == wanted[: len(answered)]
        assert before(answered, last) == before(wanted, last)
