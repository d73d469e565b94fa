"""Compiling kernels, once per installation.

`kernel` marks a function that kernels call; `entry` one that Python calls, compiled with all that it calls and kept on
disk. The compiler on its own would look only at the file of the entry to tell whether what it kept is still valid, and
run old code on new data after an upgrade; so the stamp of an entry covers every file that a kernel comes from. And of
processes that start at the same time each would compile the same; here one does, and the others wait for its result.

While a kernel works, other threads run Python. The arrays of an engine are its own, and it refuses a second thread; the
values of its dictionary, which others may add terms to meanwhile, are not moved as long as a kernel has them (`memo`).
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from numba import njit
from numba.core.caching import IndexDataCacheFile
from numba.extending import register_jitable

from thalweg.engine.pointers import CHECKED
from thalweg.model import functions, number, time
from thalweg.planning import check_capacity

_HERE: Final = Path(__file__).parent
_KERNELS: Final = (
    "compiled",
    "pointers",
    "layout",
    "arena",
    "calls",
    "rules",
    "tick",
    "totals",
    "sorted_numbers",
    "regroup",
    "last_by_key",
    "number_text",
)
SOURCES: Final = (
    *(_HERE / f"{name}.py" for name in _KERNELS),
    Path(functions.__file__),
    Path(number.__file__),
    Path(time.__file__),
    Path(check_capacity.__file__),
)
"""The files that kernels and their constants come from."""

kernel: Any = register_jitable
for function in number.SHARED:
    register_jitable(function)


def _stamp() -> tuple[tuple[float, int], ...]:
    return tuple((stat.st_mtime, stat.st_size) for stat in (source.stat() for source in SOURCES))


def entry(function: Callable[..., Any]) -> Any:
    """Compiles a function for Python to call, and keeps the result on disk; where nothing can be written, in memory."""
    try:
        compiled: Any = njit(cache=True, nogil=True, boundscheck=CHECKED)(function)
    except RuntimeError:
        return njit(nogil=True, boundscheck=CHECKED)(function)
    cache = compiled._cache
    name = cache._impl.filename_base + (".checked" if CHECKED else "")
    cache._cache_file = IndexDataCacheFile(cache_path=cache._cache_path, filename_base=name, source_stamp=_stamp())
    compile_here = compiled.compile

    def compile_once(signature: Any) -> Any:
        if is_ready(compiled):
            return compile_here(signature)
        with _locked(Path(cache._cache_path, f"{name}.lock")):
            return compile_here(signature)

    compiled.compile = compile_once
    return compiled


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Other processes wait meanwhile; where no file can be locked, none does."""
    with ExitStack() as opened:
        with suppress(OSError, ImportError):
            import fcntl

            lock = opened.enter_context(file.open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            # A process that was forked meanwhile has the file open, too.
            opened.callback(fcntl.flock, lock, fcntl.LOCK_UN)
        yield


def is_ready(compiled: Any) -> bool:
    """Whether an entry has been compiled before; else its first call takes a while."""
    return bool(compiled._cache._cache_file._load_index() if is_kept(compiled) else compiled.signatures)


def is_kept(compiled: Any) -> bool:
    """Whether what an entry is compiled to is kept for other processes."""
    return hasattr(compiled._cache, "_cache_file")
