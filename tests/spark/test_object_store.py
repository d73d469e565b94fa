"""A cluster whose workers share no folder with the driver: all that a run keeps is in an object store."""

from pathlib import Path

import pytest

from object_store import run_store
from spark.commands import invoke
from spark.processes import Family, kill, run, started, thalweg, wait_until
from spark.standalone_cluster import cluster, needs_mounts
from spark.test_live import RULES, facts, reached, server
from thalweg.runtimes.stored_path import CheckpointPath, checkpoint_path


@pytest.mark.slow
@needs_mounts
def test_a_live_stream_is_received_into_an_object_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver is killed twice, and an executor once; what was received is answered once."""
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    (driver := tmp_path / "driver").mkdir()
    (driver / "rules.lars").write_text(RULES)
    (driver / "all.facts").write_text(facts(0, 240))
    out, said = driver / "spark.jsonl", tmp_path / "said.txt"
    parts = [facts(0, 80), facts(80, 160), facts(160, 240)]
    with run_store() as store, cluster(tmp_path, hidden=driver) as there, server(*parts) as (stream, leaves):
        for variable, value in store.environment.items():
            monkeypatch.setenv(variable, value)
        words = ["--stream", stream, "--out", out, "--emit", "changes", "--checkpoint", store.uri("runs/city")]
        words += ["--runtime", "spark", "--master", there.master]
        words += [word for pair in store.settings().items() for word in ("--conf", "=".join(pair))]
        line = thalweg("run", driver / "rules.lars", *words, segment=40)
        folder = checkpoint_path(store.uri("runs/city"))
        for last in (79, 159):
            with started(line, said) as family:
                wait_for(folder, last - 60, family, said)
                if last == 79:
                    kill(there.executors()[0])
                wait_for(folder, last - 1, family, said)
                family.kill_group()
            leaves.set()
        assert run(line, said) == 0, said.read_text()
        segments = [file.name for file in (folder / "inbox").iterdir()]
    own = invoke(driver / "rules.lars", "--stream", driver / "all.facts", "--emit", "changes", "--out", driver / "own")
    assert own.exit_code == 0
    assert out.read_text() == (driver / "own").read_text() != ""
    assert len(segments) <= 3, "what was answered is removed"


def wait_for(folder: CheckpointPath, last: int, family: Family, said: Path) -> None:
    """Waits until a tick is delivered."""
    wait_until(lambda: reached(folder) >= last or family.ended, f"tick {last} is not answered")
    assert not family.ended, said.read_text()
