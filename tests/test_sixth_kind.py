"""A kind of another package does all that ours do: nothing but its own folder knows it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import count, islice, product
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import thalweg
from buckets import LOSSES, Buckets, in_buckets, stopped
from thalweg.api.loading import load_part
from thalweg.cli import app
from thalweg.dataflow.context import Settings
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError, Source
from thalweg.ir.nodes import Program
from thalweg.kinds.part import Part
from thalweg.languages.registry import GROUP, registry
from thalweg.model.event import Batch, Event
from thalweg.model.fact import Fact
from thalweg.runtimes.embedded_checkpoint import EmbeddedCheckpoint
from thalweg.runtimes.local import LocalRun
from thalweg.testing import Case, Changes, Difference, check, read_page

HERE = Path(__file__).parent
FOLDER = HERE / "sixth_kind"

DOORS = "tally doors by R: enter(P,R) +1, leave(P,R) -1\n"
CROWD = "crowded(R) :- doors(R,N), N >= 2.\nalarm(R) :- crowded(R), fire(R) in [3].\n"
FACTS = """enter(ann,hall) at 1. enter(bob,hall) at 2. enter(cid,attic) at 2.
fire(hall) at 3. leave(ann,hall) at 5. leave(bob,hall) at 6. leave(cid,attic) at 7.
"""
ANSWERS = """{"t":1,"begin":["doors(hall,1)"],"end":[]}
{"t":2,"begin":["crowded(hall)","doors(attic,1)","doors(hall,2)"],"end":["doors(hall,1)"]}
{"t":3,"begin":["alarm(hall)"],"end":[]}
{"t":5,"begin":["doors(hall,1)"],"end":["alarm(hall)","crowded(hall)","doors(hall,2)"]}
{"t":6,"begin":[],"end":["doors(hall,1)"]}
{"t":7,"begin":[],"end":["doors(attic,1)"]}
"""


@pytest.fixture(autouse=True, scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder with what `pip` leaves of the package of the language."""
    folder = tmp_path_factory.mktemp("installed")
    about = folder / "sixth_kind-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: sixth-kind\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\ntally = sixth_kind:LANGUAGE\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        registry.cache_clear()
        yield folder
    registry.cache_clear()


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("doors.tally").write_text(DOORS)
    Path("crowd.lars").write_text(CROWD)
    Path("in.facts").write_text(FACTS)


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_no_other_file_knows_it() -> None:
    source = HERE.parent / "src"
    assert [path for path in source.rglob("*.py") if "sixth_kind" in path.read_text(encoding="utf-8")] == []


# Case pages ----------------------------------------------------------------------------------------------------------


def pages() -> Iterator[tuple[str, str, Case]]:
    """Each case of a page: its name, its tallies, and the case with its rules."""
    for page in sorted(FOLDER.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        # To the rules a tally is a comment, so that lines keep their numbers.
        cases = {case.title: case for case in read_page(Source(page.name, text.replace("    tally", "    % tally")))}
        for title, section in re.findall(r"^## (.*)\n((?:(?!##).*\n)*)", text, re.MULTILINE):
            tallies = "\n".join(re.findall(r"^    (tally.*)", section, re.MULTILINE))
            yield f"{page.stem}: {title}", tallies, cases[title]


CASES: list[ParameterSet] = [pytest.param(tallies, case, id=name) for name, tallies, case in pages()]


def programs(tallies: str, rules: Program) -> list[Any]:
    """The programs of a case; rules only where there are some."""
    return [Source("doors.tally", tallies), *([rules] if rules.rules else [])]


def changes(lines: Sequence[str]) -> Changes:
    """Lines of answers as a page has them."""
    answers = map(json.loads, lines)
    return {answer["t"]: Difference(frozenset(answer["begin"]), frozenset(answer["end"])) for answer in answers}


def silent(diagnostic: Diagnostic) -> None:
    """Pages show what is warned about, too."""


def batches_of(events: Sequence[Event], size: int) -> list[list[Event]]:
    """Events in batches of a size; a tick may be in two of them."""
    remaining = iter(events)
    return [*iter(lambda: list(islice(remaining, size)), [])]


@pytest.mark.parametrize(("tallies", "case"), CASES)
def test_a_case_in_this_process(tallies: str, case: Case) -> None:
    def evaluate(rules: Program, events: Sequence[Event], first: int, last: int) -> Changes:
        answers = thalweg.run(programs(tallies, rules), stream=events, start=first, end=last, report=silent)
        return changes(list(map(str, answers)))

    check(case, evaluate)


@pytest.mark.parametrize(("tallies", "case"), CASES)
def test_a_case_that_is_saved_after_each_tick(tallies: str, case: Case) -> None:
    def evaluate(rules: Program, events: Sequence[Event], first: int, last: int) -> Changes:
        part = load_part(programs(tallies, rules), report=silent)
        return changes(stopped(part, Settings(first, last), events, range(first, last + 1)))

    check(case, evaluate)


@pytest.mark.parametrize("split", ["auto", "always"])
@pytest.mark.parametrize("partitions", [1, 2, 3])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("tallies", "case"), CASES)
def test_a_case_in_buckets(tallies: str, case: Case, loss: str, partitions: int, split: str) -> None:
    def evaluate(rules: Program, events: Sequence[Event], first: int, last: int) -> Changes:
        part = load_part(programs(tallies, rules), report=silent)
        batches = batches_of(events, 2)
        return changes(in_buckets(part, Settings(first, last), batches, loss, partitions, split=split))

    check(case, evaluate)


# Any stream ----------------------------------------------------------------------------------------------------------

FULL = CROWD + "enter(P,R) :- badge(P,R), not fire(R).\nquiet(R) :- room(R), not doors(R,_).\nroom(a). room(b).\n"
# Rules and tallies read each other through `before`: by the room, and by room and person.
LOOP = """#record doors/2. full(R) :- doors(R,N) before [1], N >= 2.
enter(P,R) :- badge(P,R), not full(R). late(P) :- enter(P,R) in [2], fire(R)."""
TWO_KEYS = (
    LOOP
    + """ #record moves/2. tired(P) :- moves(P,N) before [2], N >= 2.
leave(P,R) :- badge(P,R), tired(P)."""
)
BOTH = DOORS + "tally moves by P: enter(P,R) +1, leave(P,R) +1\n"


def facts() -> st.SearchStrategy[Fact]:
    names = st.sampled_from(["enter", "leave", "badge"])
    pairs = st.builds(lambda name, *terms: Fact(name, terms), names, st.sampled_from("xyz"), st.sampled_from("abc"))
    return pairs | st.builds(lambda room: Fact("fire", (room,)), st.sampled_from("abc"))


streams = st.lists(st.lists(facts(), max_size=4), min_size=1, max_size=12).map(
    lambda ticks: [Event(tick, tuple(some)) for tick, some in enumerate(ticks) if some]
)


@given(
    streams,
    st.sampled_from(["", FULL, LOOP, TWO_KEYS]),
    st.sampled_from(["changes", "snapshot", "intervals"]),
    st.integers(1, 3),
    st.sampled_from(["auto", "always"]),
    st.sampled_from(LOSSES),
)
def test_buckets_are_one_process(
    events: list[Event], rules: str, emit: str, partitions: int, split: str, loss: str
) -> None:
    part = whole(rules)
    settings = Settings(0, 14, emit=emit)
    apart = in_buckets(part, settings, batches_of(events, 3) or [[]], loss, partitions, split=split)
    expected = list(map(str, thalweg.run(texts(rules), stream=events, start=0, end=14, emit=emit, report=silent)))
    # An interval that is known in a later batch comes with it.
    assert sorted(apart) == sorted(expected) if emit == "intervals" else apart == expected


def texts(rules: str) -> list[Any]:
    return [Source("doors.tally", BOTH), *([Source("crowd.lars", rules)] if rules else [])]


def whole(rules: str) -> Part:
    return load_part(texts(rules), report=silent)


@pytest.mark.parametrize(
    ("rules", "split", "widths"),
    [
        ("", "auto", [3, 3]),
        (CROWD, "always", [3, 3, 3]),
        # A loop with one key is in one fragment, one without is in one bucket.
        (LOOP, "auto", [3, 3, 3]),
        (LOOP, "always", [3, 3, 3]),
        (TWO_KEYS, "always", [1]),
    ],
)
def test_it_is_split_by_its_key(rules: str, split: str, widths: list[int]) -> None:
    buckets = Buckets(whole(rules), Settings(0, 5), 3, split=split)
    assert [fragment.width for fragment in buckets.job.fragments] == widths


# Beside all kinds ----------------------------------------------------------------------------------------------------

MADE = """CONSTRUCT { ?p <http://e/in> ?r } FROM NAMED WINDOW <w> ON <s> [RANGE 2, SLIDE 1]
WHERE { WINDOW <w> { ?p <http://e/at> ?d . ?d <http://e/of> ?r } }"""
HEARD = "SELECT ?r ?n FROM NAMED WINDOW <w> ON <rooms> [RANGE 1, SLIDE 1] { WINDOW <w> { ?r ?p ?n } }"
EVENTS = """PREFIX : <http://e/>
NAMED EVENT :Alarm AS :Fire
NAMED EVENT :Again { MATCH EVERY :Alarm SEQ :Alarm WITHIN (9 s) }"""
KINDS = [
    Source("made.rspql", MADE),
    Source("rooms.tally", "tally seen by R: <http://e/in>(P,R) +1, <http://e/Again>(R) +9"),
    Source("heard.rspql", HEARD),
    Source("go.lp", "go(N) :- seen(_,N). #show go/1."),
    Source("events.tw", EVENTS),
    Source("crowd.lars", "busy(R) :- seen(R,N), N > 1. twice(R) :- busy(R), go(3). again :- seen(_,9)."),
]


def triple(subject: str, predicate: str, *things: str) -> Fact:
    subject, predicate, *terms = (f"<http://e/{name}>" for name in (subject, predicate, *things))
    return Fact(predicate, (subject, *terms))


def test_it_reads_and_is_read_by_all_kinds() -> None:
    pytest.importorskip("clingo")
    rooms = [triple("d1", "of", "hall"), triple("d2", "of", "loft")]
    visits = [(1, "ann", "d1"), (2, "bob", "d2"), (3, "cid", "d1"), (5, "ann", "d2"), (6, "dan", "d1")]
    events = [Event(tick, (*rooms, triple(person, "at", door)), "s") for tick, person, door in visits]
    events += [Event(tick, (triple(f"f{tick}", "Fire"),), "s") for tick in (6, 7)]
    answers = list(map(str, thalweg.run(KINDS, stream=events, start=1, end=8, report=silent)))
    text = "\n".join(answers)
    parts = [
        '"twice(<http://e/hall>)"',
        '"again"',
        '{"r":"<http://e/hall>","n":"3"}',
        '"go(3)"',
        '"event":',
    ]
    assert [part for part in parts if part not in text] == []
    part = load_part(KINDS, report=silent)
    for partitions, split, loss in product((1, 2, 3), ("auto", "always"), LOSSES):
        assert in_buckets(part, Settings(1, 8), batches_of(events, 2), loss, partitions, split=split) == answers


def test_all_its_tallies_are_heard() -> None:
    tallies = "tally seen by R: in(P,R) +1\ntally idle by R: out(P,R) +1"
    events = [Event(1, (Fact("in", ("ann", "<http://e/hall>")),), "s")]
    answers = thalweg.run([Source("rooms.tally", tallies), Source("q.rspql", HEARD)], stream=events, report=silent)
    assert '{"r":"<http://e/hall>","n":"1"}' in "\n".join(map(str, answers))


# Commands ------------------------------------------------------------------------------------------------------------


def test_it_runs_and_rules_read_it() -> None:
    assert command("run", "doors.tally", "crowd.lars", "--stream", "in.facts", "--quiet").output == ANSWERS


def test_it_runs_beside_answer_sets_and_queries_that_hear_it() -> None:
    pytest.importorskip("clingo")
    query = "SELECT ?r ?n FROM NAMED WINDOW <w> ON <doors> [RANGE 1, SLIDE 1] { WINDOW <w> { ?r ?p ?n } }"
    chosen = Source("go.lp", "go(N) :- doors(_,N). #show go/1.")
    events = [
        Event(1, (Fact("enter", ("ann", "<http://e/hall>")),)),
        Event(2, (Fact("enter", ("bob", "<http://e/hall>")),)),
    ]
    texts = [Source("doors.tally", DOORS), chosen, Source("q.rspql", query)]
    answers = thalweg.run(texts, stream=events, report=silent)
    assert list(map(str, answers)) == [
        '{"t":1,"window":[1,1],"answers":[["go(1)"]]}',
        '{"t":1,"window":[1,1],"bindings":[{"r":"<http://e/hall>","n":"1"}]}',
        '{"t":1,"begin":["doors(<http://e/hall>,1)"],"end":[]}',
        '{"t":2,"window":[2,2],"answers":[["go(2)"]]}',
        '{"t":2,"window":[2,2],"bindings":[{"r":"<http://e/hall>","n":"2"}]}',
        '{"t":2,"begin":["doors(<http://e/hall>,2)"],"end":["doors(<http://e/hall>,1)"]}',
    ]


def test_what_is_shown_is_chosen() -> None:
    run = ("run", "doors.tally", "crowd.lars", "--stream", "in.facts", "--quiet", "--emit", "intervals", "--show")
    assert command(*run, "crowded/1").output == '{"fact":"crowded(hall)","from":2,"until":4}\n'
    shown = command("run", "doors.tally", "--stream", "in.facts", "--quiet", "--show", "door/2")
    assert "`--show door/2` has no effect: no rule derives it" in shown.output


def test_a_table_has_its_facts() -> None:
    rows = command("run", "doors.tally", "--stream", "in.facts", "--quiet", "--format", "csv").output.splitlines()
    assert rows[:2] == ["t,op,predicate,args", '1,+,doors,"[""hall"",1]"']


def test_what_is_wrong_has_its_place() -> None:
    Path("doors.tally").write_text(f"{DOORS}tally doors by R: enter(P) +1\n")
    output = command("check", "doors.tally").output
    assert output.startswith("error[E101]: `enter(P) +1` must have the key `R` once\n  doors.tally:2:1\n")
    (wrong,) = thalweg.check(Source("doors.tally", DOORS), "enter(P,R) :- doors(R,N), ghost(P).")
    assert (wrong.code, wrong.message) == ("E513", "the tally reads `enter/2`, which depends on its own answers")


def test_options_of_others_are_refused() -> None:
    with pytest.raises(RejectedError, match="`--memory` is only for"):
        list(thalweg.run("doors.tally", stream="in.facts", memory="1M"))
    with pytest.raises(RejectedError, match="`memory` cannot be used with tallies"):
        list(thalweg.run(["doors.tally", "crowd.lars"], stream="in.facts", memory="1M"))


# Why -----------------------------------------------------------------------------------------------------------------


def test_why_goes_through_rules_to_the_count() -> None:
    output = command("why", "doors.tally", "crowd.lars", "--stream", "in.facts", "--at", "5", "doors(hall,1)").output
    assert output == (
        "doors(hall,1)   until 5\n"
        "  by tally doors by R: enter(P,R) +1, leave(P,R) -1   (doors.tally:1:1)\n"
        "    enter(P,R) +1: 2 times   until 5\n"
        "    leave(P,R) -1: 1 times   until 5\n"
    )
    output = command("why", "doors.tally", "crowd.lars", "--stream", "in.facts", "--at", "4", "alarm(hall)").output
    assert output == (
        "alarm(hall)   until 4\n"
        "  by alarm(R) :- crowded(R), fire(R) in [3].   (crowd.lars:2:1)\n"
        "    crowded(hall)   until 4\n"
        "      by crowded(R) :- doors(R,N), N >= 2.   (crowd.lars:1:1)\n"
        "        doors(hall,2)   until 4\n"
        "          by tally doors by R: enter(P,R) +1, leave(P,R) -1   (doors.tally:1:1)\n"
        "            enter(P,R) +1: 2 times   until 4\n"
        "    fire(hall) in [3] at 3   [stream] until 6\n"
    )


@pytest.mark.parametrize("beside", [(), ("crowd.lars",)])
def test_why_a_count_is_another_one(beside: tuple[str, ...]) -> None:
    result = command("why", "doors.tally", *beside, "--stream", "in.facts", "--at", "4", "doors(hall,3)")
    assert result.exit_code == 1
    assert "the tally derives `doors/2`, and `doors` is at 2 for `hall`" in result.output


# Checkpoints ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def crash(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Runs take a checkpoint after every item, and end after as many steps as the list says."""
    steps = [0]
    advance = LocalRun.advance

    def crashing(run: LocalRun, tick: int, batches: list[Batch]) -> Iterator[Any]:
        steps[0] -= 1
        yield from advance(run, tick, batches)
        if steps[0] == 0:
            raise FailedError(Diagnostic("E407", "this is a crash"))

    monkeypatch.setattr(LocalRun, "advance", crashing)
    items = count()
    monkeypatch.setattr(EmbeddedCheckpoint, "is_due", property(lambda checkpoint: next(items) >= 0))
    monkeypatch.setattr("thalweg.connectors.files.FILE_BLOCK", 40)
    return steps


@pytest.mark.parametrize("beside", [(), ("crowd.lars",)])
def test_stopped_and_resumed_is_never_stopped(beside: tuple[str, ...], crash: list[int]) -> None:
    line = ("run", "doors.tally", *beside, "--stream", "in.facts", "--quiet")
    expected = command(*line).output
    crashes = 0
    for number in (2, 1, 3, 0):
        crash[0] = number
        result = command(*line, "--out", "out.jsonl", "--checkpoint", "kept")
        assert result.exit_code in (0, 3), result.output
        crashes += result.exit_code == 3
    assert crashes > 1
    assert Path("out.jsonl").read_text() == expected


def test_why_is_asked_of_a_checkpoint(crash: list[int]) -> None:
    crash[0] = 5
    line = ("--stream", "in.facts", "--quiet", "--out", "out.jsonl", "--checkpoint", "kept")
    assert command("run", "doors.tally", "crowd.lars", *line).exit_code == 3
    crash[0] = 0
    result = command("why", "doors.tally", "crowd.lars", "--checkpoint", "kept", "doors(attic,1)")
    assert "enter(P,R) +1: 1 times" in result.output


def test_a_checkpoint_of_another_tally_is_refused(crash: list[int]) -> None:
    crash[0] = 3
    line = ("run", "doors.tally", "--stream", "in.facts", "--out", "out.jsonl", "--checkpoint", "kept")
    assert command(*line).exit_code == 3
    Path("doors.tally").write_text(DOORS.replace("+1", "+2"))
    assert "belongs to another program" in command(*line).output


# Explain -------------------------------------------------------------------------------------------------------------


def test_its_plan_is_explained() -> None:
    text = command("explain", "doors.tally", "--runtime", "spark").output
    assert "doors for each R: tally doors by R: enter(P,R) +1, leave(P,R) -1" in text
    assert "doors is counted in 2 partitions by R" in text
    data = json.loads(command("explain", "doors.tally", "--runtime", "spark", "--format", "json").output)
    assert [(stage["key"], stage["partitions"]) for stage in data["stages"]] == [(["R"], 2)]
    assert data["tallies"][0]["name"] == "doors"
    assert "tally doors" in command("explain", "doors.tally", "--format", "svg").output


def test_its_plan_is_explained_beside_rules() -> None:
    explain = ("explain", "doors.tally", "crowd.lars")
    assert "     reads doors/2 from part 1\n" in command(*explain).output
    data = json.loads(command(*explain, "--runtime", "spark", "--format", "json").output)
    assert [part["kind"] for part in data["parts"]] == ["tallies", "rules"]
    stages = {tuple(stage["rules"]): stage["key"] for stage in data["stages"]}
    assert stages[(DOORS.strip(),)] == ["R"]
    svg = command(*explain, "--runtime", "spark", "--format", "svg").output
    assert svg.startswith("<svg")
    assert "2 partitions by R" in svg


# Spark ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.spark
def test_it_runs_on_spark(installed: Path) -> None:
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(installed), str(HERE), os.environ.get("PYTHONPATH", "")]),
    }
    spark = ("--runtime", "spark", "--partitions", "2", "--split", "always")
    arguments = ("run", "doors.tally", "crowd.lars", "--stream", "in.facts", "--quiet", *spark)
    done = subprocess.run(
        [sys.executable, "-m", "thalweg", *arguments], env=environment, check=False, capture_output=True, text=True
    )
    assert (done.stdout, done.returncode) == (ANSWERS, 0), done.stderr
