"""A process that takes too much time or memory, or whose children do, is ended with all that it has started."""

import os
import signal
import sys
from select import select

from thalweg.service.process_limits import CPU_SECONDS, MEMORY, LimitedProcess, SessionUse

_LIMITED = "from thalweg.service.process_limits import limit_this_process as limit; limit()\n"


def _process(program: str) -> LimitedProcess:
    return LimitedProcess((sys.executable, "-c", program))


def test_what_a_process_writes_is_returned() -> None:
    process = _process("import sys; print(sys.stdin.read()[::-1]); print('oh', file=sys.stderr)")
    assert process.communicate(b"abc") == b"cba\n"
    assert (process.returncode, process.excess, process.errors()) == (0, None, "oh\n")


def test_limits_are_those_of_the_process_and_of_its_children() -> None:
    ask = "import resource as r; print(r.getrlimit(r.RLIMIT_CPU), r.getrlimit(r.RLIMIT_DATA))"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {ask!r}])"
    written = _process(_LIMITED + child).communicate(b"")
    assert written.decode().strip() == f"({CPU_SECONDS}, {CPU_SECONDS + 1}) ({2 * MEMORY}, {2 * MEMORY})"


def test_more_memory_is_not_given() -> None:
    process = _process(f"{_LIMITED}\ntry: bytearray({3 * MEMORY})\nexcept MemoryError: print('none')")
    assert process.communicate(b"") == b"none\n"


def test_the_memory_of_all_processes_counts() -> None:
    half = f"x = b'1' * {MEMORY * 3 // 5}; print(len(x), flush=True); input()"
    two = (
        "import subprocess, sys\n"
        f"a, b = (subprocess.Popen([sys.executable, '-c', {half!r}], stdin=-1, stdout=-1) for _ in '12')\n"
        "a.stdout.readline(), b.stdout.readline(), print('both', flush=True), a.wait()"
    )
    process = _process(two)
    process.communicate(b"")
    assert process.returncode == -signal.SIGKILL
    assert process.excess is not None
    assert "MB of memory" in process.excess


def test_children_end_with_the_process() -> None:
    forever = "import subprocess, sys; print(subprocess.Popen(['sleep', '1000'], stdout=-3).pid)"
    process = _process(forever)
    child = int(process.communicate(b""))
    assert SessionUse.of(os.getsid(child)).memory > 0
    ended = os.pidfd_open(child)
    process.kill()
    assert select([ended], [], [], 60) == ([ended], [], [])
    os.close(ended)
