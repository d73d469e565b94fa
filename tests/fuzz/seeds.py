"""Small documents of each kind, to begin with: those in `corpus`, and those that the project shows its users."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from typer.testing import CliRunner

import thalweg
from thalweg import load
from thalweg.cli import app
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.fact import Fact

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
SAVED: Final = """q(X) :- p(X) in [9], not r(X).
last(X) :- e(X,_) in [2 #].
n(N) :- k, N = count{X : p(X) in [5]}.
f :- p(X) always in [2]."""
"""The program whose state is saved and restored."""

_BLOCK: Final = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_SHOWN: Final = {"lars": ".lars", "facts": ".facts", "jsonl": ".jsonl"}
_LONGEST: Final = 2_000


@cache
def documents(kind: str) -> Sequence[bytes]:
    """The documents of a kind.

    >>> len(documents("csv")), documents("parquet")[0][:4], documents("options")[0]
    (2, b'PAR1', b'1s')
    """
    if kind == "parquet":
        return _parquet_files()
    if kind == "snapshot":
        return _snapshots()
    if kind == "checkpoint":
        return _checkpoints()
    if kind == "session-snapshot":
        return _session_snapshots()
    if kind == "options":
        return (HERE / "corpus" / "options.txt").read_bytes().splitlines()
    own = [path.read_bytes() for path in sorted((HERE / "corpus").glob(f"{kind}-*"))]
    return own + [text.encode() for text in _shown(kind) if len(text) < _LONGEST]


def _shown(kind: str) -> list[str]:
    """What the examples and the documentation have of a kind."""
    found = []
    if kind in _SHOWN:
        found += [path.read_text("utf-8") for path in sorted((ROOT / "examples").glob(f"*{_SHOWN[kind]}"))]
    if kind == "lars":
        found += [path.read_text("utf-8") for path in sorted((ROOT / "tests" / "rejected").glob("*.lars"))]
        pages = sorted((ROOT / "docs").rglob("*.md"))
        found += [block for page in pages for block in _BLOCK.findall(page.read_text("utf-8")) if ":-" in block]
    return found


def _parquet_files() -> list[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    triples = pa.table({"s": ["a", "b"], "p": ["speed", "speed"], "o": [12, 35], "t": [1, 2]})
    tables = (
        (triples, "none"),
        (triples.set_column(0, "s", triples["s"].dictionary_encode()), "none"),
        (pa.table({"fact": ["p(a)", None], "t": [datetime(1970, 1, 1, 0, 0, 3), None]}), "snappy"),
        (pa.table({"s": ["a"], "p": ["q"], "o": [Decimal("1.50")], "t": [date(1970, 1, 2)], "stream": ["x"]}), "none"),
        (pa.table({"s": [b"a"], "p": ["q"], "o": [[1, 2]], "t": [1.5]}), "zstd"),
    )
    files = []
    for table, compression in tables:
        file = BytesIO()
        parquet.write_table(table, file, compression=compression)
        files.append(file.getvalue())
    return files


@cache
def saved_run() -> Mapping[str, bytes]:
    """The files of a run that had a checkpoint, by their names."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "saved.lars").write_text(SAVED)
        (folder / "in.facts").write_text("p(a) at 1.\ne(a,2.5) at 1.\np(b) at 4.\nk at 5.\n")
        ended = CliRunner().invoke(app, command_in(folder))
        assert ended.exit_code == 0, ended.output
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def command_in(folder: Path) -> list[str]:
    """The command of that run, in a folder."""
    words = ["run", "saved.lars", "--stream", "in.facts", "--out", "out.jsonl", "--checkpoint", "checkpoint"]
    return [str(folder / word) if "." in word or word == "checkpoint" else word for word in words]


def _checkpoints() -> list[bytes]:
    return [data for name, data in saved_run().items() if name.startswith("checkpoint/") and data]


def _session_snapshots() -> list[bytes]:
    with thalweg.open(SAVED) as session:
        session.push("p", "a", at=1)
        session.push("e", "a", 2.5, at=3)
        session.advance(2)
        return [session.snapshot()]


def _snapshots() -> list[bytes]:
    engine = Engine(load(SAVED))
    engine.advance(1, [Fact("p", ("a",)), Fact("e", ("a", "2.5"))])
    early = engine.snapshot()
    engine.advance(4, [Fact("p", ('"x y"',)), Fact("e", ("b", "3")), Fact("k", ())])
    return [early, engine.snapshot()]
