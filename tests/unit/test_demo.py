"""The demo shows conclusions that begin and end, the same ones in every run and on every runtime."""

import re
import tempfile
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from thalweg import api
from thalweg.demo import NEWS, ROADS, SENSORS, Watch, background, city, main, program, svg, timeline
from thalweg.diagnostics import FailedError, RejectedError
from thalweg.planning.partition import partition

TICKS = 600


def shown(out: Path, runtime: str = "embedded", ticks: int = TICKS) -> str:
    text = StringIO()
    main(Console(file=text, width=120, force_terminal=False), out, runtime, seconds=0, ticks=ticks)
    return text.getvalue()


def lines(text: str) -> list[str]:
    """The news, which come in the order of time."""
    return re.findall(r"^[0-9:]{8} [+-] .*$", text, re.MULTILINE)


def test_the_city_is_the_same_every_time() -> None:
    assert list(city(200)) == list(city(200))


def test_the_city_is_worth_more_than_one_core() -> None:
    minute = sum(len(event.facts) for event in city(60))
    assert minute * 30 > 100_000
    assert minute > 60 * len(ROADS) * SENSORS


def test_the_work_is_split_by_sensor_and_by_road() -> None:
    stages = partition(api.load(program(), background=background())).stages
    assert [stage.split for stage in stages] == [True, True, False]
    assert [set(stage.keys) for stage in stages[:2]] == [{"S", "R"}, {"R"}]


def test_conclusions_begin_and_end(tmp_path: Path) -> None:
    text = shown(tmp_path / "city.svg")
    for kind in NEWS:
        assert f"+ {kind}(" in text
        assert f"- {kind}(" in text
    for word in ("events", "conclusions", "rows/s", "held longest", "the timeline", "city.svg"):
        assert word in text
    assert lines(text) == sorted(lines(text), key=lambda line: line[:8])


def test_the_picture_has_a_bar_for_every_time_that_a_jam_held(tmp_path: Path) -> None:
    shown(tmp_path / "city.svg")
    answers = api.run(program(), on=city(TICKS), background=background(), emit="intervals")
    jams = [answer for answer in answers if answer.fact.startswith("jam(")]
    drawing = ElementTree.parse(tmp_path / "city.svg").getroot()
    titles = [each.text or "" for each in drawing.iter("{http://www.w3.org/2000/svg}title")]
    assert len([title for title in titles if title.startswith("jam(")]) == len(jams) > 5


def test_without_a_name_the_picture_is_a_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    text = StringIO()
    main(Console(file=text, width=500), None, "embedded", seconds=0, ticks=60)
    (picture,) = temporary.glob("*/*.svg")
    assert str(picture) in text.getvalue()
    assert not list(work.iterdir())


def test_on_a_terminal_the_live_picture_goes_and_the_summary_stays(tmp_path: Path) -> None:
    text = StringIO()
    console = Console(file=text, width=80, height=24, force_terminal=True, force_interactive=True)
    main(console, tmp_path / "city.svg", "embedded", seconds=0, ticks=180)
    before, summary = text.getvalue().rsplit("the timeline", 1)
    assert "+ standstill(oak)" in before
    assert "rows/s" in summary


def test_what_still_holds_is_drawn_up_to_now() -> None:
    watch = Watch()
    for update in [(0, False, "jam(elm)"), (30, True, "jam(elm)"), (40, False, "jam(elm)"), (59, False, "slow(oak)")]:
        watch.note(update)
    assert watch.held == {"jam(elm)": [(0, 30), (40, 60)], "slow(oak)": [(59, 60)]}
    assert str(timeline(watch.held, ticks=60, width=6, roads=["elm"])).splitlines()[0] == "    elm ▒▒▒ ▒▒"


def test_the_worst_of_a_time_is_what_a_block_shows() -> None:
    held = {"standstill(elm)": [(10, 11)], "jam(elm)": [(0, 60)], "queue(elm)": [(20, 30)]}
    assert str(timeline(held, ticks=60, width=6, roads=["elm"])).splitlines()[0] == "    elm ▒█▓▒▒▒"


def test_an_empty_timeline_is_a_picture_too() -> None:
    assert "<title>" not in svg({}, ticks=60)


def test_a_folder_that_is_not_there_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(RejectedError, match="nowhere"):
        shown(tmp_path / "nowhere" / "city.svg")


def test_a_picture_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match=re.escape(str(tmp_path))):
        shown(tmp_path, ticks=60)


def test_without_spark_there_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg.runtimes.spark.session._installed", lambda name: name != "pyspark")
    with pytest.raises(RejectedError, match="there is no pyspark"):
        shown(tmp_path / "city.svg", "spark")


@pytest.mark.slow
def test_spark_gives_the_same_news(tmp_path: Path) -> None:
    text = shown(tmp_path / "spark.svg", "spark")
    assert lines(text) == lines(shown(tmp_path / "embedded.svg"))
    assert (tmp_path / "spark.svg").read_text() == (tmp_path / "embedded.svg").read_text()
    assert re.search(r"stage 1 +2 buckets, by R +jam", text)
