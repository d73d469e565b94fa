"""A run that is asked to end: what is left of it is ended, in its order, and nothing else is touched."""

import os
import signal
import subprocess
import sys
import threading
from threading import Event
from time import monotonic, sleep

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from thalweg.connectors.interrupt import Interrupt
from thalweg.runtimes.spark import session, shutdown
from thalweg.runtimes.spark.delivery import Delivery, EndedError
from thalweg.runtimes.spark.shutdown import Guard, leaving_in_time

WAITING = [sys.executable, "-c", "print(flush=True); import time; time.sleep(600)"]
LIMIT = 20.0


@pytest.fixture
def done(monkeypatch):
    """What is done to a run, in order; the seconds of a run are short."""
    for name, seconds in {"QUIET": 0.1, "POLITE": 0.2, "GONE": 0.1}.items():
        monkeypatch.setattr(shutdown, name, seconds)
    found = []
    monkeypatch.setattr(shutdown, "kill_processes", lambda: found.append("killed"))
    monkeypatch.setattr(os, "_exit", lambda code: found.append(f"left with {code}"))
    return found


class Sink:
    def __init__(self, done):
        self._done = done

    def end(self):
        self._done.append("no more answers")


def wait_for(happened):
    until = monotonic() + LIMIT
    while not happened():
        assert monotonic() < until, "it never happens"
        sleep(0.01)


def test_answers_end_before_processes(done):
    interrupt = Interrupt()
    with Guard(interrupt) as guard:
        guard.delivering(Sink(done))
        interrupt.asked = True
        wait_for(lambda: "killed" in done)
        assert guard.quiet
    assert done[:2] == ["no more answers", "killed"]


def test_where_nothing_has_been_answered_there_is_nothing_to_wait_for(done, monkeypatch):
    monkeypatch.setattr(shutdown, "POLITE", LIMIT)
    interrupt = Interrupt()
    with Guard(interrupt):
        interrupt.asked = True
        wait_for(lambda: done)
    assert done[0] == "killed"


def test_a_run_that_ends_by_itself_is_left_alone(done):
    with Guard(Interrupt()), leaving_in_time(Interrupt()):
        pass
    wait_for(lambda: not {"guard", "leaving"} & {thread.name for thread in threading.enumerate()})
    assert done == []


class Looked:
    """Whether a run was asked to end, and whether somebody has `seen` that."""

    def __init__(self, is_asked=False):
        self.is_asked = is_asked
        self.seen = Event()

    @property
    def asked(self):
        self.seen.set()
        return self.is_asked


def test_a_process_that_hangs_after_its_run_is_ended(done):
    interrupt = Looked(is_asked=True)
    with leaving_in_time(interrupt):
        assert interrupt.seen.wait(LIMIT)
    wait_for(lambda: done)
    assert done == ["left with 3"]


def test_so_is_one_whose_run_ends_as_soon_as_it_is_asked(done, monkeypatch):
    """The thread looks now and then, and the run may be over by then."""
    monkeypatch.setattr(shutdown, "_PAUSE", LIMIT)
    interrupt = Looked()
    with leaving_in_time(interrupt):
        assert interrupt.seen.wait(LIMIT)
        interrupt.is_asked = True
    wait_for(lambda: done)
    assert done == ["left with 3"]


# A command whose session never opens, which neither a signal nor the end of Spark's processes can change; or one that
# has ended, but for a thread that the interpreter waits for.
HANGS = """
import sys, threading
from thalweg.runtimes.spark import early_session, shutdown

shutdown.GONE = 0.3

def hang(*given, **options):
    while not started:
        threading.Event().wait(0.01)
    print("hanging", flush=True)
    while True:
        threading.Event().wait()

def hang_later(*given, **options):
    threading.Thread(target=hang, daemon=False).start()
    while not started:
        threading.Event().wait(0.01)
    while not started[0].asked:
        threading.Event().wait(0.01)
    raise RuntimeError("Java was killed")

started = []
watched = shutdown.Guard.__init__
def remember(self, interrupt):
    started.append(interrupt)
    watched(self, interrupt)
shutdown.Guard.__init__ = remember
early_session.open_session = {name}

from thalweg.cli import main
sys.argv = ["thalweg", "run", "rules.lars", "--stream", "in.facts", "--runtime", "spark", "--quiet"]
main()
"""


@pytest.mark.parametrize(("name", "way"), [("hang", signal.SIGTERM), ("hang_later", signal.SIGINT)])
def test_a_command_that_hangs_ends_with_another_code_and_says_why(name, way, tmp_path):
    (tmp_path / "rules.lars").write_text("q(X) :- p(X).")
    (tmp_path / "in.facts").write_text("p(a) at 1.\n")
    with subprocess.Popen(
        [sys.executable, "-c", HANGS.replace("{name}", name)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        try:
            assert command.stdout is not None
            assert command.stdout.readline() == "hanging\n"
            command.send_signal(way)
            _, errors = command.communicate(timeout=LIMIT)
        finally:
            command.kill()
    assert command.returncode == 3
    assert errors == "stopped by force: the run did not end within 0.3 s of the signal\n"


HANGS_EARLY = """
import threading
from thalweg.runtimes.spark import early_session, shutdown

shutdown.GONE = 0.3
early_session.open_session = lambda *given, **options: threading.Event().wait()
with early_session.EarlySession(early_session.EarlyOptions()):
    raise KeyboardInterrupt
"""


def test_a_session_that_never_opens_does_not_keep_a_command_that_was_interrupted():
    ended = subprocess.run([sys.executable, "-c", HANGS_EARLY], stderr=-1, text=True, timeout=LIMIT)
    assert ended.returncode == 3
    assert ended.stderr == "stopped by force: the run did not end within 0.3 s of the signal\n"


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="processes are found in /proc")
def test_the_processes_of_spark_are_found_wherever_they_are():
    marked = os.environ | {session.MARK: session._MINE}
    # One of them has lost its parent.
    parent = [sys.executable, "-c", f"import subprocess, sys; print(subprocess.Popen({WAITING!r}, stdout=-3).pid)"]
    orphan = int(subprocess.run(parent, env=marked, stdout=subprocess.PIPE, check=True).stdout)
    with (
        subprocess.Popen(WAITING, env=marked, stdout=subprocess.PIPE) as mine,
        subprocess.Popen(WAITING, stdout=subprocess.PIPE) as other,
    ):
        assert mine.stdout is not None
        assert other.stdout is not None
        mine.stdout.readline()
        other.stdout.readline()
        session.kill_processes()
        assert mine.wait(LIMIT) == -9
        wait_for(lambda: not is_running(orphan))
        assert not is_running(orphan)
        assert other.poll() is None
        other.kill()


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_batch_that_comes_after_the_end_is_not_taken_for_done(tmp_path):
    delivery = Delivery(tmp_path / "ledger.json", str(tmp_path / "out"), None, "changes")
    delivery.end()
    row = {"kind": "begin", "t": 1, "until": None, "stream": None, "fact": "a"}
    with pytest.raises(EndedError):
        delivery.deliver(0, pa.Table.from_pylist([row]))
    assert delivery.error is None
    assert delivery.done.batch == -1
    delivery.close()
    assert (tmp_path / "out").read_text() == ""
