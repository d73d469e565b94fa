"""The small installation: whatever needs another package says which extra installs it, and the rest works."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from thalweg.cli.errors import EXTRAS

ROOT = Path(__file__).parents[2]
# Commands, and the extra that each needs; none for those that need nothing.
COMMANDS = {
    "run q.lars --stream in.facts": "",
    "run q.lars --stream in.facts --picture a.svg": "",
    "run plain.tw --stream in.facts": "",
    "check o.ttl": "",
    "explain q.lars": "",
    "timeline a.jsonl": "",
    "serve --port 0": "serve",
    "serve --new-token a --scope read --tokens t": "",
    "demo --files city": "",
    "run q.lp --stream in.facts --window 1s": "asp",
    "check q.lp": "asp",
    "explain q.lp": "asp",
    "run q.rspql --stream in.facts": "rspql",
    "check q.rspql": "rspql",
    "explain q.rspql": "rspql",
    "run e.tw --stream in.facts": "owl",
    "check e.tw": "owl",
    "run e.tw o.ttl --stream in.facts": "owl",
    "check o.ofn": "owl",
    "run q.lars --stream in.facts --background o.omn": "owl",
    "run q.lars --stream in.facts --runtime spark": "spark",
    "run q.lars --stream kafka://localhost:1/t": "kafka",
    "run q.lars --stream in.facts --out kafka://localhost:1/t": "kafka",
    "run q.lars --stream mqtt://localhost:1/t": "mqtt",
    "run q.lars --stream in.facts --out mqtt://localhost:1/t": "mqtt",
    "run q.lars --stream ws://localhost:1/t": "web",
    "run q.lars --stream in.facts --picture a.png": "pictures",
    "timeline a.jsonl --out a.png": "pictures",
    "bench laser --quick": "bench",
    "demo": "demo",
    "demo --runtime embedded": "demo",
}
# Runs commands where packages cannot be imported, and prints how each ended.
_WITHOUT = """
import json, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

packages, commands = json.load(sys.stdin)
sys.meta_path.insert(0, Blocker())
from typer.testing import CliRunner
from thalweg.cli import app

ended = (CliRunner().invoke(app, command.split()) for command in commands)
print(json.dumps([[result.exit_code, result.stderr] for result in ended]))
"""


def test_every_command_says_which_extra_is_missing(tmp_path: Path) -> None:
    for name, text in {
        "q.lars": "q(X) :- p(X).",
        "in.facts": "p(a) at 1.\n",
        "q.lp": "q(X) :- p(X).",
        "q.rspql": "SELECT ?s FROM NAMED WINDOW <w> ON <in> [RANGE 2s] { WINDOW <w> { ?s ?p ?o } }",
        "plain.tw": "PREFIX : <http://e.org/> NAMED EVENT :A AS :A",
        "e.tw": "PREFIX : <http://e.org/> NAMED EVENT :A AS :A and :B",
        "o.ttl": "@prefix : <http://e.org/> . :A <http://www.w3.org/2000/01/rdf-schema#subClassOf> :B .",
        "o.ofn": "Prefix(:=<http://e.org/>) Ontology(SubClassOf(:A :B))",
        "o.omn": "Prefix: : <http://e.org/>\nOntology: <http://e.org/o>\nClass: :A\n",
        "a.jsonl": '{"t":1,"begin":["q(a)"],"end":[]}\n',
    }.items():
        (tmp_path / name).write_text(text)
    asked = json.dumps([[*EXTRAS], [*COMMANDS]])
    done = subprocess.run([sys.executable, "-c", _WITHOUT], cwd=tmp_path, input=asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for (command, extra), (code, said) in zip(COMMANDS.items(), json.loads(done.stdout), strict=True):
        codes, extras = re.findall(r"error\[(\w+)\]", said), re.findall(r"pip install 'thalweg\[(\w+)\]'", said)
        assert (command, codes, extras) == (command, ["E406"] * bool(extra), [extra] * bool(extra)), said
        assert code == (1 if extra else 0), said


@pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="not a checkout")
def test_extras_of_everything_name_what_other_extras_name() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for_users = set(extras) - {"demo", "all", "bench", "testing", "dev"}
    assert set(extras["all"]) == {package for name in for_users for package in extras[name]}
    assert set(extras["demo"]) == {package for name in ("spark", "dl", "asp", "rspql") for package in extras[name]}
    assert set(EXTRAS.values()) <= set(extras)
