"""Pictures of runs: what stands in them, and how the page behaves in a browser."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from thalweg.answers.answer_formats import AnswerFormat
from thalweg.answers.record import changes
from thalweg.api import Timing, load_part
from thalweg.cli import app
from thalweg.cli.picture import drawn
from thalweg.explain.timeline_chart import ChartSpan, chart_of
from thalweg.explain.timeline_page import timeline_page
from thalweg.explain.timeline_svg import MOST_ROWS, draw_timeline
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Event
from thalweg.model.fact import fact_of_text
from thalweg.model.time import Calendar
from thalweg.runtimes.recorded_answers import read_answers
from thalweg.testing.evaluators import batch_of

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


def test_the_beginning_of_a_run_elsewhere_is_proved_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run on Spark hands to its picture; of the last two readings one comes at the tick of the other."""
    monkeypatch.setattr("thalweg.runtimes.first_facts.MOST_KEPT", 3)
    words, timing = Dictionary(), Timing(first=0)
    part = load_part(["hot(D) :- temp(D,V) in [60 sec], V > 26, not off(D)."])
    with drawn(folder / "run.html", AnswerFormat()) as pencil:
        for tick, fact in (
            (5, "temp(a,27)"),
            (30, "temp(b,28)"),
            (90, "temp(c,29)"),
            (90, "off(c)"),
            (99, "temp(d,30)"),
        ):
            pencil.observe_elsewhere(tick, batch_of(words, Event(tick, (fact_of_text(fact),))), words)
        for tick, name in ((5, "a"), (30, "b"), (99, "d")):
            pencil.see(changes(tick, (f"hot({name})",)))
        pencil.ends = {"hot(d)": 159}
        pencil.prove(part, timing)
    page = (folder / "run.html").read_text()
    assert "There are proofs up to 89." in page
    assert [f"hot({name})   until" in page for name in "abcd"] == [True, True, False, False]


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
    lines = read_answers(folder / "a.jsonl", 1_000)
    (hot,) = (group for group in lines.groups if group.predicate == "hot")
    assert len(drawn) == 3, "two bands, and what the second is guaranteed for"
    assert [(span.end - span.start) // 1_000 for span in hot.rows[0][1]] == [61, 1]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("show", ["hot/1,mean/2", "hot/1"])
@pytest.mark.parametrize("emit", ["changes", "snapshot", "intervals"])
def test_tables_of_answers_are_drawn_like_lines(emit: str, show: str, ending: str, folder: Path) -> None:
    """Ticks of a minute are found out from the times; in a snapshot nobody says that what holds last goes on."""
    readings = READINGS.replace(":30Z", ":00Z").replace(":20Z", ":00Z").replace(":50Z", ":00Z")
    (folder / "in.jsonl").write_text(readings)
    out = f"a.{ending}"
    more = "--emit", emit, "--show", show, "--tick", "1min", "--quiet", "--out", out
    assert thalweg("run", "hot.lars", "--stream", "in.jsonl", *more).exit_code == 0
    chart = read_answers(folder / out)
    assert chart.unit == 60_000
    (hot,) = (group for group in chart.groups if group.predicate == "hot")
    is_open = emit != "snapshot" or ending == "jsonl"
    bands = [((span.end - span.start) // 60_000, span.is_open) for span in hot.rows[0][1]]
    assert bands == [(2, False), (1, is_open)]
    assert any(group.curves for group in chart.groups) == ("mean" in show)
    assert read_answers(folder / out, 30_000).unit == 30_000


KINDS = {
    "a.lp": "pick(X) :- p(X), not q(X).",
    "q.rspql": "SELECT ?s (MAX(?v) AS ?m) FROM NAMED WINDOW <w> ON <in> [RANGE 4, SLIDE 2] "
    "{ WINDOW <w> { ?s <urn:thalweg:v> ?v } } GROUP BY ?s",
    "ask.rspql": "ASK FROM NAMED WINDOW <w> ON <in> [RANGE 4, SLIDE 2] { WINDOW <w> { ?s <urn:thalweg:v> 7 } }",
    "con.rspql": "CONSTRUCT { ?s <http://ex.org/is> ?v } FROM NAMED WINDOW <w> ON <in> [RANGE 4, SLIDE 2] "
    "{ WINDOW <w> { ?s <urn:thalweg:v> ?v } }",
    "e.tw": "PREFIX : <http://ex.org/> NAMED EVENT :Both { MATCH EVERY :p SEQ :q WITHIN (3 s) }",
}


EVENTS = """
p(a) at 1. v(<http://ex.org/a>,9) at 1.
p(b) at 3. v(<http://ex.org/a>,7) at 3.
p(b) at 6.
"""


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("a.lp", ["pick(a) 2-4 False", "pick(b) 4-7 True"]),
        ("q.rspql", ["row <http://ex.org/a> ((4, 9.0), (6, 7.0))"]),
        ("ask.rspql", ["ask 4-5 False", "ask 6-7 False"]),
        ("con.rspql", ["<http://ex.org/is> <http://ex.org/a> ((4, 9.0), (6, 7.0))"]),
        (
            "e.tw",
            ["<http://ex.org/Both> 1-4 False", "<http://ex.org/p>(a) 1-2 False", "<http://ex.org/q>(b) 3-4 False"],
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_every_kind_of_answers_is_drawn(name: str, drawn: list[str], folder: Path) -> None:
    (folder / name).write_text(KINDS[name])
    (folder / "in.facts").write_text(EVENTS)
    (folder / "r.lars").write_text("@prefix : <http://ex.org/> . :p(a) :- p(a). :q(b) :- p(b), v(X,Y).")
    more = ["r.lars"] if name == "e.tw" else ["--window", "2"] if name == "a.lp" else []
    charts = []
    for ending in ("jsonl", "csv", "parquet"):
        run = thalweg(
            "run", name, *more, "--stream", "in.facts", "--out", f"a.{ending}", "--picture", "run.svg", "--quiet"
        )
        assert run.exit_code == 0, run.output
        charts.append(read_answers(folder / f"a.{ending}"))
    assert charts[0] == charts[1] == charts[2]
    found = [
        f"{fact} {span.start}-{span.end} {span.is_open}"
        for group in charts[0].groups
        for fact, spans in group.rows
        for span in spans
    ]
    found += [f"{group.predicate} {curve.name} {curve.points}" for group in charts[0].groups for curve in group.curves]
    assert found == drawn
    # The picture of the run itself shows the same, and what came.
    shown = {text.text for text in ElementTree.fromstring((folder / "run.svg").read_text()).iter(f"{SVG}text")}
    for group in charts[0].groups:
        assert {group.predicate, f":{group.predicate.rpartition('/')[2].rstrip('>')}"} & shown


def test_png_is_an_image(folder: Path) -> None:
    pytest.importorskip("resvg_py")
    run("run.png")
    assert (folder / "run.png").read_bytes().startswith(b"\x89PNG")


def test_thousands_of_facts_are_grouped() -> None:
    chart = chart_of([ChartSpan(f"jam(r{number})", number % 90, number % 90 + 9) for number in range(3_000)])
    svg = draw_timeline(chart)
    assert f">{3_000 - MOST_ROWS} more<" in svg
    assert len(svg) < 200_000
    assert "2,960 more" not in timeline_page(chart)


def test_a_mark_at_the_end_of_time_stays_inside_the_picture() -> None:
    chart = chart_of([ChartSpan("jam(a)", 0, 240_000)], unit=1_000, calendar=Calendar())
    drawing = ElementTree.fromstring(draw_timeline(chart))
    marks = [one for one in drawing.iter("{http://www.w3.org/2000/svg}text") if one.get("text-anchor") == "middle"]
    assert marks[-1].text == "00:04:00"
    assert all(float(one.get("x", 0)) + 3.2 * len(one.text or "") < float(drawing.get("width", 0)) for one in marks)


def test_what_is_written_in_a_picture_cannot_become_part_of_it() -> None:
    chart = chart_of([ChartSpan('said("</script><b>&")', 1, 3)], proofs={'said("</script><b>&")': "<script>"})
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
        (("timeline", "other.csv"), 1, "does not have the columns of answers"),
        (("timeline", "broken.csv"), 1, "has a row that is not an answer"),
        (("timeline", "broken.parquet"), 1, "cannot read `broken.parquet`"),
        (("timeline", "ticks.csv", "--tick", "1s"), 2, "these have bare ticks"),
        (("timeline", "ticks.csv", "--tick", "1x"), 2, "is not a duration"),
        (("run", "hot.lars", "--stream", "in.jsonl", "--picture", "x.bmp"), 2, "it ends in .svg .html .png"),
        (("run", "hot.lars", "--stream", "in.jsonl", "--picture", "no/x.svg"), 1, "is not a folder"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, sentence: str, folder: Path) -> None:
    (folder / "other.csv").write_text("device,temp\na,1\n")
    (folder / "broken.csv").write_text('t,op,predicate,args\nnoon,+,p,"[1]"\n')
    (folder / "broken.parquet").write_text("no")
    (folder / "ticks.csv").write_text('t,op,predicate,args\n3,+,p,"[1]"\n')
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
