"""Pictures of runs: what stands in them, and how the page behaves in a browser."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from thalweg.cli import app
from thalweg.explain.timeline_chart import Span, chart_of
from thalweg.explain.timeline_page import timeline_page
from thalweg.explain.timeline_svg import MOST_ROWS, draw_timeline
from thalweg.runtimes.recorded_answers import chart_of_lines

RULES = "hot(D) :- temp(D,V) in [60 sec], V > 26.  mean(D,A) :- temp(D,_), A = avg{V : temp(D,V) in [5 min]}."
READINGS = "".join(
    json.dumps({"t": f"2026-11-15T08:{second // 60:02}:{second % 60:02}Z", "facts": [f"temp(boiler,{value})"]}) + "\n"
    for second, value in ((0, 20), (30, 27), (200, 22), (230, 28))
)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hot.lars").write_text(RULES)
    (tmp_path / "in.jsonl").write_text(READINGS)
    return tmp_path


def thalweg(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def run(picture: str, *more: str) -> Result:
    result = thalweg(
        "run", "hot.lars", "--stream", "in.jsonl", "--quiet", "--out", "a.jsonl", "--picture", picture, *more
    )
    assert result.exit_code == 0, result.output
    return result


def titles(svg: str) -> list[str]:
    return [title.text or "" for title in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def test_bands_curves_and_guaranteed_ends_are_drawn(folder: Path) -> None:
    run("run.svg")
    svg = (folder / "run.svg").read_text()
    assert "hot(boiler) from 2026-11-15 08:00:30 until 2026-11-15 08:01:30" in titles(svg)
    assert "hot(boiler) from 2026-11-15 08:03:50, guaranteed until 2026-11-15 08:04:50" in titles(svg)
    assert "stroke-dasharray" in svg
    texts = [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert {"temp", "mean", "hot", "08:00", "08:04"} <= set(texts)
    assert titles(svg).count("boiler") == 2, "a curve of what came, and one of what follows"


def test_answers_that_were_written_are_drawn_again(folder: Path) -> None:
    run("run.svg")
    assert thalweg("timeline", "a.jsonl", "--out", "again.svg").exit_code == 0
    again = titles((folder / "again.svg").read_text())
    assert "hot(boiler) from 2026-11-15 08:00:30 until 2026-11-15 08:01:30" in again
    assert "hot(boiler) from 2026-11-15 08:03:50, still holds" in again
    shown = thalweg("timeline", "a.jsonl").stdout
    assert "hot\n  boiler " in shown
    assert "▶" in shown


@pytest.mark.parametrize("emit", ["changes", "snapshot", "intervals"])
def test_every_way_to_emit_gives_the_same_bands(emit: str, folder: Path) -> None:
    run("run.svg", "--emit", emit)
    drawn = [title for title in titles((folder / "run.svg").read_text()) if title.startswith("hot")]
    lines = chart_of_lines((folder / "a.jsonl").read_text().splitlines())
    (hot,) = (group for group in lines.groups if group.predicate == "hot")
    assert len(drawn) == 3, "two bands, and what the second is guaranteed for"
    assert [(span.end - span.start) // 1_000 for span in hot.rows[0][1]] == [61, 1]


def test_png_is_an_image(folder: Path) -> None:
    pytest.importorskip("resvg_py")
    run("run.png")
    assert (folder / "run.png").read_bytes().startswith(b"\x89PNG")


def test_thousands_of_facts_are_grouped() -> None:
    chart = chart_of([Span(f"jam(r{number})", number % 90, number % 90 + 9) for number in range(3_000)])
    svg = draw_timeline(chart)
    assert f">{3_000 - MOST_ROWS} more<" in svg
    assert len(svg) < 200_000
    assert "2,960 more" not in timeline_page(chart)


def test_what_is_written_in_a_picture_cannot_become_part_of_it() -> None:
    chart = chart_of([Span('said("</script><b>&")', 1, 3)], proofs={'said("</script><b>&")': "<script>"})
    ElementTree.fromstring(draw_timeline(chart))
    page = timeline_page(chart)
    assert page.count("</script>") == 2
    assert "<b>" not in page


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("timeline", "a.jsonl", "--out", "x.gif"), 2, "it ends in .svg .html .png"),
        (("timeline", "nowhere.jsonl"), 1, "cannot read"),
        (("timeline", "hot.lars"), 1, "hot.lars:1: not an answer"),
        (("run", "hot.lars", "--stream", "in.jsonl", "--picture", "x.bmp"), 2, "it ends in .svg .html .png"),
        (("run", "hot.lars", "--stream", "in.jsonl", "--picture", "no/x.svg"), 1, "is not a folder"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, sentence: str) -> None:
    result = thalweg(*arguments)
    assert (result.exit_code, sentence in result.stderr) == (code, True), result.output


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("there is no Chromium")
    with sync.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def test_a_page_asks_for_nothing_and_a_click_shows_a_proof(browser: Any, folder: Path) -> None:
    run("run.html")
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((folder / "run.html").as_uri())
    bands = page.locator(".band")
    assert bands.count() == 3, "two bands, and what the second is guaranteed for"
    assert page.locator("#why").is_hidden()
    bands.nth(2).click()
    proof = page.locator("#why pre").text_content()
    assert "hot(boiler)   until 2026-11-15T08:04:50Z" in proof
    assert "temp(boiler,28) in [60] at 2026-11-15T08:03:50Z   [stream]" in proof
    page.fill("#search", "nothing like it")
    assert page.locator(".band").count() == 0
    page.fill("#search", "HOT")
    assert page.locator(".band").count() == 3
    before = page.locator("#range").text_content()
    page.click("#in")
    page.click("#in")
    assert page.locator("#range").text_content() != before
    page.click("#fit")
    assert page.locator("#range").text_content() == before
    assert (requests, errors) == ([(folder / "run.html").as_uri()], [])
    page.close()
