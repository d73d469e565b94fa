"""Every saved state has a name and a version; a change of its form without another version is noticed here."""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest

from buckets import Buckets
from thalweg import api
from thalweg.dataflow.context import Context, Settings
from thalweg.dataflow.executor import FORMAT, Executor
from thalweg.dataflow.state import StateFormat, sealed, unsealed
from thalweg.diagnostics import RejectedError, Source
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.kinds.part import Part
from thalweg.languages.lars.facts import read_fact
from thalweg.model.arrow import decode, unframe
from thalweg.model.event import Batch, Event
from thalweg.model.time import Clock
from thalweg.runtimes.local import LocalRun

EX = "http://ex/"
RULES = f"""@prefix : <{EX}> .
:d(X) :- :s(X) in [3]. :g(Y) :- :r(X,Y) in [2], not :s(Y) in [1].
:a(X) :- :o(X), not :d(X). :c(X) :- :M_x(E,X) in [3]. :f(X) :- :k(X) in [2]."""
SOLVED = f"#prefix ex: <{EX}>. ex_o(X) :- ex_s(X), not ex_q(X). ex_v(Y) :- ex_r(X,Y)."
PATTERN = "MATCH EVERY :S SEQ :W WITHIN (3 s) IF { EVENT :S { ?x a :s } EVENT :W { ?x a :w } }"
EVENTS = f"PREFIX : <{EX}> NAMED EVENT :S AS :t NAMED EVENT :W AS :w NAMED EVENT :M {{ {PATTERN} }}"
ONTOLOGY = "Prefix(:=<http://ex/>)\nOntology(SubClassOf(:s :t) SubClassOf(:w :u) SubClassOf(:d :e))"
QUERY = f"""PREFIX : <{EX}> REGISTER RSTREAM :made AS CONSTRUCT {{ ?y a :k }}
FROM NAMED WINDOW :w ON STREAM :in [RANGE 3s, SLIDE 1s] WHERE {{ WINDOW :w {{ ?x :r ?y }} }}"""

# The form of each state, by its name and version. Where a form changes, its version must.
FORMS = {
    ("answer set piece", 3): ["252048561a4e16cc", "a63eeda51e76987b"],
    ("answer sets", 1): ["dc617934ee97408b"],
    ("classes", 1): ["47dbebec5d6543d8"],
    ("classify", 1): ["8600f005dbc76515"],
    ("combined answer sets", 1): ["2fac5904e694b563"],
    ("events", 1): ["17c7f2a4e02427b3"],
    # Behind a selection.
    ("events", 2): ["c5675b69e118a71e"],
    ("match", 1): ["360d40933abb1b27"],
    ("publish", 1): ["47dbebec5d6543d8"],
    ("query", 1): ["3a5c4c21554fcbf9"],
    ("query join", 2): ["8abd81343c3934dc"],
    ("query rows", 2): ["f2189c4035147f80"],
    ("rules", 1): ["c1286b26fca4a814"],
}


def mixed() -> Part:
    texts = {"rules.lars": RULES, "solved.lp": SOLVED, "patterns.tw": EVENTS, "site.ofn": ONTOLOGY, "made.rspql": QUERY}
    sources = [Source(name, text) for name, text in texts.items()]
    return api.load_part(sources, solving=SolveOptions(window=2, slide=1, workers=0), report=lambda _: None)


def classes() -> Part:
    return api.load_part([Source("site.ofn", ONTOLOGY)], ontology=api.OntologyOptions(task="abstraction", profile="dl"))


def selecting() -> Part:
    where = "WHERE { WINDOW :v { ?o a ?k } }"
    text = f"{EVENTS} FROM NAMED WINDOW :v ON STREAM :in [RANGE 2s, SLIDE 2s] {where}"
    rules = f"@prefix : <{EX}> . :t(X) :- :q(X)."
    sources = [Source("rules.lars", rules), Source("patterns.tw", text), Source("site.ofn", ONTOLOGY)]
    return api.load_part(sources, report=lambda _: None)


def loop() -> Part:
    rules = f"@prefix : <{EX}> . #record :o/1. :d(X) :- :o(X) before [2]."
    solved = f"#prefix ex: <{EX}>. ex_o(X) :- ex_s(X). ex_o(X) :- ex_d(X), ex_q(X)."
    sources = [Source("rules.lars", rules), Source("solved.lp", solved)]
    return api.load_part(sources, solving=SolveOptions(workers=0), report=lambda _: None)


def events() -> list[Event]:
    facts = ("s(<{0}x>)", "r(<{0}x>,<{0}y>)", "w(<{0}x>)", "q(<{0}z>)")
    named = [f"<{EX}{text[0]}>{text[1:].format(EX)}" for text in facts]
    return [Event(tick, tuple(map(read_fact, named[: 1 + tick % 4])), "in") for tick in range(6)]


def executors() -> Iterator[Executor]:
    """Operators of all kinds, whole and split, in the middle of a run."""
    settings = Settings(first=0, last=9, emit="changes")
    for part in (mixed(), classes(), loop(), selecting()):
        run = LocalRun(part, Context(settings, Clock(), lambda _: None, saves=True))
        for event in events():
            batch = Batch(stream="in")
            for fact in event.facts:
                batch.add(fact.signature, [run.dictionary.code(term) for term in fact.terms])
            list(run.advance(event.tick, [batch]))
        yield run.executor
        buckets = Buckets(part, settings, 2, split="always")
        buckets.take(events(), ended=False)
        yield from (worker.executor for worker in buckets.workers.values())


def form(data: bytes) -> Any:
    """What a state consists of: frames of headers, by their keys, and columns, by their names and types."""
    if not data:
        return "nothing"
    if data[:1] in b"{[":
        content = json.loads(data)
        return ["json", sorted(content) if isinstance(content, dict) else "list"]
    if data[:4] == b"\xff\xff\xff\xff":
        header, lists = decode(data)
        return ["arrow", sorted(header), sorted((name, str(values.dtype if hasattr(values, "dtype") else values.type))
                                                for name, values in lists.items())]  # fmt: skip
    parts = [form(part) for part in unframe(data)]
    return [part for number, part in enumerate(parts) if part not in parts[:number]]


def digest(value: Any) -> str:
    return sha256(json.dumps(value).encode()).hexdigest()[:16]


def forms() -> dict[tuple[str, int], set[str]]:
    found: dict[tuple[str, int], set[str]] = {}
    for executor in executors():
        for node in executor.nodes:
            if node.reached is not None:
                own = node.operator.format
                found.setdefault((own.name, own.version), set()).add(digest(form(node.operator.save())))
    return found


def test_a_state_of_another_form_has_another_version() -> None:
    assert {key: sorted(digests) for key, digests in sorted(forms().items())} == FORMS, "raise the version of the state"


def test_a_state_of_another_version_is_refused_with_both() -> None:
    with pytest.raises(
        RejectedError, match="version 1 of the state `join`, and this version of Thalweg reads version 2"
    ):
        unsealed(StateFormat("join", 2), sealed(StateFormat("join"), b""))


def test_operators_say_what_their_states_are() -> None:
    executor = next(executors())
    names = [json.loads(next(unframe(unsealed_node)))[0] for unsealed_node in states(executor)]
    assert set(names) == {node.operator.format.name for node in executor.nodes}


def states(executor: Executor) -> Iterator[bytes]:
    """The states of operators as an executor saves them."""
    _, *nodes = unframe(unsealed(FORMAT, executor.save()))
    for node in nodes:
        _, state, *_ = unframe(node)
        yield state
