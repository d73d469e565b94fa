"""Deployments: one file that says what a run is."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import thalweg
from thalweg import RejectedError, Source, api
from thalweg.cli import app
from thalweg.languages.options import PANELS

CSV = "device,temp,ts\na,31,2026-11-15T08:00:00Z\nb,20,2026-11-15T08:00:01Z\na,29,2026-11-15T08:00:09Z\n"
CITY = """
program    = ["hot.lars"]
background = ["sites.csv"]
[streams.readings]
from = "data/readings.csv"
map  = ["temp(device, temp) at ts", "site(device, site)"]
[time]
tick = "1s"
delay = "5s"
[output]
show = ["near/2"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    city = tmp_path / "city"
    (city / "data").mkdir(parents=True)
    (city / "hot.lars").write_text("hot(D) :- temp(D,V) in [5 sec], V > 30. near(D,S) :- hot(D), site(D,S).")
    (city / "data" / "readings.csv").write_text(CSV)
    (city / "sites.csv").write_text("device,site\na,north\n")
    (city / "city.toml").write_text(CITY)
    monkeypatch.chdir(tmp_path)
    return city


def invoke(*words: object):
    return CliRunner().invoke(app, list(map(str, words)))


def test_a_deployment_is_run_with_files_beside_it(folder: Path) -> None:
    result = invoke("run", "city/city.toml")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"t": "2026-11-15T08:00:00Z", "begin": ["near(a,north)"], "end": []},
        {"t": "2026-11-15T08:00:06Z", "begin": [], "end": ["near(a,north)"]},
    ], result.output


def test_what_is_typed_counts(folder: Path) -> None:
    Path("other.csv").write_text(CSV.replace("08:", "09:"))
    result = invoke("run", "city/city.toml", "--show", "hot/1", "--stream", "other.csv", "--emit", "intervals")
    assert json.loads(result.stdout) == {
        "fact": "hot(a)",
        "from": "2026-11-15T09:00:00Z",
        "until": "2026-11-15T09:00:05Z",
    }


def test_other_verbs_read_what_concerns_them(folder: Path) -> None:
    assert "no problems found (rules: 2, facts: 1)" in invoke("check", "city/city.toml").stdout
    assert '"near/2"' in invoke("explain", "city/city.toml", "--format", "json").stdout


@pytest.mark.parametrize("format", ["jsonl", "csv", "text"])
def test_the_format_of_answers_is_for_run_alone(folder: Path, format: str) -> None:
    with (folder / "city.toml").open("a") as deployment:
        deployment.write(f'format = "{format}"\n')
    assert "no problems found" in invoke("check", "city/city.toml").stdout
    assert "strata" in json.loads(invoke("explain", "city/city.toml", "--format", "json").stdout)
    said = invoke("why", "city/city.toml", "near(a,north)", "--at", "2026-11-15T08:00:02Z")
    assert said.stdout.startswith("near(a,north)   until 2026-11-15T08:00:05Z"), said.output
    answers = invoke("run", "city/city.toml").stdout
    assert answers.startswith({"jsonl": '{"t":', "csv": "t,", "text": "2026-"}[format]), answers


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('programm = ["a.lars"]', "E901 city.toml:1:1 did you mean `program`?"),
        ('program = ["hot.lars"]\n[time]\ntik = "1s"', "E901 city.toml:3:1 did you mean `tick`?"),
        ('program = ["hot.lars"]\n[streams.a]\nform = "x"', "E901 city.toml:3:1 did you mean `from`?"),
        ('program = ["hot.lars"]\n[output]\nshow = 3', "E902 city.toml:3:1 `show` is a list of texts, and not `3`"),
        ('program = ["hot.lars"]\ntime = 3', "E902 city.toml:2:1 write `[time]`"),
        ('program = ["hot.lars"]\n[runtime]\nkind = "flink"', "E902 city.toml:3:1 'flink' is not one of"),
        ('program = ["hot.lars"]\n[runtime]\npartitions = "many"', "E902 city.toml:3:1 should be a valid integer"),
        ("[time]\ntick = '1s'", "E902 does not name a program"),
        ("program = [", "E101 this is not TOML"),
    ],
)
def test_what_is_wrong_has_a_place_and_a_way_out(folder: Path, text: str, said: str) -> None:
    (folder / "city.toml").write_text(text)
    result = invoke("run", "city/city.toml")
    code, *words = said.split(" ", 2)
    assert (result.exit_code, result.stdout) == (1, "")
    assert all(word in result.stderr for word in (f"error[{code}]", *words)), result.stderr


def test_init_writes_what_runs_as_it_is(folder: Path) -> None:
    Path("dev.jsonl").write_text(
        '{"time":1794729600123,"dev":"d1","m":[{"v":1.5}]}\n{"time":1794729601123,"dev":"d2","m":[{"v":2.5}]}\n'
        '{"time":1794729601000,"dev":"d1","m":[{"v":2}]}\n'
    )
    for data, begun in (("city/data/readings.csv", "high(a)"), ("dev.jsonl", "high(d2)")):
        result = invoke("init", data)
        assert result.exit_code == 0, result.output
        command = result.stdout.splitlines()[-2].split()
        assert command[:2] == ["thalweg", "run"]
        answers = invoke(*command[1:])
        assert answers.exit_code == 0, answers.output
        assert begun in [fact for line in answers.stdout.splitlines() for fact in json.loads(line)["begin"]]
        assert invoke("check", command[2]).exit_code == 0
    for encoding in ("cp1252", "utf-16"):
        Path(f"{encoding}.csv").write_bytes(
            "Gerät;Temp (°C);Zeit\nkühl;21,5;2026-11-15T08:00:00Z\nkühl;31,5;2026-11-15T08:00:01Z\n".encode(encoding)
        )
        assert invoke("init", f"{encoding}.csv").exit_code == 0
        assert 'high(\\"kühl\\")' in invoke("run", f"{encoding}.toml").stdout
    Path("spo.csv").write_text("s;p;o;t\na;speed;3,5;36\nb;mood;calm;37\na;speed;4,5;38\n")
    assert invoke("init", "spo.csv").exit_code == 0
    assert "needs no `map`" in Path("spo.toml").read_text()
    assert json.loads(invoke("run", "spo.toml").stdout) == {"t": 38, "begin": ["high(a)"], "end": []}
    again = invoke("init", "dev.jsonl")
    assert (again.exit_code, "there already" in again.stderr) == (2, True)
    for name, text, said in (
        ("x.txt", "", "is not data that `init` knows"),
        ("empty.csv", "", "`empty.csv` is empty"),
        ("german.csv", "ts,device,v\n15.11.2026 08:00:00,a,1\n", "`15.11.2026 08:00:00` is not a time"),
        ("timeless.csv", "device,v\na,1\n", "which column has the time"),
        ("city/hot.lars", None, "is not data that `init` knows"),
    ):
        if text is not None:
            Path(name).write_text(text)
        result = invoke("init", name)
        assert (result.exit_code, said in result.stderr) == (1, True), result.output


def test_mappings_are_for_the_stream_they_stand_with(folder: Path) -> None:
    """What is high in the south is humidity; the tables have the same columns, and names with hyphens."""
    for name, value in (("north-1", 20), ("south-1", 99)):
        Path(f"{name}.csv").write_text(f"device,v,ts\na,{value},2026-11-15T08:00:00Z\n")
    Path("sites.csv").write_text("device,site\na,x\n")
    Path("rules.lars").write_text("hot(D) :- temp(D,V), V > 50.\nwet(D,S) :- hum(D,V), V > 50, site(D,S).\n")
    text = 'program = "rules.lars"\nbackground = "sites.csv"\n[streams.a]\nfrom = "north-1.csv"\n'
    text += 'map = ["temp(device, v) at ts", "site(device, site)"]\n[streams.b]\nfrom = "south-1.csv"\n'
    Path("two.toml").write_text(text + 'map = "hum(device, v) at ts"\n')
    result = invoke("run", "two.toml")
    assert [json.loads(line)["begin"] for line in result.stdout.splitlines()] == [["wet(a,x)"]], result.output
    Path("b").mkdir()
    Path("south-1.csv").rename("b/north-1.csv")
    Path("two.toml").write_text(text.replace("south-1", "b/north-1") + 'map = "hum(device, v) at ts"\n')
    result = invoke("run", "two.toml")
    assert [json.loads(line)["begin"] for line in result.stdout.splitlines()] == [["wet(a,x)"]], result.output


def test_a_stream_among_programs_is_recognised(folder: Path) -> None:
    result = invoke("run", "city/hot.lars", "city/data/readings.csv")
    assert result.exit_code == 2
    assert "`city/data/readings.csv` looks like a stream: `--stream city/data/readings.csv`" in result.stderr


@pytest.mark.parametrize("verb", ["run", "check", "explain", "why"])
def test_every_option_is_in_a_group(verb: str) -> None:
    import typer.main

    command = typer.main.get_command(app).commands[verb]  # type: ignore[attr-defined]
    grouped = {name for names in PANELS.values() for name in names}
    assert {one.name for one in command.params} - grouped <= {"programs", "arguments", "help"}
    text = invoke(verb, "--help").stdout
    assert all(f"─ {panel} ─" in text for panel in ("Input", "Time", "Output", "Ontologies"))


def test_a_deployment_is_run_in_python(folder: Path) -> None:
    answers = thalweg.run("city/city.toml")
    assert [list(map(str, one.begin)) for one in answers] == [["near(a,north)"], []]
    # What the call says counts, and what stands beside the deployment is found from anywhere.
    Path("other.csv").write_text(CSV.replace("08:", "09:"))
    answers = thalweg.run("city/city.toml", "other.csv", show="hot/1", emit="intervals")
    assert answers.to_arrow().column_names == ["predicate", "D", "from", "until"]
    assert str(next(iter(answers)).start) == "2026-11-15 09:00:00+00:00"
    text = (folder / "city.toml").read_text() + "to = 'alarms.csv'\nlate = 'late.jsonl'\n[runtime]\nmemory = '32M'\n"
    Path("city/other.toml").write_text(text)
    with thalweg.open("city/other.toml", delay=0) as session:
        session.push({"device": "a", "temp": 31, "ts": "2026-11-15T08:00:00Z"})
        assert [list(map(str, one.begin)) for one in session.advance()] == [["near(a,north)"]]
    names = ["city.toml", "data", "hot.lars", "other.toml", "sites.csv"]
    assert sorted(path.name for path in folder.iterdir()) == names


def test_other_verbs_of_python_read_what_concerns_them(folder: Path) -> None:
    assert thalweg.check("city/city.toml") == []
    assert api.explain(folder / "city.toml").as_data()["strata"] == [["hot/1", "near/2"]]
    assert thalweg.load("city/city.toml").interface.outputs == {"near/2"}
    proof = thalweg.why("city/city.toml", "near(a,north)", at="2026-11-15T08:00:03Z")
    assert "temp(a,31) in [5] at 2026-11-15T08:00:00Z" in str(proof)
    extra = Source("extra.lars", "far(D,S) :- hot(D).")
    assert [one.code for one in thalweg.check("city/city.toml", extra)] == ["E203"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[output]\nemit = "chnges"', "`output.emit`: it is `changes` or `snapshot` or `intervals`"),
        ('[runtime]\npartitions = "many"', "`runtime.partitions`: `many` is not a number"),
        ('[output.prefix]\n"e x" = "http://ex.org/"', "`output.prefix`: `e x=http://ex.org/` is not a prefix"),
        ('[time]\ntik = "1s"', "did you mean `tick`"),
    ],
)
def test_what_is_wrong_with_a_deployment_is_raised(folder: Path, text: str, said: str) -> None:
    Path("city/city.toml").write_text(f'program = "hot.lars"\n{text}')
    with pytest.raises(RejectedError, match=said) as error:
        thalweg.run("city/city.toml")
    assert error.value.diagnostics[0].span.source.name == "city/city.toml"


def test_a_deployment_that_is_text_opens_no_file(tmp_path: Path) -> None:
    (tmp_path / "q.lars").write_text("q(X) :- p(X).")
    text = f"program = [{json.dumps(str(tmp_path / 'q.lars'))}]"
    source = Source("x.toml", text)
    for call in (
        lambda: thalweg.run(source, stream=[(1, ["p(a)"])]),
        lambda: thalweg.run([source], stream=[(1, ["p(a)"])]),
        lambda: thalweg.open(source),
        lambda: thalweg.load(source),
        lambda: thalweg.check(source),
    ):
        with pytest.raises(RejectedError, match="is a text, and no file that a text names is opened") as error:
            call()
        assert [found.code for found in error.value.diagnostics] == ["E511"]
    (tmp_path / "x.toml").write_text(text)
    assert len(list(thalweg.run(tmp_path / "x.toml", stream=[(1, ["p(a)"])]))) == 1
