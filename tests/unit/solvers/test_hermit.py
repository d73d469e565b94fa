"""HermiT gives back what a question took, and a process that asks it can be ended."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from thalweg.solvers.dl import hermit

pytestmark = pytest.mark.hermit

HEAD = "Prefix(:=<http://ex.org/>)\nOntology(\n"
BY_CASES = (
    "SubClassOf(<u:A> ObjectUnionOf(<u:B> <u:C>))",
    "SubClassOf(<u:B> <u:D>)",
    "SubClassOf(<u:C> <u:D>)",
    "ClassAssertion(<u:A> <u:a>)",
)
CROWD = f"""{HEAD}
SubClassOf(:Crowd ObjectMinCardinality(4000 :has :Person))
SubClassOf(:Person ObjectUnionOf(:Tall :Small))
SubClassOf(ObjectMinCardinality(2 :has ObjectUnionOf(:Tall :Small)) :Large)
)"""
PREFIXES = """
@prefix : <http://ex.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
"""
CROWDS = ":Crowd(:c) at 1. :Large(:d) at 2."


@pytest.mark.parametrize("questions", [75, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_question_leaves_nothing_in_the_heap(questions: int) -> None:
    """Each of these questions left some 200 kB behind."""
    heap = []
    for number in range(questions):
        assert "<u:D>" in (hermit.types(BY_CASES, ["<u:a>"]) or {})["<u:a>"]
        if number % (questions // 5) == questions // 10:
            heap.append(_megabytes_in_heap())
    assert max(heap) < heap[0] + 8, heap


def _megabytes_in_heap() -> float:
    import jpype

    runtime = jpype.JClass("java.lang.Runtime").getRuntime()
    runtime.gc()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 1e6


def test_the_next_question_is_answered_where_one_took_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hermit.is_consistent(BY_CASES)
    monkeypatch.setattr(hermit, "_LONGEST", 0.2)
    with pytest.raises(hermit.UndecidedError, match="run out of time"):
        hermit.is_consistent(_pigeons(12))
    monkeypatch.undo()
    assert hermit.is_consistent(BY_CASES)


def test_an_event_for_which_memory_is_too_short_is_undecided(tmp_path: Path) -> None:
    """And those after it are answered."""
    (tmp_path / "crowd.ofn").write_text(CROWD)
    (tmp_path / "crowds.facts").write_text(f"@prefix : <http://ex.org/> . {CROWDS}")
    process = subprocess.run(
        _command("crowd.ofn", "crowds.facts", ":Large"),
        cwd=tmp_path,
        env=os.environ | {"JAVA_TOOL_OPTIONS": "-Xmx32m"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    assert (process.returncode, [*lines[0]], lines[1]["event"]) == (0, ["t", "undecided"], "<http://ex.org/Large>")
    assert "warning[W703]: 1 event is undecided: HermiT failed: java.lang.OutOfMemoryError" in process.stderr
    assert "JAVA_TOOL_OPTIONS=-Xmx" in process.stderr


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are looked for in /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_ends_a_run_that_waits_for_an_answer(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "holes.ofn").write_text(HEAD + "\n".join(_holes(12)).replace("<u:", "<http://ex.org/") + "\n)")
    pigeons = " . ".join(f":p{pigeon} a :Pigeon" for pigeon in range(13))
    apart = " . ".join(f":p{one} owl:differentFrom :p{other}" for one in range(13) for other in range(one))
    (tmp_path / "pigeons.trig").write_text(f"{PREFIXES} :g prov:generatedAtTime 1 . :g {{ {pigeons} . {apart} }}")
    process = subprocess.Popen(
        _command("holes.ofn", "pigeons.trig", ":Crowded"), cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        _wait_until_java_works(process)
        process.send_signal(number)
        # HermiT would be given half a minute.
        _, err = process.communicate(timeout=15)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert b"stopped before the last tick was complete" in err


def _wait_until_java_works(process: "subprocess.Popen[bytes]") -> None:
    """Returns when the thread that asks has used a processor for a second."""
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        for stat in Path(f"/proc/{process.pid}/task").glob("*/stat"):
            fields = stat.read_text().rpartition(")")[2].split()
            busy = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 1
            if busy and stat.parent.name != str(process.pid):
                return
        time.sleep(0.05)
    raise AssertionError("HermiT was not asked")


def _command(ontology: str, stream: str, classes: str) -> list[str]:
    options = ["--as", "abstraction", "--profile", "dl", "--classes", classes, "--reasoner", "hermit"]
    return [sys.executable, "-m", "thalweg", "run", ontology, "--stream", stream, *options]


def _pigeons(holes: int) -> list[str]:
    """One pigeon more than there are holes: a contradiction for which all ways are tried."""
    pigeons = [f"<u:p{number}>" for number in range(holes + 1)]
    members = [f"ClassAssertion(<u:Pigeon> {pigeon})" for pigeon in pigeons]
    return [*_holes(holes), *members, f"DifferentIndividuals({' '.join(pigeons)})"]


def _holes(count: int) -> list[str]:
    holes = " ".join(f"<u:h{number}>" for number in range(count))
    return [
        f"SubClassOf(<u:Pigeon> ObjectSomeValuesFrom(<u:in> ObjectOneOf({holes})))",
        "InverseFunctionalObjectProperty(<u:in>)",
        "SubClassOf(ObjectSomeValuesFrom(<u:in> <u:Full>) <u:Crowded>)",
        f"DifferentIndividuals({holes})",
    ]
