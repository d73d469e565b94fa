"""Checked mode notices what touches memory that it must not, and the kernels are compiled anew when they change."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import thalweg
from thalweg.engine.compiled import SOURCES

REACHES_BEYOND = """
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.engine import layout
from thalweg.diagnostics import Source
from thalweg.languages.lars import read
from thalweg.model.fact import Fact

engine = Engine(read(Source("x.lars", "q(X,Y) :- p(X), r(X,Y) in [3].")))
engine.advance(0, [Fact("p", ("a",)), Fact("r", ("a", "b"))])
assert [str(fact) for fact in engine.facts()] == ["q(a,b)"]
{damage}
try:
    engine.advance(1, [Fact("p", ("a",)), Fact("r", ("a", "c"))])
except IndexError as error:
    print(error)
"""
DAMAGES = {
    "chains": "engine.arrays.scalars[layout.HEADS] = 1",
    "rows": "engine.arrays.scalars[layout.ROWS] = 2; engine.arrays.scalars[layout.LIVE] = -1000",
    "scratch": "engine.arrays.scratch[layout.SCRATCH + layout.TUPLE] = 1",
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_checked_mode_notices(damage: str) -> None:
    text = REACHES_BEYOND.format(damage=DAMAGES[damage])
    environment = {**os.environ, "THALWEG_CHECKED": "1"}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("a kernel reached beyond"), done.stderr


def test_kernels_are_stamped_with_every_file_that_their_constants_come_from() -> None:
    root = Path(thalweg.__file__).parents[1]
    kernels = [source for source in SOURCES if source.parent.name == "engine"]
    for source in kernels:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("thalweg."):
                module = root / node.module.replace(".", "/")
                files = [module.with_suffix(".py")] if module.with_suffix(".py").exists() else []
                files = files or [module / f"{name.name}.py" for name in node.names]
                assert set(files) <= set(SOURCES), f"{source.name} imports {node.module}"
