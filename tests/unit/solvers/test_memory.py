"""A program that counts for ever in clingo ends when its process has no more memory, with a diagnostic."""

import subprocess
import sys
from pathlib import Path

RUN = """
import resource, sys
from pathlib import Path
import thalweg.kinds.answer_sets.windowed
pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 150_000
limit = pages * resource.getpagesize() + 100_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
sys.argv = ["thalweg", "run", "count.lp", "--stream", "in.facts"]
from thalweg.cli import main
main()
"""


def test_it_ends_with_a_diagnostic(tmp_path: Path) -> None:
    (tmp_path / "count.lp").write_text("n(0). n(X+1) :- n(X), p(_).")
    (tmp_path / "in.facts").write_text("p(a) at 1.\n")
    done = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "warning[W202]" in done.stderr
    assert "error[E504]: clingo has not solved a window" in done.stderr
    assert "Traceback" not in done.stderr
