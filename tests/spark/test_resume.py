"""A run whose processes are killed, and that is resumed each time, delivers exactly what an undisturbed one does."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from spark.city import (
    ANSWER_SETS,
    CASCADE,
    CHECKPOINT,
    MIXED,
    PROGRAM,
    assert_same,
    batches,
    run_words,
    spark_line,
    spark_words,
    write_city,
)
from spark.commands import invoke, taken
from spark.commands import run as run_here
from spark.processes import Family, kill, run, started, thalweg, wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")

# Many attempts at a task: workers are killed one after the other, and one task may lose several of them.
LOCAL = "local[2,50]"

# What can be killed: a Python process of an executor; the command and its Java; each of them alone.
WORKER, DRIVER, COMMAND, JAVA = "worker", "driver", "command", "java"


@pytest.mark.parametrize(
    ("program", "ticks", "targets"),
    [
        pytest.param(PROGRAM, 100, {DRIVER: 1}, id="rules, once"),
        pytest.param(PROGRAM, 450, {WORKER: 2, DRIVER: 1}, id="rules, 3 times", marks=pytest.mark.slow),
        pytest.param(
            PROGRAM,
            2_000,
            {WORKER: 16, DRIVER: 2, COMMAND: 1, JAVA: 1},
            id="rules, 20 times",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            PROGRAM,
            10_000,
            {WORKER: 70, DRIVER: 14, COMMAND: 8, JAVA: 8},
            id="rules, 100 times",
            marks=pytest.mark.slow,
        ),
        pytest.param(ANSWER_SETS, 600, {WORKER: 2, DRIVER: 1}, id="answer sets, 3 times", marks=pytest.mark.slow),
        pytest.param(
            ANSWER_SETS,
            2_500,
            {WORKER: 14, DRIVER: 3, COMMAND: 1, JAVA: 2},
            id="answer sets, 20 times",
            marks=pytest.mark.slow,
        ),
        pytest.param(CASCADE, 400, {WORKER: 2, DRIVER: 1}, id="events, 3 times", marks=pytest.mark.slow),
        pytest.param(
            CASCADE,
            2_000,
            {WORKER: 14, DRIVER: 3, COMMAND: 1, JAVA: 2},
            id="events, 20 times",
            marks=pytest.mark.slow,
        ),
        pytest.param(MIXED, 500, {WORKER: 4, DRIVER: 1}, id="several kinds, 5 times", marks=pytest.mark.slow),
    ],
)
def test_killed_and_resumed_is_never_stopped(
    tmp_path: Path, program: str | dict[str, str], ticks: int, targets: dict[str, int]
) -> None:
    write_city(tmp_path, ticks, program)
    run_here(*run_words(tmp_path, "embedded"))
    order = [target for target, count in targets.items() for _ in range(count)]
    Random(ticks).shuffle(order)
    *interrupted, last = disturbed(tmp_path, order, seed=ticks)
    said = (tmp_path / "said.txt").read_text()
    # A worker that is lost does not end a run, and nothing else ends it well.
    assert len(interrupted) == sum(count for target, count in targets.items() if target != WORKER), said
    assert 0 not in interrupted
    assert last == 0, said
    assert "thalweg/cli/" not in said, "a stack trace is no message"
    assert_same(tmp_path)
    # What is done is not done again, so no Spark is started either.
    run_here(*spark_words(tmp_path, LOCAL))
    assert_same(tmp_path)


# How many an attempt commits before it is killed.
BATCHES = 2


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, 10])
def test_killed_between_batches_of_a_slow_source(tmp_path: Path, kills: int) -> None:
    """Every attempt commits batches before it is killed, so that each one resumes from other logs of Spark."""
    write_city(tmp_path, ticks=30 * (kills + 1))
    line = spark_line(tmp_path, LOCAL, waiting=1)
    run_here(*run_words(tmp_path, "embedded"))
    met: list[int] = []
    random = Random(kills)
    for _ in range(kills):
        with started(line, tmp_path / "said.txt") as family:
            enough = committed(tmp_path) + BATCHES
            wait_until(lambda: committed(tmp_path) >= enough or family.ended, "no batch is committed")  # noqa: B023
            wait_a_moment(tmp_path, family, random)
            family.kill_group()
            assert family.wait() != 0
        met.append(committed(tmp_path))
    assert met == sorted({*met}), "a batch was done again, or none"
    assert planned(tmp_path) >= BATCHES * kills
    assert run(line, tmp_path / "said.txt") == 0, (tmp_path / "said.txt").read_text()
    assert_same(tmp_path)


def committed(folder: Path) -> int:
    """The number of batches that Spark has committed."""
    return 1 + max((int(path.name) for path in (folder / CHECKPOINT).glob("spark/commits/[0-9]*")), default=-1)


def planned(folder: Path) -> int:
    return 1 + max((int(path.name) for path in (folder / CHECKPOINT).glob("spark/offsets/[0-9]*")), default=-1)


FACTS, FACTS_A_TICK, MOST_FACTS = 300_000, 100, 100_000


def test_a_kill_repeats_no_more_than_a_bounded_batch(tmp_path: Path) -> None:
    """With batches as users have them: the first batch does not take all that is there when Spark is ready."""
    (tmp_path / "program.lars").write_text("slow(S) :- speed(S,V) in [5], V < 20.")
    facts = (f"speed(s{number % 97},{number * 7 % 80}) at {number // FACTS_A_TICK}.\n" for number in range(FACTS))
    (tmp_path / "readings.facts").write_text("".join(facts))
    names = ("--stream", tmp_path / "readings.facts", "--emit", "changes", "--out", tmp_path / "spark.jsonl")
    where = ("--runtime", "spark", "--master", LOCAL, "--checkpoint", tmp_path / CHECKPOINT)
    line = thalweg("run", tmp_path / "program.lars", *names, *where)
    with started(line, tmp_path / "said.txt") as family:
        wait_until(lambda: planned(tmp_path) > 0 or family.ended, "no batch is planned")
        family.kill_group()
        assert family.wait() != 0
    repeated = facts_in(tmp_path, planned(tmp_path)) - facts_in(tmp_path, committed(tmp_path))
    assert 0 < repeated <= MOST_FACTS


def facts_in(folder: Path, batches: int) -> int:
    """How many facts the first batches have read, by the logs of Spark."""
    if not batches:
        return 0
    log = folder / CHECKPOINT / "spark" / "offsets" / str(batches - 1)
    file, step = json.loads(log.read_text().splitlines()[-1])["0"].split(":")
    return FACTS if int(file) else (folder / "readings.facts").read_bytes()[: int(step)].count(b"\n")


CHANGES: list[Any] = [
    pytest.param({"[5]": "[6]"}, (), "another program", id="a window"),
    pytest.param({"V < 20": "V < 21"}, (), "another program", id="a number"),
    pytest.param({PROGRAM: "jam(R) :- light(R,_)."}, (), "another program", id="everything"),
    pytest.param({}, ("--background", "more.facts"), "another program", id="the background"),
    pytest.param({}, ("--delay", "4"), "the same program with other settings", id="the delay"),
    pytest.param({}, ("--emit", "intervals"), "the same program with other settings", id="what is told"),
]


@pytest.fixture(scope="module")
def claimed(session: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and its checkpoint."""
    folder = tmp_path_factory.mktemp("claimed")
    write_city(folder, ticks=10)
    with taken(session):
        run_here(*spark_words(folder, LOCAL))
    (folder / "more.facts").write_text("on(s1,r2).")
    return folder


@pytest.mark.parametrize(("edit", "options", "told"), CHANGES)
def test_a_checkpoint_of_something_else_is_refused(
    claimed: Path, monkeypatch: pytest.MonkeyPatch, edit: dict[str, str], options: Any, told: str
) -> None:
    monkeypatch.chdir(claimed)
    program = PROGRAM
    for old, new in edit.items():
        assert old in program
        program = program.replace(old, new)
    (claimed / "program.lars").write_text(program)
    (claimed / "spark.jsonl").unlink(missing_ok=True)
    refused = invoke(*spark_words(claimed, LOCAL, *options))
    assert refused.exit_code == 1
    checkpoint = claimed / CHECKPOINT
    change = ", go on with the changed one (`--on-change begin`)" if told == "another program" else ""
    assert refused.output.splitlines() == [
        f"error[E408]: the checkpoint `{checkpoint}` belongs to {told}",
        f"  help: resume it with the program and options that it was made with{change}, or name a new folder",
    ]
    assert not (claimed / "spark.jsonl").exists()


def disturbed(folder: Path, targets: list[str], seed: int) -> Iterator[int]:
    """Runs to the end in spite of everything; how each attempt ended."""
    random = Random(seed)
    with ExitStack() as stack:
        family = stack.enter_context(started(spark_line(folder, LOCAL), folder / "said.txt"))
        for target in targets:
            wait_a_moment(folder, family, random)
            strike(family, target, random)
            if target != WORKER:
                yield family.wait()
                family = stack.enter_context(started(spark_line(folder, LOCAL), folder / "said.txt"))
        yield family.wait()


def wait_a_moment(folder: Path, family: Family, random: Random) -> None:
    """Any moment of a run, from its first on: at once, or some steps later."""
    until = steps(folder) + random.choice((0, 0, 1, 2, 3, 4))
    wait_until(lambda: steps(folder) >= until or family.ended, "the run takes no step")
    assert not family.ended, "the run was over, or broken, before it was disturbed enough"


def steps(folder: Path) -> int:
    """How many a run has taken: a batch is planned, then delivered, then committed."""
    return planned(folder) + batches(folder) + committed(folder)


def strike(family: Family, target: str, random: Random) -> None:
    if target == DRIVER:
        family.kill_group()
        return
    wait_until(lambda: bool(victims(family, target)) or family.ended, f"there is no {target}")
    assert not family.ended, "the run was over, or broken, before it was disturbed enough"
    kill(random.choice(victims(family, target)))


def victims(family: Family, target: str) -> list[int]:
    if target == COMMAND:
        return [family.process.pid]
    if target == WORKER:
        return family.forked("pyspark.worker")
    return family.members(saying="org.apache.spark.deploy.SparkSubmit")
