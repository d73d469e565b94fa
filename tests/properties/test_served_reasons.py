"""A service says why something held, or why it did not, as `thalweg why` does over the same text."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_large_programs import large_scenarios
from services import ANSWER_SETS, EVENTS, EX, KINDS, ONTOLOGY, RULES, body, serving, settled, texts
from thalweg import api
from thalweg.diagnostics import Source
from thalweg.ir.text import show
from thalweg.service.generation import Generation
from thalweg.service.past import why_now, why_then
from thalweg.service.refused import RefusedError
from thalweg.service.registered_program import RegisteredProgram
from thalweg.service.service import Service
from thalweg.testing.strategies import Scenario, facts, scenarios

STREAMS: Final = ("main", "s", "r")
_NUMBERS = count()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("served") / "data") as opened:
        yield opened


def asked(generation: Generation, service: Service, text: str, at: int | None) -> dict[str, Any]:
    """What the service answers, a proof or what comes nearest to one."""
    try:
        return why_now(generation, text) if at is None else why_then(service, generation, text, str(at))
    except RefusedError as error:
        refused = error
    assert (refused.status, [diagnostic.code for diagnostic in refused.diagnostics]) == (404, ["E405"]), refused
    return refused.about


def said(programs: list[Source], text: str, at: int, streams: dict[str, Source]) -> dict[str, Any]:
    """What the command prints."""
    proof = api.why(programs, text, at, streams, report=lambda warning: None)
    if proof is not None:
        return {"t": at, "proof": proof.as_data()}
    absence = api.why_not(programs, text, at, streams, report=lambda warning: None)
    assert absence is not None
    return {"why_not": absence.as_data()}


@contextmanager
def registered(service: Service, sources: dict[str, str], streams: Sequence[str]) -> Iterator[RegisteredProgram]:
    """A program that is deleted in the end, with its streams."""
    program, _ = service.programs.put(f"p{next(_NUMBERS)}", body(sources, streams=[*streams]))
    try:
        yield program
    finally:
        assert service.programs.delete(program.name)
        for stream in streams:
            service.streams.delete(stream)


@settings(max_examples=max(6, settings().max_examples // 8))
@given(scenarios(remembering=True, values=True) | large_scenarios(), st.data())
def test_random_rules_have_the_reasons_that_the_command_prints(
    service: Service, scenario: Scenario, data: st.DataObject
) -> None:
    programs = [Source("case.lars", show(scenario.program))]
    end = max([scenario.last, *(event.tick for event in scenario.events)]) + 1
    documents = dict.fromkeys(STREAMS, "")
    came = [(event.stream or "main", f"{fact} at {event.tick}.\n") for event in scenario.events for fact in event.facts]
    first = min([end, *(event.tick for event in scenario.events)])
    with registered(service, {"case.lars": programs[0].text}, STREAMS) as program:
        for stream, text in (*came, *((stream, f"it_is_over at {end}.\n") for stream in STREAMS)):
            documents[stream] += text
            posted = service.post(stream, "text/plain", text.encode(), skip=False, key=None).result(60)
        lines = map(json.loads, settled(program, posted["seq"]))
        streams = {stream: Source(f"{stream}.facts", text) for stream, text in documents.items()}
        generation = program.current
        if generation.t is None:
            return
        held = [fact["fact"] for fact in program.snapshot()[1]["facts"]]
        mentioned = sorted({fact for line in lines for fact in (*line["begin"], *line["end"])} | {*held})
        for _ in range(3):
            text = data.draw(st.sampled_from(mentioned) if mentioned else facts().map(str))
            at = min(data.draw(st.integers(first, end)), generation.t)
            assert asked(generation, service, text, at) == said(programs, text, at, streams), (text, at)
        for text in held[:2]:
            assert asked(generation, service, text, None) == said(programs, text, generation.t, streams), text


SOURCES: Final = {
    **{kind: KINDS[kind]["sources"] for kind in ("query", "events")},
    "rules and events": {"jam.lars": RULES, "twice.tw": EVENTS, "seen.ttl": ONTOLOGY},
    "rules and answer sets": {"jam.lars": RULES, "side.lp": ANSWER_SETS},
}


@pytest.mark.parametrize("kind", SOURCES)
def test_other_kinds_have_the_reasons_that_the_command_prints(service: Service, kind: str) -> None:
    sources, documents = SOURCES[kind], texts(20)
    programs = [Source(name, text) for name, text in sources.items()]
    stream = {"north": Source("north.facts", "".join(documents))}
    with registered(service, sources, ["north"]) as program:
        for text in documents:
            posted = service.post("north", "text/plain", text.encode(), skip=False, key=None).result(60)
        settled(program, posted["seq"])
        pairs = [
            pair
            for at in ((9,) if "side.lp" in sources else (4, 9, 17))
            for pair in reasons(service, program.current, programs, at, stream)
        ]
    assert all(answered == expected for answered, expected in pairs)
    assert any("proof" in expected for _, expected in pairs)


def reasons(
    service: Service, generation: Generation, programs: list[Source], at: int, stream: dict[str, Source]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """What the service answers and what the command prints, for facts, events and rows at a tick."""
    names = {program.name for program in programs}
    if "slow.rspql" in names:
        for row in (f"?s=<{EX}r{road}>" for road in range(4)):
            proof = api.why_row(programs, row, at, stream, report=lambda warning: None)
            yield asked(generation, service, row, at), {} if proof is None else {"t": at, "proof": proof.as_data()}
    if "twice.tw" in names:
        event = api.why_event(programs, ":Twice", at, stream, report=lambda warning: None)
        assert event is not None
        expected = {"why_not": event.as_data()} if event.proof is None else {"t": at, "proof": event.as_data()}
        yield asked(generation, service, ":Twice", at), expected
    if "jam.lars" in names:
        for fact in (f"jam(r{road})" for road in range(3)):
            yield asked(generation, service, fact, at), said(programs, fact, at, stream)
