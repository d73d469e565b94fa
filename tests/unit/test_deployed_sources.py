"""Streams and tables of a deployment: their names, their mappings, and how their text is said to be written."""

import json
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.publish import multiple
from typer.testing import CliRunner

import thalweg
from brokers import Broker
from thalweg.cli import app

TABLES = Path(__file__).parents[1] / "tables"
WARM = "warm(D,V) :- temp(D,V), V > 20.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("warm.lars").write_text(WARM)
    return tmp_path


def deploy(text: str) -> Path:
    Path("city.toml").write_text('program = "warm.lars"\n' + text)
    return Path("city.toml")


def invoke(*words: object) -> Any:
    return CliRunner().invoke(app, list(map(str, words)))


def begun(result: Any) -> list[str]:
    assert result.exit_code == 0, result.output
    return [fact for line in result.stdout.splitlines() for fact in json.loads(line)["begin"]]


def test_how_a_table_is_written_can_be_said() -> None:
    """A printer's log of DOS: no header, carets, commas in numbers, code page 850."""
    mapping = 'map = "temp(room, temp) at ts"\n'
    said = 'separator = "^"\ndecimal = ","\nencoding = "cp850"\nheader = false\ncolumns = ["ts", "room", "temp"]\n'
    deploy(f'[streams.log]\nfrom = "{TABLES / "dos_logger.csv"}"\n{mapping}{said}')
    assert begun(invoke("run", "city.toml")) == ['warm("Küche",21.5)', 'warm("Büro",23)']
    deploy(f'[streams.log]\nfrom = "{TABLES / "dos_logger.csv"}"\n{mapping}')
    found = invoke("run", "city.toml")
    assert (found.exit_code, "no mapping fits the columns" in found.stderr) == (1, True), found.output


def test_a_header_in_another_encoding_is_said_to_be_that() -> None:
    deploy(
        f'[streams.x]\nfrom = "{TABLES / "windows_1252.csv"}"\nmap = "temp(Gerät, Wert) at Zeit"\nencoding = "utf-8"\n'
    )
    found = invoke("run", "city.toml")
    assert (found.exit_code, "this is not UTF-8" in found.stderr, "no mapping" in found.stderr) == (1, True, False)


@pytest.mark.parametrize(
    ("table", "said", "facts"),
    [
        # Numbers with a comma between thousands, which decimals would be taken for.
        ("id;v;ts\na;21,500;5\n", 'decimal = "."', ['warm(a,"21,500")']),
        ('id,v,ts\na,"21,5",5\n', 'decimal = ","', ["warm(a,21.5)"]),
        # A first row that looks like a header, and a header that looks like a row.
        ("open;warm;5\n", 'header = false\ncolumns = ["id", "v", "ts"]', ["warm(open,warm)"]),
        ("2024;2025;2026\na;30;5\n", 'header = true\ncolumns = ["id", "v", "ts"]', ["warm(a,30)"]),
        ("a;30;5\n", 'header = false\ncolumns = ["id", "v", "ts"]', ["warm(a,30)"]),
        # Two columns of one name are told apart.
        ("id,v,v,ts\na,1,30,5\n", 'columns = ["id", "raw", "v", "ts"]', ["warm(a,30)"]),
        ("id:v:ts\na:30:5\n", 'separator = ":"', ["warm(a,30)"]),
    ],
)
def test_what_is_said_is_not_found_out(table: str, said: str, facts: list[str]) -> None:
    Path("warm.lars").write_text("warm(D,V) :- temp(D,V).\n")
    Path("in.csv").write_text(table)
    deploy(f'[streams.x]\nfrom = "in.csv"\nmap = "temp(id, v) at ts"\n{said}\n')
    assert begun(invoke("run", "city.toml")) == facts


def test_tables_that_need_no_mapping_have_dialects_too() -> None:
    Path("spo.csv").write_bytes("s;p;o;t\nKüche;temp;21,5;3\n# cleaned\nFlur;temp;18,5;4\n".encode())
    assert begun(invoke("run", "warm.lars", "--stream", "spo.csv")) == ['warm("Küche",21.5)']
    Path("spo.csv").write_bytes("Küche^temp^21,5^3\n".encode("cp850"))
    said = 'separator = "^"\ndecimal = ","\nencoding = "cp850"\nheader = false\ncolumns = ["s", "p", "o", "t"]\n'
    deploy(f'[streams.x]\nfrom = "spo.csv"\n{said}')
    assert begun(invoke("run", "city.toml")) == ['warm("Küche",21.5)']


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ('separator = ";;"', "`separator` must be one character, not `;;`"),
        ('decimal = ";"', "`decimal` must be a point or a comma"),
        ('encoding = "utf-99"', "unknown encoding `utf-99`"),
        ('encoding = "cp037"', "cannot be read in the encoding `cp037`"),
        ('header = "no"', "`header` must be true or false, not `no`"),
        ("columns = 3", "`columns` is a list of names, and not `3`"),
        ('columns = ["a", "a"]', "two of the `columns` have the same name"),
        ('seperator = ";"', "did you mean `separator`?"),
    ],
)
@pytest.mark.parametrize("table", ["streams.x", "background.x"])
def test_what_cannot_be_said_has_a_place_and_a_way_out(table: str, said: str, message: str) -> None:
    deploy(f'[{table}]\nfrom = "in.csv"\n{said}\n')
    result = invoke("check", "city.toml")
    assert result.exit_code == 1
    assert "city.toml:4:1" in result.stderr
    assert message in result.stderr
    assert "help: " in result.stderr


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('from = "in.csv"\nmap = ["p(a) at ts", "v(id v) at ts"]', "4:28", "this mapping cannot be read: expected `,`"),
        ('from = "in.csv"\nmap = "ey:p(a) at ts"', "4:8", "this mapping cannot be read: the prefix `ey:` is"),
        ('map = "v(id, v) at ts"', "2:2", "`[streams.x]` does not say where it comes from"),
        ('from = ["a.csv", "b.csv"]', "3:1", "`from` is one file, folder or URI"),
    ],
)
def test_what_is_wrong_with_a_stream_has_a_place(text: str, place: str, message: str) -> None:
    Path("warm.lars").write_text("@prefix ex: <http://ex.org/> . ex:warm(D) :- ex:p(D).\n")
    deploy(f"[streams.x]\n{text}\n")
    found = invoke("check", "city.toml")
    assert (found.exit_code, f"city.toml:{place}" in found.stderr, message in found.stderr) == (1, True, True), (
        found.stderr
    )
    deploy('[streams.x]\nfrom = "in.csv"\nmap = "ex:p(a) at ts"\n')
    assert invoke("check", "city.toml").exit_code == 0


def test_only_tables_of_text_have_separators() -> None:
    deploy('[streams.x]\nfrom = "in.parquet"\nseparator = ";"\n')
    assert "`separator` is for tables of text, and `in.parquet` is not one" in invoke("check", "city.toml").stderr


def test_a_background_has_a_name_and_a_dialect() -> None:
    Path("warm.lars").write_text("warm(S) :- temp(D,V), site(D,S), V > 20.\n")
    Path("in.csv").write_text("id,v,ts\n0042,30,5\n")
    Path("export.csv").write_bytes("0042|Küche\n0043|Büro\n".encode("cp1252"))
    said = 'map = "site(id, site)"\nheader = false\ncolumns = ["id", "site"]\nencoding = "cp1252"\n'
    deploy(f'[streams.x]\nfrom="in.csv"\nmap="temp(id, v) at ts"\n[background.sites]\nfrom = "export.csv"\n{said}')
    assert begun(invoke("run", "city.toml")) == ['warm("Küche")']
    assert "facts: 2" in invoke("check", "city.toml").stdout
    assert invoke("explain", "city.toml").exit_code == 0
    assert "site(" in invoke("why", "city.toml", 'warm("Küche")', "--at", "1970-01-01T00:00:05Z").stdout
    deploy('[streams.x]\nfrom = "in.csv"\n[background.x]\nfrom = "export.csv"\n')
    assert "a stream is called `x`, too" in invoke("check", "city.toml").stderr


TWO = """
[streams.north]
from = "a/readings.csv"
map = "temp(id, v) at ts"
[streams.south]
from = "b/readings.csv"
map = "hum(id, v) at ts"
separator = "^"
"""


def test_rules_call_a_stream_as_its_deployment_does() -> None:
    Path("warm.lars").write_text("n(D,V) :- temp(D,V) from north. s(D,V) :- hum(D,V) from :south.\n")
    for name, separator in (("a", ","), ("b", "^")):
        Path(name).mkdir()
        Path(f"{name}/readings.csv").write_text("id,v,ts\nd,3,5\n".replace(",", separator))
    deploy(TWO)
    assert begun(invoke("run", "city.toml")) == ["n(d,3)", "s(d,3)"]
    # What is typed stands for the stream of its name, or else serves every mapping that fits.
    Path("south.csv").write_text("id^v^ts\nd^7^5\n")
    assert begun(invoke("run", "city.toml", "--stream", "south.csv")) == ["s(d,7)"]
    Path("warm.lars").write_text("n(D,V) :- temp(D,V). s(D,V) :- hum(D,V).\n")
    Path("other.csv").write_text("id;v;ts\nd;7;5\n")
    assert begun(invoke("run", "city.toml", "--stream", "other.csv")) == ["n(d,7)", "s(d,7)"]
    found = {}
    for name in ("other", "south"):
        answers = thalweg.run("city.toml", stream=f"{name}.csv", report=lambda found: None)
        found[name] = [str(fact) for one in answers for fact in one.begin]
    assert found == {"other": ["n(d,7)", "s(d,7)"], "south": ["s(d,7)"]}


def test_a_stream_that_rules_call_otherwise_is_reported() -> None:
    Path("warm.lars").write_text("warm(D,V) :- temp(D,V) from nrth.\n")
    Path("in.csv").write_text("id,v,ts\nd,3,5\n")
    deploy('[streams.north]\nfrom = "in.csv"\nmap = "temp(id, v) at ts"\n')
    said = invoke("run", "city.toml").stderr
    assert "warning[W304]: nothing came from the stream `nrth`; `temp/2` came from `north`" in said
    assert "write `from north` in the rule" in said
    Path("warm.lars").write_text("warm(D,V) :- temp(D,V) from north.\n")
    assert "W304" not in invoke("run", "city.toml").stderr


def test_queries_call_a_stream_as_its_deployment_does() -> None:
    query = (
        "PREFIX : <http://ex.org/>\nREGISTER RSTREAM <out> AS SELECT ?s\n"
        "FROM NAMED WINDOW :w ON STREAM :THIS [RANGE PT10S STEP PT10S]\nWHERE { WINDOW :w { ?s :p ?v } }"
    )
    for name, thing in (("a", "north"), ("b", "south")):
        Path(name).mkdir()
        Path(f"{name}/in.csv").write_text(f"<http://ex.org/{thing}>;<http://ex.org/p>;1;0\nx;y;1;12\n")
    said = 'header = false\ncolumns = ["s", "p", "o", "t"]\n'
    text = 'program = "q.rspql"\n[streams.north]\nfrom = "a/in.csv"\n{0}[streams.south]\nfrom = "b/in.csv"\n{0}'
    Path("city.toml").write_text(text.format(said))
    for name in ("north", "south"):
        Path("q.rspql").write_text(query.replace("THIS", name))
        (line,) = invoke("run", "city.toml").stdout.splitlines()
        assert json.loads(line)["bindings"] == [{"s": f"<http://ex.org/{name}>"}]


def test_what_is_typed_stands_for_the_only_stream() -> None:
    Path("warm.lars").write_text("warm(D) :- temp(D,V) from north, V > 20.\n")
    Path("other.csv").write_text("id^v^ts\nd^30^5\n")
    deploy('[streams.north]\nfrom = "mqtt://localhost:1/readings"\nmap = "temp(id, v) at ts"\nseparator = "^"\n')
    assert begun(invoke("run", "city.toml", "--stream", "other.csv")) == ["warm(d)"]


def test_python_names_streams_too() -> None:
    Path("a.csv").write_text("id,v,ts\nd,3,5\n")
    rule = "n(D,V) :- temp(D,V) from north."
    answers = thalweg.run(rule, stream={"north": "a.csv"}, map="north: temp(id, v) at ts", times="ticks")
    assert [str(one) for one in answers] == ['{"t":5,"begin":["n(d,3)"],"end":[]}']


def test_topics_with_the_same_last_level_have_their_own_mappings(mosquitto: Broker) -> None:
    host, _, port = mosquitto.address.partition(":")
    sent = [(f"{place}/readings", '{"id": "d", "v": 30, "ts": 5}', 1, True) for place in ("north", "south")]
    multiple(sent, host, int(port))
    Path("warm.lars").write_text("n(D) :- temp(D,V). s(D) :- hum(D,V). f(D) :- temp(D,V) from north.\n")
    topics = [f"mqtt://{mosquitto.address}/{place}/readings?messages=1" for place in ("north", "south")]
    deploy(
        f'[streams.north]\nfrom = "{topics[0]}"\nmap = "temp(id, v) at ts"\n'
        f'[streams.south]\nfrom = "{topics[1]}"\nmap = "hum(id, v) at ts"\n'
    )
    assert sorted(begun(invoke("run", "city.toml"))) == ["f(d)", "n(d)", "s(d)"]
    # On the command line a whole topic is a name as well.
    Path("warm.lars").write_text("n(D) :- temp(D,V). s(D) :- hum(D,V).\n")
    words = ["--map", "`north/readings`: temp(id, v) at ts", "--map", "`south/readings`: hum(id, v) at ts"]
    found = invoke("run", "warm.lars", "--stream", topics[0], "--stream", topics[1], *words)
    assert sorted(begun(found)) == ["n(d)", "s(d)"]
    assert "never fitted" not in found.stderr
