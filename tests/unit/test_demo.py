"""The demo finds what its city tells, and shows it."""

import json
import re
import tempfile
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from thalweg.demo import leave_files, main
from thalweg.demo.city_log import CityLog
from thalweg.demo.live_view import chart
from thalweg.demo.smart_city import SENSORS, background, quads
from thalweg.diagnostics import FailedError, RejectedError

# By hand, from what `smart_city` lets happen: Mill Street is full from 17:34 and measured at full half minutes; it is
# free when less than 0.4 is measured, in the one and a half minutes after 17:46 in which it empties. The loops of
# Stadium Road and Park Road measure 15 s later. A garage is full a minute after it last had spaces. Windows of the
# query close at the 59th second; the mean of the harbour is above 50 from the second one on, and below 40 at 17:54:59.
# The last rain is measured at 17:51:15, and counts for two minutes.
STORY = """
17:34:00  patterns Incident: road mill, district centre, in 30 s
17:34:00  rules    + blocked(mill)
17:34:00  lights   + long_green(j_market,mint)
17:34:00  lights   + long_green(j_mill,bridge)
17:35:59  rules    + smog(harbour)
17:35:59  lights   + long_green(j_canal,canal)
17:35:59  lights   + long_green(j_dock,dock)
17:35:59  lights   + long_green(j_river,dock)
17:37:15  rules    + slippery(north)
17:37:15  lights   + long_yellow(j_abbey)
17:37:15  lights   + long_yellow(j_castle)
17:37:15  lights   + long_yellow(j_forest)
17:42:00  patterns GarageFills: garage g1, in 1 min
17:43:07  patterns GarageFills: garage g2, in 1 min
17:44:15  patterns GarageFills: garage g3, in 1 min
17:45:15  patterns CrowdJam: road stadium, garage g3, district east, in 2 min
17:45:15  rules    + crowded(stadium)
17:45:15  lights   + long_green(j_garden,stadium)
17:45:15  lights   + long_green(j_stadium,stadium)
17:47:00  patterns IncidentOver: road mill, in 13 min 30 s
17:47:00  rules    - blocked(mill) after 13 min
17:47:00  lights   - long_green(j_market,mint) after 13 min
17:47:00  lights   - long_green(j_mill,bridge) after 13 min
17:47:45  patterns CrowdJam: road park, garage g3, district east, in 4 min 30 s
17:47:45  rules    + crowded(park)
17:47:45  lights   + long_green(j_park,park)
17:50:07  ontology parking162 contradicts it
17:53:16  rules    - slippery(north) after 16 min 1 s
17:53:16  lights   - long_yellow(j_abbey) after 16 min 1 s
17:53:16  lights   - long_yellow(j_castle) after 16 min 1 s
17:53:16  lights   - long_yellow(j_forest) after 16 min 1 s
17:54:59  rules    - smog(harbour) after 19 min
17:54:59  lights   - long_green(j_canal,canal) after 19 min
17:54:59  lights   - long_green(j_dock,dock) after 19 min
17:54:59  lights   - long_green(j_river,dock) after 19 min
17:55:15  rules    - crowded(park) after 7 min 30 s
17:55:15  lights   - long_green(j_park,park) after 7 min 30 s
17:58:15  rules    - crowded(stadium) after 13 min
17:58:15  lights   - long_green(j_garden,stadium) after 13 min
17:58:15  lights   - long_green(j_stadium,stadium) after 13 min
""".strip().splitlines()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the demo prints in this process, and its picture."""
    out = tmp_path_factory.mktemp("demo") / "city.svg"
    return printed(out), out


def printed(out: Path | None, runtime: str = "embedded") -> str:
    text = StringIO()
    main(Console(file=text, width=200, force_terminal=False), out, runtime, paced=False)
    return text.getvalue()


def news(text: str) -> list[str]:
    return re.findall(r"^[0-9:]{8}  \w+ +\S.*$", text, re.MULTILINE)


def test_the_city_is_the_same_every_time() -> None:
    assert background() == background()
    assert [list(quads(one)) for one in SENSORS] == [list(quads(one)) for one in SENSORS]


def test_all_of_the_story_is_found_and_nothing_else(shown: tuple[str, Path]) -> None:
    assert news(shown[0]) == STORY


def test_the_picture_has_a_bar_for_every_time_that_a_conclusion_held(shown: tuple[str, Path]) -> None:
    text, out = shown
    drawing = ElementTree.parse(out).getroot()
    titles = [each.text or "" for each in drawing.iter("{http://www.w3.org/2000/svg}title")]
    began = [line.split("+ ")[1] for line in news(text) if " + " in line]
    events = [re.sub(r".*patterns (\w+): \w+ (\w+).*", r"\1(\2)", line) for line in news(text) if "patterns" in line]
    assert sorted(title.split()[0] for title in titles if "(" in title) == sorted(began + events)
    assert "blocked(mill) from 2026-11-14 17:34:00 until 2026-11-14 17:46:59" in titles
    assert "CrowdJam(park) from 2026-11-14 17:43:15 until 2026-11-14 17:47:45" in titles


def test_the_picture_of_the_tutorial_is_that_of_the_demo(shown: tuple[str, Path]) -> None:
    tutorial = Path(__file__).parents[2] / "docs" / "tutorial" / "city.svg"
    assert shown[1].read_text(encoding="utf-8") == tutorial.read_text(encoding="utf-8")


def test_the_summary_has_a_line_for_each_layer(shown: tuple[str, Path]) -> None:
    text, out = shown
    summary = text.split("summary")[1]
    for word in ("observations", "background", "query", "ontology", "patterns", "rules", "answer sets", str(out)):
        assert word in summary


def test_on_a_terminal_the_live_picture_goes_and_the_summary_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    text = StringIO()
    main(Console(file=text, width=500, height=30, force_terminal=True, force_interactive=True), None, "embedded")
    before, summary = text.getvalue().rsplit("the timeline", 1)
    assert "observations" in before
    assert "blocked(mill)" in before
    assert "answer sets" in summary
    # A picture without a name is a temporary file.
    (picture,) = temporary.glob("*/*.svg")
    assert str(picture) in summary
    assert not list(work.iterdir())


def test_on_a_small_terminal_the_live_picture_has_the_states_alone() -> None:
    log = CityLog(ended={"blocked(mill)": [(0, 60)], "Incident(mill)": [(0, 1)], "long_yellow(j_mill)": [(0, 60)]})
    assert [group.predicate for group in chart(log).groups] == ["Incident", "blocked", "long_yellow"]
    assert [group.predicate for group in chart(log, "rules").groups] == ["blocked"]


def test_a_folder_that_is_not_there_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(RejectedError, match="nowhere"):
        printed(tmp_path / "nowhere" / "city.svg")


def test_a_picture_that_would_replace_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RejectedError, match=re.escape(str(tmp_path))):
        printed(tmp_path)


def test_the_files_are_left_with_the_command_that_runs_them(tmp_path: Path) -> None:
    text = StringIO()
    leave_files(Console(file=text, width=80), tmp_path / "city")
    words = text.getvalue().split()
    assert words[:4] == ["cd", str(tmp_path / "city"), "thalweg", "run"]
    assert {path.name for path in (tmp_path / "city").iterdir()} <= set(words)


def test_files_that_cannot_be_left_are_a_failure(tmp_path: Path) -> None:
    (tmp_path / "city").write_text("a file")
    with pytest.raises(FailedError, match="city"):
        leave_files(Console(file=StringIO()), tmp_path / "city")


def test_without_spark_there_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thalweg.runtimes.spark.session._installed", lambda name: name != "pyspark")
    with pytest.raises(RejectedError, match="there is no pyspark"):
        printed(tmp_path / "city.svg", "spark")


def answers(text: str) -> list[str]:
    """The lines of the file of answers that a summary names, sorted."""
    found = re.search(r"answers +(\S+\.jsonl)", text)
    assert found is not None
    return sorted(Path(found[1]).read_text(encoding="utf-8").splitlines())


def test_the_answers_have_the_times_of_the_city(shown: tuple[str, Path]) -> None:
    times = [json.loads(line)["t"] for line in answers(shown[0])]
    assert (times[0], times[-1]) == ("2026-11-14T17:30:00Z", "2026-11-14T17:59:59Z")
    assert all(re.fullmatch(r"2026-11-14T[0-9:]{8}Z", time) for time in times)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("in_session")
def test_spark_gives_the_same_news_and_the_same_answers(shown: tuple[str, Path], tmp_path: Path) -> None:
    """Also as a picture; the tutorial's test compares the answers of the same programs in every run."""
    text = printed(tmp_path / "spark.svg", "spark")
    assert news(text) == news(shown[0])
    assert answers(text) == answers(shown[0])
    assert (tmp_path / "spark.svg").read_text() == shown[1].read_text()
