"""Every rejected program with everything that is said about it, word for word.

`python tests/rejected/test_rejected.py` writes the pages anew; look at what changed before you keep it.
"""

from pathlib import Path

import pytest

from thalweg.diagnostics import Diagnostic, Source
from thalweg.languages import cascade
from thalweg.languages.compile_options import Options
from thalweg.languages.lars import parse
from thalweg.languages.rspql.read_query import read_query
from thalweg.planning.passes import check

HERE = Path(__file__).parent
PROGRAMS = sorted((*HERE.glob("*.lars"), *HERE.glob("*.rspql"), *HERE.glob("*.tw")))


def diagnostics(path: Path) -> list[Diagnostic]:
    source = Source(path.name, path.read_text(encoding="utf-8"))
    if path.suffix == ".tw":
        program, found = cascade.compile([source], Options())
        return [*found, *(one for _, one in program.undefined)]
    if path.suffix == ".rspql":
        return read_query(source)[1]
    program, found = parse(source)
    return found or check(program)


def page(path: Path) -> str:
    return "\n\n".join(found.render() for found in diagnostics(path)) + "\n"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_is_said(path: Path) -> None:
    assert page(path) == path.with_suffix(".txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_diagnostic_has_a_place_and_a_way_out(path: Path) -> None:
    for found in diagnostics(path):
        assert found.span.source.name == path.name
        assert found.help


def test_every_page_has_a_program() -> None:
    assert {path.stem for path in HERE.glob("*.txt")} == {path.stem for path in PROGRAMS}


if __name__ == "__main__":
    for program in PROGRAMS:
        program.with_suffix(".txt").write_text(page(program), encoding="utf-8")
