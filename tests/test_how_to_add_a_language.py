"""What the page about languages shows is what an installed language does."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import thalweg
from thalweg import Source
from thalweg.cli import app
from thalweg.ir.text import show
from thalweg.languages.registry import GROUP, registry

PAGE = (Path(__file__).parents[1] / "docs" / "how-to" / "add-a-language.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`([\w.]+)`:\n\n```\w*\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = re.findall(r"^\$ thalweg (.*)\n((?:[^$`].*\n)+)", PAGE, re.MULTILINE)


def install(folder: Path, package: str, entry: str) -> None:
    """Leaves in a folder what `pip` leaves of a package with a language."""
    about = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n{entry}\n")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder into which the package of the page was installed."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    ((name, value),) = project["entry-points"][GROUP].items()
    install(tmp_path, project["name"], f"{name} = {value}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    registry.cache_clear()
    yield tmp_path
    registry.cache_clear()
    sys.modules.pop("thalweg_limits", None)


def test_there_is_something_to_try() -> None:
    assert set(FILES) > {"city.limit", "city.facts", "alarm.lars", "thalweg_limits.py", "pyproject.toml"}
    assert [command.split()[0] for command, _ in COMMANDS] == ["run", "why", "run", "check"]
    assert len(FILES["thalweg_limits.py"].splitlines()) <= 60


@pytest.mark.parametrize(("command", "shown"), COMMANDS)
def test_a_command_prints_what_is_shown(command: str, shown: str, installed: Path) -> None:
    arguments = shlex.split(command)
    quiet = ["--quiet"] if arguments[0] == "run" else []
    assert CliRunner().invoke(app, [*arguments, *quiet]).output == shown


@pytest.mark.parametrize("runtime", ["embedded", "spark"])
def test_its_plan_is_explained(runtime: str, installed: Path) -> None:
    result = CliRunner().invoke(app, ["explain", "city.limit", "--runtime", runtime])
    assert result.exit_code == 0
    assert "hot: temperature > 30 within 2 s" in result.output


def test_it_runs_beside_programs_of_all_kinds(installed: Path) -> None:
    pytest.importorskip("clingo")
    city = Source("city.ttl", "<hot> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <Alarm> .")
    repair = Source("repair.lp", "repair(X) :- hot(X), not known(X).")
    rules = "send(X) :- repair(X). <hot>(X) :- hot(X)."
    answers = thalweg.run(["city.limit", repair, city, rules], stream="temperature(s1,35) at 1.")
    assert list(map(str, answers)) == [
        '{"t":1,"window":[1,1],"answers":[["repair(s1)"]]}',
        '{"t":1,"begin":["<Alarm>(s1)","<hot>(s1)","hot(s1)","send(s1)"],"end":[]}',
    ]


def test_a_text_is_of_the_language_that_its_name_says(installed: Path) -> None:
    program = thalweg.load(Source("x.limit", "hot: t > 3 within 1 min"), tick="10s")
    assert show(program) == "hot(X) :- t(X,V) in [6], V > 3."
    assert [one.code for one in thalweg.check(Source("x.limit", "hot"), "p(X :- q.")] == ["E101", "E101"]
    assert [one.code for one in thalweg.check("q :- p.", background="city.limit")] == ["E402"]


def test_two_packages_that_claim_a_suffix_are_named(installed: Path) -> None:
    install(installed, "rival", "bound = thalweg_limits:LANGUAGE")
    (found,) = thalweg.check("city.limit")
    assert found.code == "E402"
    assert "`bound` of the package `rival`" in found.message
    assert "`limit` of the package `thalweg-limits`" in found.message
    assert thalweg.check("alarm.lars") == []


def test_a_package_that_cannot_be_imported_is_named_where_a_file_is_unknown(installed: Path) -> None:
    install(installed, "damaged", "rate = no_such_module:LANGUAGE")
    result = CliRunner().invoke(app, ["check", "city.rate"])
    assert result.exit_code == 1
    assert "the language `rate` of the package `damaged` cannot be loaded: ModuleNotFoundError" in result.output
    assert thalweg.check("city.limit") == []


def test_without_the_package_the_file_is_unknown(tmp_path: Path) -> None:
    (found,) = thalweg.check(tmp_path / "city.limit")
    assert (found.code, found.notes) == ("E402", ())


@pytest.mark.slow
@pytest.mark.spark
def test_it_runs_on_spark(installed: Path) -> None:
    command, shown = COMMANDS[0]
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "thalweg", *shlex.split(command), "--runtime", "spark"],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == shown
