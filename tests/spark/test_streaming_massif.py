"""The page with the examples of Streaming MASSIF, on Spark: its runs give there what the page shows."""

import doctest
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import thalweg
from spark.commands import run
from thalweg.diagnostics import warn

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "streaming-massif.md"
OPTIONS = {"end": "--to", "event": "--event", "background": "--background"}


@pytest.fixture
def on_spark(in_session: None, tmp_path: Path) -> Callable[[Sequence[Path], Any], list[str]]:
    """The lines of a run on Spark, with the options of `thalweg.run`; all runs share a session."""

    def lines(programs: Sequence[Path], stream: Path | str, **options: Any) -> list[str]:
        if isinstance(stream, str):
            text, stream = stream, tmp_path / "stream.facts"
            stream.write_text(text)
        words = [*map(str, programs), "--stream", str(stream), *_words(options)]
        out = tmp_path / "out.jsonl"
        run(*words, "--runtime", "spark", "--out", out)
        return out.read_text().splitlines()

    return lines


def _words(options: dict[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        for one in value if isinstance(value, list) else [value]:
            yield from (OPTIONS[name], str(one))


RUNS = 7


@pytest.mark.parametrize(
    "chosen",
    [{RUNS - 1}, pytest.param({*range(RUNS)}, marks=pytest.mark.slow)],
    ids=["the last", "all"],
)
def test_the_runs_of_the_page(
    on_spark: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, chosen: set[int]
) -> None:
    embedded, counts = thalweg.run, []

    def both(programs: Sequence[Path], stream: Path | str, report: Any = None, **options: Any) -> list[Any]:
        alone = list(embedded(programs, stream=stream, report=report or warn, **options))
        if len(counts) in chosen:
            assert on_spark(programs, stream, **options) == [str(one) for one in alone] != []
        counts.append(len(alone))
        return alone

    monkeypatch.setattr(thalweg, "run", both)
    page = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    said: list[str] = []
    runner.run(page, out=said.append)
    assert not said, "".join(said)
    assert len(counts) == RUNS
    assert sum(counts) > 14
