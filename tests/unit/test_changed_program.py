"""`--on-change begin`: a run goes on from its checkpoint with a changed program."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from taken_items import Taken, after_each_item
from thalweg.cli import app
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.sealed import Format, seal, unseal
from thalweg.runtimes.embedded_checkpoint import FORMAT, EmbeddedCheckpoint
from thalweg.runtimes.local import LocalRun

RULES = """
slow(R) :- speed(R,V) in [3], V < 20.
jam(R) :- slow(R), light(R) in [9].
seen(R) :- speed(R,_) in [40].
"""
WIDER = RULES.replace("[9]", "[12]")
COMMAND = ("run", "rules.lars", "--stream", "in.facts", "--out", "out.jsonl", "--checkpoint", "kept")
BEGIN = (*COMMAND, "--on-change", "begin")
CUT = 20


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.lars").write_text(RULES)
    lines = (
        f"speed({'ab'[tick % 2]},{tick * 7 % 31}) at {tick}.\nlight({'ba'[tick % 2]}) at {tick}.\n"
        for tick in range(40)
    )
    Path("in.facts").write_text("".join(lines))


class Stop:
    """Interrupts a run when an item of a tick has come."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at: int | None = None
        after_each_item(monkeypatch, self._see)

    def _see(self, run: LocalRun, item: Taken) -> None:
        if self.at is not None and isinstance(item, tuple) and item[0] >= self.at:
            run._interrupt.asked = True


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> Stop:
    return Stop(monkeypatch)


def thalweg(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def stopped(stop: Stop, *command: str, at: int = CUT) -> Result:
    """Runs a command up to a tick, and leaves its checkpoint."""
    stop.at = at
    result = thalweg(*command)
    stop.at = None
    assert result.exit_code == 0, result.output
    return result


def changes(name: str = "out.jsonl") -> dict[int, tuple[list[str], list[str]]]:
    lines = map(json.loads, Path(name).read_text().splitlines())
    return {line["t"]: (line["begin"], line["end"]) for line in lines}


def about(predicate: str, found: dict[int, tuple[list[str], list[str]]]) -> list[tuple[int, list[str], list[str]]]:
    own = [
        (tick, *([fact for fact in facts if fact.startswith(f"{predicate}(")] for facts in sides))
        for tick, sides in found.items()
    ]
    return [change for change in own if change[1] or change[2]]


def test_what_is_unchanged_goes_on_and_all_else_begins(stop: Stop) -> None:
    assert thalweg("run", "rules.lars", "--stream", "in.facts", "--out", "whole.jsonl").exit_code == 0
    whole = changes("whole.jsonl")
    stopped(stop, *COMMAND)
    Path("rules.lars").write_text(WIDER)
    refused = thalweg(*COMMAND)
    assert (refused.exit_code, "belongs to another program" in refused.output) == (1, True)
    assert "go on with the changed one (`--on-change begin`)" in " ".join(refused.output.split())
    result = thalweg(*BEGIN)
    assert result.exit_code == 0, result.output
    assert "W422" in result.output
    assert "`jam/1` begins at 20; `seen/1`, `slow/1` go on" in result.output
    found = changes()
    assert about("slow", found) == about("slow", whole)
    assert about("seen", found) == about("seen", whole)
    jams = [change for change in about("jam", found) if change[0] >= CUT]
    # The light of `a` was before: what rested on it ends, and what comes now begins anew.
    assert jams[0] == (CUT, ["jam(b)"], ["jam(a)", "jam(b)"])


def test_a_run_that_is_killed_before_its_first_checkpoint_begins_again(
    stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the changed program counts before its state is saved: the earlier one could go on as well."""
    stopped(stop, *COMMAND)
    Path("rules.lars").write_text(WIDER)
    with monkeypatch.context() as patch:
        patch.setattr(LocalRun, "_save", lambda *_: None)
        patch.setattr(EmbeddedCheckpoint, "finish", lambda *_: None)
        assert thalweg(*BEGIN).exit_code == 0
    first = Path("out.jsonl").read_text()
    again = thalweg(*BEGIN)
    assert "`jam/1` begins at 20" in again.output
    assert Path("out.jsonl").read_text() == first


def test_the_plan_of_an_earlier_time_is_not_taken_for_that_of_the_run(stop: Stop) -> None:
    """A run that is killed as it takes over leaves the plan of the program before it, which may come back."""
    Path("rules.lars").write_text(f"{RULES}more(R) :- speed(R,_) in [30].")
    stopped(stop, *COMMAND, at=10)
    plan = next(Path("kept").glob("plan-*"))
    left = plan.read_bytes()
    Path("rules.lars").write_text(RULES)
    stopped(stop, *BEGIN, at=20)
    plan.write_bytes(left)
    Path("rules.lars").write_text(f"{RULES}more(R) :- speed(R,_) in [30].")
    assert "`more/1` begins at 20" in stopped(stop, *BEGIN, at=30).output
    assert plan.read_bytes() != left
    assert thalweg(*BEGIN).exit_code == 0


def test_what_was_changed_is_resumed_without_a_word(stop: Stop) -> None:
    stopped(stop, *COMMAND)
    Path("rules.lars").write_text(WIDER)
    shutil.copytree("kept", "copy")
    shutil.copy("out.jsonl", "copy.jsonl")
    assert thalweg(*BEGIN).exit_code == 0
    expected = Path("out.jsonl").read_text()
    shutil.rmtree("kept")
    shutil.copytree("copy", "kept")
    shutil.copy("copy.jsonl", "out.jsonl")
    stopped(stop, *BEGIN, at=30)
    assert sorted(path.name[:5] for path in Path("kept").iterdir()) == ["lock", "plan-", "progr", "state"]
    result = stopped(stop, *COMMAND, at=35)
    assert "W422" not in result.output
    assert thalweg(*COMMAND).exit_code == 0
    assert Path("out.jsonl").read_text() == expected


def test_a_third_program_takes_over_from_the_second(stop: Stop) -> None:
    stopped(stop, *COMMAND)
    Path("rules.lars").write_text(WIDER)
    stopped(stop, *BEGIN, at=28)
    Path("rules.lars").write_text(f"{WIDER}\nboth(R) :- jam(R), seen(R).\n")
    result = stopped(stop, *BEGIN, at=33)
    assert "`both/1` begins at 28; `jam/1`, `seen/1`, `slow/1` go on" in result.output
    Path("rules.lars").write_text("both(R) :- seen(R).\nseen(R) :- speed(R,_) in [40].\n")
    result = thalweg(*BEGIN)
    assert "`both/1` begins at 33; `seen/1` goes on; `jam/1`, `slow/1` are gone" in result.output
    found = changes()
    assert [tick for tick, _, _ in about("seen", found)] == [0, 1]
    assert about("jam", found)[-1][0] == 33
    assert about("both", found)[-1] == (33, ["both(a)", "both(b)"], ["both(a)", "both(b)"])


@pytest.mark.parametrize("emit", ["intervals", "snapshot"])
def test_intervals_and_snapshots_end_what_is_gone(emit: str, stop: Stop) -> None:
    command = ("--emit", emit, "--to", "45")
    stopped(stop, *COMMAND, *command)
    Path("rules.lars").write_text("seen(R) :- speed(R,_) in [40].\n")
    assert thalweg(*BEGIN, *command).exit_code == 0
    lines = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    if emit == "snapshot":
        assert [line["t"] for line in lines] == [*range(46)]
        assert {fact[:4] for line in lines for fact in line["facts"] if line["t"] >= CUT} == {"seen"}
        assert {fact[:3] for fact in lines[CUT - 1]["facts"]} == {"jam", "see", "slo"}
    else:
        gone = [line for line in lines if not line["fact"].startswith("seen")]
        assert max(line["until"] for line in gone) == CUT - 1
        assert [line for line in lines if line["fact"] == "seen(a)"] == [{"fact": "seen(a)", "from": 0, "until": None}]


def test_what_is_shown_may_change(stop: Stop) -> None:
    """A predicate that is shown from now on begins as it holds; one that is not shown any more ends."""
    Path("rules.lars").write_text(f"{RULES}\n#show jam/1.\n")
    stopped(stop, *COMMAND)
    Path("rules.lars").write_text(f"{RULES}\n#show seen/1.\n")
    assert thalweg(*BEGIN).exit_code == 0
    found = changes()
    assert {tick: sides for tick, sides in found.items() if tick >= CUT} == {
        CUT: (["seen(a)", "seen(b)"], ["jam(a)", "jam(b)"])
    }


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--emit", "snapshot"), "belongs to a run with another `--emit`"),
        (("--delay", "4"), "belongs to a run with another `--delay`"),
        (("--to", "50"), "belongs to a run with another `--to`"),
        (("--zone", "Europe/Rome"), "belongs to a run with another `--zone`"),
        (("--tick", "5s"), "belongs to a run with another `--tick`"),
        (("--out", "other.jsonl"), "belongs to a run with another `--out`"),
    ],
)
def test_other_settings_are_refused_with_a_changed_program(more: tuple[str, ...], said: str, stop: Stop) -> None:
    stopped(stop, *COMMAND)
    before = Path("out.jsonl").read_text()
    Path("rules.lars").write_text(WIDER)
    result = thalweg(*BEGIN, *more)
    assert (result.exit_code, said in result.output) == (1, True), result.output
    assert Path("out.jsonl").read_text() == before


def test_a_budget_is_for_all_rules(stop: Stop) -> None:
    stopped(stop, *COMMAND, "--memory", "1M")
    Path("rules.lars").write_text(WIDER)
    result = thalweg(*BEGIN, "--memory", "1M")
    assert (result.exit_code, "either all rules go on or all begin" in result.output) == (1, True), result.output


def test_on_change_needs_a_checkpoint() -> None:
    result = thalweg("run", "rules.lars", "--stream", "in.facts", "--on-change", "begin")
    assert (result.exit_code, "give `--checkpoint`" in result.output) == (2, True)


def test_a_checkpoint_without_a_plan_is_refused(stop: Stop) -> None:
    """As a version before wrote it: the same program goes on, and another one does not."""
    stopped(stop, *COMMAND)
    folder = Path("kept")
    about, state = unframe(unseal((folder / "state").read_bytes(), FORMAT))
    header = {name: value for name, value in decode(about)[0].items() if name != "program"}
    (folder / "state").write_bytes(seal(frame([encode(header, {}), state]), Format(8, 8)))
    (next(folder.glob("plan-*"))).unlink()
    Path("rules.lars").write_text(WIDER)
    result = thalweg(*BEGIN)
    assert (result.exit_code, "does not say what its program was" in result.output) == (1, True), result.output
    Path("rules.lars").write_text(RULES)
    stopped(stop, *COMMAND, at=25)
    Path("rules.lars").write_text(WIDER)
    result = thalweg(*BEGIN)
    assert "`jam/1` begins at 25" in result.output


def test_a_plan_of_another_version_is_refused(stop: Stop) -> None:
    stopped(stop, *COMMAND)
    file = next(Path("kept").glob("plan-*"))
    about, plan = unframe(unseal(file.read_bytes(), FORMAT))
    header = {name: value for name, value in decode(about)[0].items() if name != "version"}
    file.write_bytes(seal(frame([encode(header, {}), plan]), FORMAT))
    Path("rules.lars").write_text(WIDER)
    result = thalweg(*BEGIN)
    assert (result.exit_code, "error[E421]: the checkpoint has version 1 of the state `program`" in result.output) == (
        1,
        True,
    )


def test_mappings_are_part_of_what_reads_them(stop: Stop) -> None:
    rows = [{"s": "ab"[tick % 2], "v": tick, "w": 30 - tick, "t": tick} for tick in range(30)]
    Path("in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    Path("mapped.lars").write_text("slow(S) :- speed(S,V), V < 9. late(S) :- wait(S,V), V < 9.\n")
    command = ("run", "mapped.lars", "--stream", "in.jsonl", "--out", "out.jsonl", "--checkpoint", "kept")
    speed = ("--map", "speed(s, v) at t")
    stopped(stop, *command, *speed, "--map", "wait(s, w) at t", at=10)
    other = (*speed, "--map", "wait(s, v) at t")
    refused = thalweg(*command, *other)
    assert (refused.exit_code, "another `--map`" in refused.output) == (1, True), refused.output
    result = thalweg(*command, *other, "--on-change", "begin")
    assert "`late/1` begins at 1970-01-01T00:00:10Z; `slow/1` goes on" in result.output


def test_a_deployment_says_it(stop: Stop) -> None:
    text = """program = ["rules.lars"]
[streams.in]
from = "in.facts"
[output]
to = "out.jsonl"
[runtime]
checkpoint = "kept"
on_change = "begin"
"""
    Path("city.toml").write_text(text)
    stopped(stop, "run", "city.toml")
    Path("rules.lars").write_text(WIDER)
    result = thalweg("run", "city.toml")
    assert "`jam/1` begins at 20" in result.output, result.output


def test_why_asks_rules_that_began_at_different_ticks(stop: Stop) -> None:
    stopped(stop, *COMMAND)
    Path("rules.lars").write_text(WIDER)
    stopped(stop, *BEGIN, at=30)
    result = thalweg("why", "rules.lars", "jam(a)", "--checkpoint", "kept")
    assert result.exit_code == 0, result.output
    assert "slow(a)" in result.output


CITY = """program = ["city.lars"]
[streams.speeds]
from = "speeds.jsonl"
map = "speed(s, v) at t"
{more}[output]
to = "out.jsonl"
[runtime]
checkpoint = "kept"
on_change = "begin"
"""
SLOW = "slow(S) :- speed(S,V) in [9], V < 9.\n"
WET = """[streams.rain]
from = "rain.jsonl"
map = "rain(s) at t"
"""


def test_a_stream_may_be_new_where_its_mapping_says_what_it_brings(stop: Stop) -> None:
    for name, key in (("speeds", "v"), ("rain", "w")):
        rows = ({"s": "ab"[tick % 2], key: tick * 5 % 23, "t": tick} for tick in range(40))
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    Path("city.lars").write_text(SLOW)
    Path("city.toml").write_text(CITY.format(more="").replace("out.jsonl", "whole.jsonl").replace("kept", "other"))
    assert thalweg("run", "city.toml", "--times", "ticks").exit_code == 0
    Path("city.toml").write_text(CITY.format(more=""))
    stopped(stop, "run", "city.toml", "--times", "ticks")
    Path("city.lars").write_text(f"{SLOW}wet(S) :- rain(S) in [3].\n")
    Path("city.toml").write_text(CITY.format(more=WET))
    result = thalweg("run", "city.toml", "--times", "ticks")
    assert "`wet/1` begins at 20; `slow/1` goes on" in result.output, result.output
    # What the new stream brought before has no place any more.
    assert "W302" in result.output
    found = changes()
    assert about("slow", found) == about("slow", changes("whole.jsonl"))
    assert about("wet", found)[0] == (20, ["wet(a)"], [])


def test_a_stream_that_may_bring_anything_begins_all(stop: Stop) -> None:
    stopped(stop, *COMMAND)
    Path("more.facts").write_text("speed(c,1) at 25.\n")
    refused = thalweg(*COMMAND, "--stream", "more.facts")
    assert "belongs to a run with another `--stream`" in refused.output
    result = thalweg(*BEGIN, "--stream", "more.facts")
    assert "`jam/1`, `seen/1`, `slow/1` begin at 20" in result.output, result.output
    assert (25, ["seen(c)"], []) in about("seen", changes())


def test_a_stream_may_go(stop: Stop) -> None:
    Path("more.facts").write_text("".join(f"speed(c,1) at {tick}.\n" for tick in range(40)))
    stopped(stop, *COMMAND, "--stream", "more.facts")
    assert thalweg(*BEGIN).exit_code == 0
    found = changes()
    assert [tick for tick, begin, _ in about("slow", found) if "slow(c)" in begin] == [0]
    assert [tick for tick, _, end in about("slow", found) if "slow(c)" in end] == [CUT]


def test_a_window_that_counts_all_facts_needs_the_same_streams(stop: Stop) -> None:
    Path("rules.lars").write_text("last(R) :- speed(R,_) [3 #].\n")
    stopped(stop, *COMMAND)
    Path("more.facts").write_text("speed(c,1) at 25.\n")
    result = thalweg(*BEGIN, "--stream", "more.facts")
    assert (result.exit_code, "counts the facts of all streams" in result.output) == (1, True), result.output


def test_explain_says_what_would_go_on_and_what_would_begin(stop: Stop) -> None:
    Path("rules.lars").write_text(f"{RULES}late(R) :- light(R).\n")
    stopped(stop, *COMMAND)
    before = sorted((path.name, path.read_bytes()) for path in Path("kept").iterdir())
    Path("rules.lars").write_text(f"{WIDER}both(R) :- jam(R), seen(R).\n")
    result = thalweg("explain", "rules.lars", "--checkpoint", "kept")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "goes on  `seen/1`",
        "goes on  `slow/1`",
        "begins   `both/1`: is new",
        "begins   `jam/1`: has changed, or the background, mappings or streams that it reads",
        "is gone  `late/1`",
    ]
    data = json.loads(thalweg("explain", "rules.lars", "--checkpoint", "kept", "--format", "json").stdout)["would"]
    assert (data["keeps"], data["ends"]) == (["seen/1", "slow/1"], ["late/1"])
    assert data["begins"][0] == {"unit": "both/1", "because": "is new"}
    assert before == sorted((path.name, path.read_bytes()) for path in Path("kept").iterdir())
    assert "help: `both/1` is new; `jam/1` has changed" in thalweg(*BEGIN).output


def test_explain_names_what_a_unit_reads_that_begins(stop: Stop) -> None:
    stopped(stop, *COMMAND)
    Path("rules.lars").write_text(RULES.replace("V < 20", "V < 25"))
    result = thalweg("explain", "rules.lars", "--checkpoint", "kept")
    assert "begins   `jam/1`: reads `slow/1`, which begins" in result.stdout.splitlines()
    Path("rules.lars").write_text("jam(R) :- slow(R), light(R) in [9].\n")
    result = thalweg("explain", "rules.lars", "--checkpoint", "kept")
    assert "begins   `jam/1`: has read `slow/1`, which is gone" in result.stdout.splitlines()


def test_explain_takes_the_streams_of_a_deployment(stop: Stop) -> None:
    for name, key in (("speeds", "v"), ("rain", "w")):
        rows = ({"s": "ab"[tick % 2], key: tick * 5 % 23, "t": tick} for tick in range(30))
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    Path("city.lars").write_text(SLOW)
    Path("city.toml").write_text(CITY.format(more=""))
    stopped(stop, "run", "city.toml", at=10)
    Path("city.lars").write_text(f"{SLOW}wet(S) :- rain(S) in [3].\n")
    Path("city.toml").write_text(CITY.format(more=WET))
    result = thalweg("explain", "city.toml", "--checkpoint", "kept")
    assert result.stdout.splitlines() == ["goes on  `slow/1`", "begins   `wet/1`: is new"]
    Path("city.toml").write_text(CITY.format(more=WET.replace('map = "rain(s) at t"\n', "")))
    result = thalweg("explain", "city.toml", "--checkpoint", "kept")
    assert "begins   `slow/1`: has changed, or the background" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"), [(("nowhere",), "has no state of a run"), (("kept", "--format", "svg"), "as text")]
)
def test_explain_needs_a_checkpoint_and_words(words: tuple[str, ...], said: str, stop: Stop) -> None:
    stopped(stop, *COMMAND)
    result = thalweg("explain", "rules.lars", "--checkpoint", *words)
    assert (result.exit_code in (1, 2), said in result.output) == (True, True), result.output


EVENTS = """PREFIX : <http://e/>
NAMED EVENT :High AS :High
NAMED EVENT :Low AS :Low
NAMED EVENT :Falls { MATCH EVERY :High SEQ :Low WITHIN (9 s) }
"""
PEAK = "NAMED EVENT :Peak { MATCH EVERY :Low SEQ :High WITHIN (5 s) }\n"


def test_events_go_on_one_by_one(stop: Stop) -> None:
    """`:Falls` keeps what has begun; the class `:Low` is used by what goes on, by what is gone and by what begins."""
    a, made = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<http://www.w3.org/ns/prov#generatedAtTime>"
    kinds = ("High", "Other", "Other", "Low")
    lines = (
        f"<http://e/o{tick}> {a} <http://e/{kinds[tick % 4]}> <http://e/g{tick}> .\n"
        f'<http://e/g{tick}> {made} "{tick}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        for tick in range(40)
    )
    Path("in.nq").write_text("".join(lines))
    Path("events.tw").write_text(EVENTS)
    command = ("run", "events.tw", "--stream", "in.nq", "--out", "out.jsonl", "--checkpoint", "kept")
    assert thalweg("run", "events.tw", "--stream", "in.nq", "--out", "whole.jsonl").exit_code == 0
    Path("events.tw").write_text(f"{EVENTS}{PEAK}")
    stopped(stop, *command, at=22)
    Path("events.tw").write_text(f"{EVENTS}NAMED EVENT :Lows {{ MATCH EVERY :Low SEQ :Low WITHIN (9 s) }}\n")
    shown = thalweg("explain", "events.tw", "--checkpoint", "kept").stdout.splitlines()
    assert shown == [
        "goes on  the event `:Falls`",
        "goes on  the event `:High`",
        "goes on  the event `:Low`",
        "begins   the event `:Lows`: is new",
        "is gone  the event `:Peak`",
    ]
    result = thalweg(*command, "--on-change", "begin")
    assert result.exit_code == 0, result.output
    assert "the event `:Lows` begins at 22; the event `:Falls`, the event `:High`" in result.output, result.output
    found = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    whole = [json.loads(line) for line in Path("whole.jsonl").read_text().splitlines()]
    assert [line for line in found if line["event"].endswith("/Falls>")] == whole
    assert {line["from"] for line in found if line["event"].endswith("/Peak>")} == {3, 7, 11, 15, 19}
    assert [line["from"] for line in found if line["event"].endswith("/Lows>")] == [23, 27, 31, 35]
