"""A cluster whose workers share no folder with the driver: all that a run keeps is in an object store, or in HDFS.

HDFS is tried where `THALWEG_HDFS` names one, such as hdfs://127.0.0.1:9000, and pyarrow finds what it needs for it
(`JAVA_HOME`, `ARROW_LIBHDFS_DIR`, `CLASSPATH`).
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from object_store import run_store
from spark.commands import invoke
from spark.processes import Family, kill, run, started, thalweg, wait_until
from spark.standalone_cluster import cluster, needs_mounts
from spark.test_live import RULES, facts, reached, server
from thalweg.runtimes.stored_path import CheckpointPath, checkpoint_path

HDFS = "THALWEG_HDFS"

Place = tuple[str, dict[str, str]]
"""The URI of a folder, and what a session must know of it."""


@contextmanager
def in_an_object_store(patch: pytest.MonkeyPatch) -> Iterator[Place]:
    with run_store() as store:
        for variable, value in store.environment.items():
            patch.setenv(variable, value)
        yield store.uri("runs/city"), store.settings()


@contextmanager
def in_hdfs(patch: pytest.MonkeyPatch) -> Iterator[Place]:
    yield f"{os.environ[HDFS]}/thalweg-{uuid4().hex}/city", {}


@pytest.mark.slow
@needs_mounts
@pytest.mark.parametrize(
    "place",
    [in_an_object_store, pytest.param(in_hdfs, marks=pytest.mark.skipif(HDFS not in os.environ, reason="needs HDFS"))],
)
def test_a_live_stream_is_received_where_all_see_it(
    place: Callable[[pytest.MonkeyPatch], AbstractContextManager[Place]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The driver is killed twice, and an executor once; what was received is answered once."""
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    (driver := tmp_path / "driver").mkdir()
    (driver / "rules.lars").write_text(RULES)
    (driver / "all.facts").write_text(facts(0, 240))
    out, said = driver / "spark.jsonl", tmp_path / "said.txt"
    parts = [facts(0, 80), facts(80, 160), facts(160, 240)]
    with (
        place(monkeypatch) as (uri, settings),
        cluster(tmp_path, hidden=driver) as there,
        server(*parts) as (stream, leaves),
    ):
        words = ["--stream", stream, "--out", out, "--emit", "changes", "--checkpoint", uri]
        words += ["--runtime", "spark", "--master", there.master]
        words += [word for pair in settings.items() for word in ("--conf", "=".join(pair))]
        line = thalweg("run", driver / "rules.lars", *words, segment=40)
        folder = checkpoint_path(uri)
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
