"""Definitions come and go while a program runs: others do not notice, and each answers as alone from its first tick."""

import json
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from services import EVENTS, EX, KINDS, body, copied, expected, posted, serving, settled, texts
from thalweg.service.refused import RefusedError
from thalweg.service.registered_program import RegisteredProgram
from thalweg.service.service import Service, ServiceOptions

SOURCES: dict[str, str] = KINDS["events"]["sources"]
THRICE = "MATCH EVERY :Slow SEQ :Slow SEQ :Slow WITHIN (6 s)"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path / "data") as opened:
        yield opened


@pytest.fixture
def program(service: Service) -> RegisteredProgram:
    return service.programs.put("p", body(SOURCES))[0]


def lines_of(lines: list[str], *names: str) -> list[str]:
    """The lines of some events."""
    return [line for line in lines if json.loads(line).get("event") in {f"<{EX}{name}>" for name in names}]


def wanted(definitions: dict[str, str], documents: list[str]) -> list[str]:
    """The lines of a run whose text has the definitions, too."""
    more = "".join(
        f"\nNAMED EVENT :{name} {text if text.startswith('AS') else f'{{ {text} }}'}"
        for name, text in definitions.items()
    )
    shown = [f"<{EX}{name}>/1" for name in ("Twice", *definitions)]
    return expected({**SOURCES, "twice.tw": EVENTS + more}, documents, show=shown)


def refused(status: int, change: Any) -> str:
    with pytest.raises(RefusedError) as error:
        change()
    assert error.value.status == status
    return error.value.diagnostics[0].message


def test_a_definition_answers_from_its_first_tick_on(service: Service, program: RegisteredProgram) -> None:
    documents = texts(20)
    settled(program, posted(service, *documents[:4]))
    answer, is_new = program.subscriptions.put("thrice", THRICE)
    seen, _ = program.subscriptions.put("seen", "AS :Seen")
    lines = settled(program, posted(service, *documents[4:]))
    last = max(json.loads(line)["t"] for line in lines)
    assert is_new
    assert seen == answer
    first = answer["from"]
    assert 1 < first < 12
    whole = [
        line for line in wanted({"thrice": THRICE, "seen": "AS :Seen"}, documents) if json.loads(line)["t"] <= last
    ]
    assert lines_of(lines, "Twice") == lines_of(whole, "Twice")
    later = [line for line in lines_of(whole, "thrice", "seen") if json.loads(line)["from"] >= first]
    assert lines_of(lines, "thrice", "seen") == later
    assert len(later) > 10


def test_the_same_text_again_changes_nothing(service: Service, program: RegisteredProgram) -> None:
    settled(program, posted(service, *texts(5)))
    first, _ = program.subscriptions.put("thrice", THRICE)
    settled(program, posted(service, *texts(9)[2:]))
    assert program.subscriptions.put("thrice", THRICE) == (first, False)
    assert program.describe()["subscriptions"] == [{"name": "thrice", "text": THRICE, "from": first["from"]}]


def test_one_that_comes_before_all_facts_begins_with_the_run(service: Service, program: RegisteredProgram) -> None:
    assert program.subscriptions.put("thrice", THRICE) == ({"from": None}, True)
    lines = settled(program, posted(service, *texts(12)))
    whole = lines_of(wanted({"thrice": THRICE}, texts(12)), "thrice")
    assert lines_of(lines, "thrice") == whole[: len(lines_of(lines, "thrice"))]
    assert lines_of(lines, "thrice")


def test_what_is_taken_away_answers_no_more(service: Service, program: RegisteredProgram) -> None:
    program.subscriptions.put("seen", "AS :Seen")
    documents = texts(20)
    earlier = settled(program, posted(service, *documents[:4]))
    program.subscriptions.delete("seen")
    lines = settled(program, posted(service, *documents[4:]))
    assert lines_of(lines, "seen") == lines_of(earlier, "seen") != []
    assert lines_of(lines, "Twice")[-1] not in earlier
    assert "there is no subscription `seen`" in refused(404, lambda: program.subscriptions.delete("seen"))


def test_definitions_of_definitions(service: Service, program: RegisteredProgram) -> None:
    program.subscriptions.put("thrice", THRICE)
    program.subscriptions.put("again", "MATCH EVERY :thrice SEQ :thrice WITHIN (9 s)")
    assert "`again` uses `thrice`" in refused(409, lambda: program.subscriptions.delete("thrice"))
    lines = settled(program, posted(service, *texts(20)))
    whole = lines_of(
        wanted({"thrice": THRICE, "again": "MATCH EVERY :thrice SEQ :thrice WITHIN (9 s)"}, texts(20)), "again"
    )
    assert lines_of(lines, "again") == whole[: len(lines_of(lines, "again"))]
    assert lines_of(lines, "again")
    program.subscriptions.delete("again")
    program.subscriptions.delete("thrice")
    assert program.subscriptions.describe() == []


@pytest.mark.parametrize(
    ("name", "text", "status", "message"),
    [
        ("x", "MATCH EVERY :Slow SEQ", 400, "expected"),
        ("x", "MATCH EVERY :Fast", 400, "is not defined"),
        ("x", "MATCH EVERY :x", 400, "is not defined"),
        ("x", "AS :Unknown", 400, "the ontology does not have the name"),
        ("x", "AS :Seen NAMED EVENT :y AS :Seen", 400, "expected the end of the definition"),
        ("x", "MATCH EVERY other:Slow", 400, "unknown prefix `other:`"),
        ("x", "MATCH EVERY :Slow SEQ NOT :Slow", 400, "nothing follows this `NOT`"),
        ("x", "", 400, "expected `AS` or `MATCH`"),
        ("../x", THRICE, 400, "cannot be the name of a subscription"),
        ("Twice", THRICE, 409, "the program itself uses the name"),
        ("there", "AS :Seen", 409, "there is a subscription `there` with another text"),
        ("x", "AS :Seen" + " " * 1_000_000, 413, "the text may have"),
    ],
)
def test_what_cannot_be_added(program: RegisteredProgram, name: str, text: str, status: int, message: str) -> None:
    program.subscriptions.put("there", "AS :Slow")
    last = program._around.log.last
    assert message in refused(status, lambda: program.subscriptions.put(name, text))
    assert program._around.log.last == last
    assert [listed["name"] for listed in program.subscriptions.describe()] == ["there"]


def test_a_program_without_events_has_no_subscriptions(service: Service) -> None:
    rules, _ = service.programs.put("rules", body(KINDS["rules"]["sources"]))
    assert "no events" in refused(400, lambda: rules.subscriptions.put("x", "AS :Seen"))


def test_a_program_that_has_failed_takes_none(service: Service) -> None:
    endless = {**KINDS["mixed"]["sources"], "n.lars": "n(0) :- speed(r1,V). n(Y) :- n(X), Y = X + 1."}
    failing, _ = service.programs.put("failing", body(endless, memory="1MB"))
    posted(service, "speed(r1,3) at 1.\nspeed(r1,3) at 2.\n")
    failing.current.join()
    assert "the program has failed" in refused(409, lambda: failing.subscriptions.put("x", "AS :Seen"))
    assert "the program has failed" in refused(409, lambda: failing.subscriptions.delete("x"))


def test_beside_rules_subscriptions_are_facts_for_nobody(service: Service) -> None:
    sources = KINDS["mixed"]["sources"] | {
        "jam.lars": KINDS["mixed"]["sources"]["jam.lars"] + f"said(X) :- <{EX}said>(X)."
    }
    mixed, _ = service.programs.put("mixed", body(sources))
    plain, _ = service.programs.put("plain", body(sources))
    mixed.subscriptions.put("seen", "AS :Seen")
    mixed.subscriptions.put("thrice", THRICE)
    seq = posted(service, *texts(20))
    lines, others = settled(mixed, seq), settled(plain, seq)
    added = lines_of(lines, "seen", "thrice")
    assert [line for line in lines if line not in added] == others
    assert added


def test_another_body_drops_them_and_two_programs_have_their_own(service: Service, program: RegisteredProgram) -> None:
    other, _ = service.programs.put("q", body(SOURCES))
    program.subscriptions.put("seen", "AS :Seen")
    settled(other, posted(service, *texts(9)))
    assert other.subscriptions.describe() == []
    changed = {**SOURCES, "twice.tw": EVENTS.replace("3 s", "4 s")}
    service.programs.put("p", body(changed))
    assert program.subscriptions.describe() == []


def test_a_program_goes_on_with_them_from_a_copy_of_the_folder(tmp_path: Path) -> None:
    documents, copies = texts(20), []
    changes = {2: ("thrice", THRICE), 3: ("seen", "AS :Seen"), 6: ("seen", None), 7: ("again", "AS :Slow")}
    with serving(tmp_path / "data") as service:
        program, _ = service.programs.put("p", body(SOURCES))
        for number, document in enumerate(documents):
            settled(program, posted(service, document))
            name, text = changes.get(number, ("", None))
            if text is not None:
                program.subscriptions.put(name, text)
            elif name:
                program.subscriptions.delete(name)
            copies.append(copied(tmp_path / "data", tmp_path / f"copy{number}"))
        described, answered = program.subscriptions.describe(), settled(program, service.log.last)
    assert len(lines_of(answered, "thrice")) > 2
    for number, copy in enumerate(copies):
        with serving(copy) as service:
            program = service.programs.get("p")
            for later, document in enumerate(documents[number + 1 :], number + 1):
                settled(program, posted(service, document))
                name, text = changes.get(later, ("", None))
                if text is not None:
                    program.subscriptions.put(name, text)
                elif name:
                    program.subscriptions.delete(name)
            assert settled(program, service.log.last) == answered
            assert program.subscriptions.describe() == described


# Other generations --------------------------------------------------------------------------------------------------


def named(program: RegisteredProgram) -> list[str]:
    return [subscription["name"] for subscription in program.describe()["subscriptions"]]


def opened(program: RegisteredProgram) -> list[str]:
    """The names of the subscriptions once the generation that was PUT last has been opened."""
    (program.next or program.current).ask(lambda run: None, 60).result()
    return named(program)


def settled_anew(program: RegisteredProgram, seq: int) -> list[str]:
    """The lines of the generation that was PUT last once it answers, and has answered everything up to a record."""
    until = monotonic() + 60
    while program.next is not None:
        program.next.ask(lambda run: None, 60).result()
        assert monotonic() < until
    return settled(program, seq)


def test_a_program_that_begins_again_keeps_its_subscriptions(service: Service, program: RegisteredProgram) -> None:
    documents = texts(30)
    settled(program, posted(service, *documents[:4]))
    program.subscriptions.put("gone", "AS :Seen")
    program.subscriptions.put("thrice", THRICE)
    program.subscriptions.delete("gone")
    answered = settled(program, posted(service, *documents[4:8]))
    program.restart("earliest")
    assert settled_anew(program, service.log.last) == answered
    assert named(program) == ["thrice"]
    program.restart("now")
    assert opened(program) == ["thrice"]
    lines = settled_anew(program, posted(service, *documents[8:]))
    whole = lines_of(wanted({"thrice": THRICE}, documents[8:]), "thrice")
    assert lines_of(lines, "thrice") == whole[: len(lines_of(lines, "thrice"))]
    assert lines_of(lines, "thrice")


def test_one_whose_record_is_no_longer_kept_is_there_from_the_beginning(tmp_path: Path) -> None:
    with serving(tmp_path / "data", ServiceOptions(retain_bytes=1_000_000)) as service:
        program, _ = service.programs.put("p", body(SOURCES))
        program.subscriptions.put("thrice", THRICE)
        for tick in range(1, 60):
            posted(service, f"<{EX}Slow>(<{EX}r1>) at {tick}.\n" + "% " + "x" * 100_000)
        settled(program, service.log.last)
        program.current.save(60)
        service.log.retain()
        assert service.log.first > 2
        program.restart("earliest")
        assert opened(program) == ["thrice"]
        lines = settled_anew(program, service.log.last)
    assert len(lines_of(lines, "thrice")) == len(lines_of(lines, "Twice")) - 1 > 1


@pytest.mark.parametrize("origin", ["now", "earliest", "keep"])
def test_a_body_that_was_there_before_has_none_of_its_subscriptions(
    service: Service, program: RegisteredProgram, origin: str
) -> None:
    changed = {**SOURCES, "twice.tw": EVENTS.replace("3 s", "4 s")}
    program.subscriptions.put("seen", "AS :Seen")
    settled(program, posted(service, *texts(9)))
    service.programs.put("p", body(changed, **{"from": origin}))
    assert opened(program) == []
    settled(program, posted(service, *texts(12)[5:]))
    service.programs.put("p", body(SOURCES, **{"from": origin}))
    assert opened(program) == []
    assert program.subscriptions.put("seen", "AS :Seen")[1]


def test_while_a_program_catches_up_its_subscriptions_are_not_said_to_be_missing(
    service: Service, program: RegisteredProgram
) -> None:
    program.subscriptions.put("seen", "AS :Seen")
    for document in texts(400):
        posted(service, document)
    program.subscriptions.put("thrice", THRICE)
    program.restart("earliest")
    assert not program.subscriptions.put("seen", "AS :Seen", 60)[1]
    program.restart("earliest")
    program.subscriptions.delete("thrice", 60)
    settled_anew(program, service.log.last)
    assert named(program) == ["seen"]
