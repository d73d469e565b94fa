"""The table of options, and what is made of it: commands, keywords of Python, keys of deployments."""

import inspect
from pathlib import Path
from typing import Any, get_args

import pytest
import typer.main
from typer.testing import CliRunner

import thalweg
from thalweg import api
from thalweg.cli import app, parameters
from thalweg.diagnostics import Source
from thalweg.languages.deployment.read_deployment import SECTIONS, read_deployment
from thalweg.languages.options import OPTIONS, PANELS, Option

VERBS = ("run", "check", "explain", "why")
IN_PYTHON = {"run": thalweg.run, "check": thalweg.check, "explain": api.explain, "why": thalweg.why}
FUNCTIONS = (*IN_PYTHON.values(), thalweg.open, thalweg.load, thalweg.why_not, thalweg.why_row, thalweg.why_event)
# What a verb is about, and the function that takes warnings.
NO_OPTIONS = {"program", "programs", "fact", "row", "name", "report"}
VALUES = {
    "a text": "'x'",
    "a file": "'x'",
    "a list of texts": "['x', 'y']",
    "a list of files": "['x', 'y']",
    "true or false": "true",
    "a table": "{x = 'y'}",
    "a table of settings": "{x = 'y'}",
}


def rows(verb: str) -> list[Option]:
    return [option for option in OPTIONS if verb in option.verbs]


def keywords(function: Any) -> dict[str, object]:
    """The keywords of a function with their defaults; None for those that a `TypedDict` names."""
    names: dict[str, object] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            names |= dict.fromkeys(get_args(parameter.annotation)[0].__annotations__, ...)
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            names[parameter.name] = parameter.default
    return names


@pytest.mark.parametrize("verb", VERBS)
def test_the_command_line_has_the_options_of_the_table(verb: str) -> None:
    command = typer.main.get_command(app).commands[verb]  # type: ignore[attr-defined]
    typed = [one for one in command.params if one.param_type_name == "option" and one.name != "help"]
    assert [one.name for one in typed] == [option.name for option in rows(verb)]
    for one, option in zip(typed, rows(verb), strict=True):
        assert (one.opts, one.help, one.rich_help_panel) == ([option.flag], option.help, option.panel)
        assert one.default == option.default or (option.default is None and not one.default)


@pytest.mark.parametrize("verb", VERBS)
def test_python_has_the_keywords_of_the_table(verb: str) -> None:
    known = keywords(IN_PYTHON[verb])
    for option in rows(verb):
        if option.python is not None:
            default = option.default if option.python_default is ... else option.python_default
            assert known[option.python] in (default, ...) or option.callback, option.name


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_the_table_has_the_keywords_of_python(function: Any) -> None:
    assert keywords(function).keys() - {option.python for option in OPTIONS} <= NO_OPTIONS


def test_python_has_the_options_of_kinds_as_keywords_of_kinds() -> None:
    of_kinds = {option.python for option in OPTIONS if option.kinds and not option.callback and "run" in option.verbs}
    assert of_kinds - {"emit", "memory"} | {"prefix"} == api.KindKeywords.__annotations__.keys()


@pytest.mark.parametrize("option", [option for option in OPTIONS if option.key], ids=lambda option: option.name)
def test_deployments_have_the_keys_of_the_table(option: Option) -> None:
    assert option.key is not None
    header = f"[{option.key.section}]\n" if option.key.section else ""
    text = f"program = 'a.lars'\n{header}{option.key.name} = {VALUES[option.key.kind]}\n"
    options = read_deployment(Source("city.toml", text)).options
    assert options.keys() == {"programs", option.name}
    assert isinstance(options[option.name], list) == option.is_repeatable


def test_deployments_have_no_other_keys() -> None:
    for section, keys in SECTIONS.items():
        assert all(
            option.key and (option.key.section, option.key.name) == (section, key) for key, option in keys.items()
        )
    assert {option for keys in SECTIONS.values() for option in keys.values()} == {
        option for option in OPTIONS if option.key and option.key.section
    }


def test_a_verb_has_an_option_once() -> None:
    for verb in VERBS:
        names = [option.name for option in rows(verb)]
        assert len(names) == len({*names}) == len({option.flag for option in rows(verb)})
    keys = [option.key for option in OPTIONS if option.key]
    assert len(keys) == len({*keys})
    assert all(option.name in PANELS[option.panel] for option in OPTIONS)


def test_a_new_option_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_haste(text: str) -> None:
        if text == "fast":
            raise ValueError("it is too fast")

    pace = Option("pace_of_run", str | None, "How fast.", metavar="PACE", check=no_haste, panel="Time")
    monkeypatch.setattr(parameters, "OPTIONS", (*OPTIONS, pace))
    commands, values = typer.Typer(), dict[str, Any]()

    @commands.command()
    @parameters.with_options("run")
    def run(programs: parameters.Programs, given: parameters.Values) -> None:
        values.update(given, programs=programs)

    runner = CliRunner()
    assert runner.invoke(commands, ["a.lars", "--pace-of-run", "slow"]).exit_code == 0
    assert (values["programs"], values["pace_of_run"], values["tick"]) == ([Path("a.lars")], "slow", "1s")
    assert "it is too fast" in runner.invoke(commands, ["a.lars", "--pace-of-run", "fast"]).output
    assert "How fast." in runner.invoke(commands, ["--help"]).output
