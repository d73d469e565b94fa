"""How kernels are compiled, and kept for other processes."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest
from numba import int64
from numba.core.caching import CompileResultCacheImpl

from thalweg.engine.compiled import entry, is_kept, is_ready

DOUBLED = """
from thalweg.engine.compiled import entry

@entry
def doubled(number):
    return 2 * number
"""
CALLED = """
import fcntl
import sys

lock = fcntl.flock

def announced(file, operation):
    if operation == fcntl.LOCK_EX:
        print("locks", flush=True)
    lock(file, operation)

fcntl.flock = announced
sys.path.insert(0, ".")
from doubled import doubled
print(doubled(3), sum(doubled.stats.cache_hits.values()))
"""


def test_what_another_process_compiles_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "doubled.py").write_text(DOUBLED)
    monkeypatch.syspath_prepend(tmp_path)
    from doubled import doubled  # type: ignore[import-not-found]

    folder = Path(doubled.stats.cache_path)
    with (folder / f"{doubled._cache._impl.filename_base}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [sys.executable, "-c", CALLED]
        other = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        assert other.stdout is not None
        assert other.stdout.readline() == "locks\n"
        # As if this process were the first to compile it.
        type(doubled).compile(doubled, (int64,))
    printed, _ = other.communicate()
    assert printed == "6 1\n"


def test_where_nothing_can_be_written_it_is_compiled_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])
    doubled = entry(lambda number: 2 * number)
    assert (is_kept(doubled), is_ready(doubled)) == (False, False)
    assert doubled(3) == 6
    assert is_ready(doubled)
