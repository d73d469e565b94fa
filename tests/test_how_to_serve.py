"""What the page about the service shows is what the service answers."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from serving import serving

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "how-to" / "serve.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"<!-- run -->\n```console\n(.*?)```", PAGE, re.DOTALL)
ADDRESS = "localhost:8642"

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="the page uses curl")


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a block, each with what it prints."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [_split(part) for part in parts]


def _split(part: str) -> tuple[str, str]:
    """A command goes on over several lines as long as a quote is open."""
    lines = part.splitlines(keepends=True)
    end = next(number for number in range(1, len(lines) + 1) if "".join(lines[:number]).count("'") % 2 == 0)
    return "".join(lines[:end]), "".join(lines[end:])


def test_there_is_something_to_try() -> None:
    assert [len(commands(block)) for block in BLOCKS] == [3, 3, 2]


def test_commands_print_what_is_shown(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        address = str(service.client.base_url).removeprefix("http://").rstrip("/").replace("127.0.0.1", "localhost")
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        for block in BLOCKS:
            for command, shown in commands(block):
                text = command.replace(ADDRESS, address)
                result = subprocess.run(
                    text, shell=True, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
                )
                assert result.returncode == 0, (text, result.stderr)
                assert result.stdout.strip() == shown.strip(), text
            # A reader of the page is slower than the service; this one waits.
            service.lines("jam", ended_by='"t": 9')


def test_the_dashboard_is_over_metrics_that_there_are(tmp_path: Path) -> None:
    dashboard = json.loads((DOCS / "how-to" / "thalweg-dashboard.json").read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    wanted = {name for query in queries for name in re.findall(r"(?:thalweg|process)_\w+", query)}
    with serving(tmp_path / "data") as service:
        text = service.client.get("/v1/metrics").text
    assert wanted <= set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    assert len(wanted) > 10
