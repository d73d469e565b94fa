"""Mapped streams: the same facts from every source, stopped and read on, and while the dictionary is collected."""

import json
import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from brokers import Broker, make_topic
from thalweg import api
from thalweg.api import On
from thalweg.connectors import files, held_tables, tabular
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.kafka import KafkaSink
from thalweg.connectors.mapping import mapped_csv
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.mqtt import MqttSink, MqttTransport
from thalweg.connectors.readers import open_reader
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.runtimes.inputs import Streams, open_all

MAPPING = "temp(device, temp) at ts"
PROGRAM = "hot(D,V) :- temp(D,V) in [1 sec], V > 25. mean(A) :- A = avg{V,D,T : temp(D,V) at T in [3 sec]}."
ROWS = [
    {"device": f"d{number % 7}", "temp": [21.5, 30, 25.25, None, 44.0][number % 5], "ts": 1_794_729_600 + number // 9}
    for number in range(200)
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def answers(stream: On, **options: Any) -> list[str]:
    found = api.run(
        PROGRAM, stream, map=options.pop("map", MAPPING), report=lambda warning: None, times="ticks", **options
    )
    return [str(one) for one in found]


def as_csv() -> str:
    lines = (f"{row['device']},{'' if row['temp'] is None else row['temp']},{row['ts']}\n" for row in ROWS)
    return "device,temp,ts\n" + "".join(lines)


@pytest.fixture(scope="module")
def expected() -> list[str]:
    events = [(row["ts"], f"temp({row['device']},{row['temp']:g})") for row in ROWS if row["temp"] is not None]
    return [str(one) for one in api.run(PROGRAM, events)]


@pytest.mark.parametrize("source", ["csv", "json lines", "json", "parquet", "pandas", "polars", "arrow", "datetimes"])
def test_one_mapping_gives_the_same_answers_from_every_table(source: str, expected: list[str]) -> None:
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    stream: On
    match source:
        case "csv":
            Path("r.csv").write_text(as_csv())
            stream = "r.csv"
        case "json lines":
            Path("r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
            stream = "r.jsonl"
        case "json":
            Path("r.json").write_text(json.dumps(ROWS, indent=1))
            stream = "r.json"
        case "parquet":
            parquet.write_table(pa.Table.from_pylist(ROWS), "r.parquet")
            stream = "r.parquet"
        case "pandas":
            stream = pd.DataFrame(ROWS)
        case "polars":
            stream = pytest.importorskip("polars").DataFrame(ROWS)
        case "arrow":
            stream = pa.Table.from_pylist(ROWS)
        case _:
            stream = pd.DataFrame([{**row, "ts": datetime.fromtimestamp(row["ts"], UTC)} for row in ROWS])
    assert answers(stream) == expected


@pytest.mark.broker
def test_one_mapping_gives_the_same_answers_from_mqtt(mosquitto: Broker, expected: list[str]) -> None:
    uri = f"mqtt://{mosquitto.address}/city/mapped"
    session = f"{uri}?messages=101&session={uuid4().hex}"
    # The broker keeps for a session what is sent before anybody reads.
    MqttTransport(session).close()
    sink = MqttSink(uri)
    sink.publish([json.dumps(row).encode() for row in ROWS[:100]])
    sink.publish([json.dumps(ROWS[100:]).encode()])
    sink.close()
    assert answers(session) == expected


@pytest.mark.broker
def test_one_mapping_gives_the_same_answers_from_kafka(kafka: Broker, expected: list[str]) -> None:
    topic = make_topic(kafka)
    sink = KafkaSink(f"kafka://{kafka.address}/{topic}")
    sink.publish([json.dumps(row, indent=1).encode() for row in ROWS[:50]])
    sink.publish([json.dumps(ROWS[50:]).encode()])
    sink.close()
    assert answers(f"kafka://{kafka.address}/{topic}?until=end") == expected
    tied = f"{topic}: {MAPPING}"
    assert answers(f"kafka://{kafka.address}/{topic}?until=end", map=tied) == expected


def test_columns_of_all_types_are_terms() -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {
        "whole": pa.array([7, 8], pa.uint8()),
        "narrow": pa.array([0.1, 2.5], pa.float32()),
        "exact": pa.array([Decimal("1.50"), Decimal("20.00")], pa.decimal128(8, 2)),
        "yes": pa.array([True, False]),
        "few": pa.array(["x", "0042"]).dictionary_encode(),
        "day": pa.array([datetime(2026, 11, 15), datetime(2026, 11, 16)]).cast(pa.date32()),
        "inner": pa.array([{"v": [1, 2]}, {"v": [3]}]),
        "ts": pa.array([1_794_729_600_000_000_000, 1_794_729_601_000_000_000], pa.timestamp("ns", "Europe/Rome")),
    }
    parquet.write_table(pa.table(columns), "r.parquet")
    found = facts("r.parquet", "all(whole, narrow, exact, yes, few) at ts", "v(inner.v[], day) at ts")
    date = '"2026-11-15"^^<http://www.w3.org/2001/XMLSchema#date>'
    assert found[:3] == ["all(7,0.1,1.5,true,x) 1794729600", f"v(1,{date}) 1794729600", f"v(2,{date}) 1794729600"]
    assert found[3] == 'all(8,2.5,20,false,"0042") 1794729601'


def test_numbers_that_have_no_word_are_reported_by_row() -> None:
    import pyarrow as pa

    table = pa.table({"v": pa.array([1, 2**63 - 1, 3]), "w": [0.5, float("inf"), float("nan")], "ts": [1, 2, 3]})
    with pytest.raises(RejectedError, match=r"table:2:.*(?s:.*)write `text\(…\)`"):
        list(api.run("q(V) :- p(V).", table, map="p(v) at ts"))
    with pytest.raises(RejectedError, match="`inf` is not a number that can be calculated with"):
        list(api.run("q(V) :- p(V).", table, map="p(w) at ts"))
    found = list(api.run("q(V) :- p(V).", table, map="p(text(v)) at ts"))
    assert tuple(map(str, found[1].begin)) == ('q("9223372036854775807")',)


def facts(name: str, *mappings: str) -> list[str]:
    streams, words = opened((name,), mappings)
    return [f"{fact} {item[0]}" for item in streams if isinstance(item, tuple) for fact in item[1].facts(words)]


# Positions -----------------------------------------------------------------------------------------------------------

BROKEN = 'device;temp;ts\n"a;b";1,5;1\nd2;2;1\nd3;;2\nd4;4\n"d\n5";5;3\nd6;soon;soon\n' + "".join(
    f"d{number};{number},25;{number}\n" for number in range(7, 30)
)
MESSAGES = '{"device": "a", "temp": 1, "ts": 1}\n[{"device": "b", "temp": 2, "ts": 1}]\nbroken\n' + "".join(
    json.dumps({"device": f"d{number}", "temp": number / 4, "ts": number}, indent=number % 2 or None) + "\n"
    for number in range(2, 25)
)


def opened(names: tuple[str, ...], mappings: tuple[str, ...] = (MAPPING,)) -> tuple[Streams, Dictionary]:
    tally = Tally(read_mappings(mappings))
    words, transports = Dictionary(), open_all(map(Path, names), tally)
    return Streams(transports, words, Clock(), Interrupt(), tally), words


def items_of(streams: Streams, words: Dictionary) -> Iterator[str]:
    for item in streams:
        if isinstance(item, Diagnostic):
            yield item.render()
        elif item is not None:
            yield f"{item[0]} {item[1].stream} {[str(fact) for fact in item[1].facts(words)]}"


@pytest.mark.parametrize("names", [("a.csv",), ("b.jsonl",), ("c.parquet",), ("a.csv", "b.jsonl", "c.parquet")])
@pytest.mark.parametrize("size", [61, 997])
def test_stopped_and_read_on_is_never_stopped(
    names: tuple[str, ...], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    monkeypatch.setattr(files, "FILE_BLOCK", size)
    monkeypatch.setattr(mapped_csv, "_HEADER_NEEDS", 40)
    monkeypatch.setattr(tabular, "ROWS", 5)
    monkeypatch.setattr(held_tables, "ROWS", 5)
    Path("a.csv").write_text(BROKEN)
    Path("b.jsonl").write_text(MESSAGES)
    parquet.write_table(pa.Table.from_pylist(ROWS[:23]), "c.parquet")
    expected = list(items_of(*opened(names)))
    streams, words = opened(names)
    for taken, item in enumerate(items_of(streams, words), 1):
        assert item == expected[taken - 1]
        position = json.loads(json.dumps(streams.position()))
        others, renewed = opened(names)
        others.seek(position)
        assert list(items_of(others, renewed)) == expected[taken:], taken
    assert len(expected) > 2


@pytest.mark.parametrize("size", [7, 61, 997, 1 << 20])
def test_however_a_file_is_cut_its_facts_are_the_same(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FILE_BLOCK", size)
    monkeypatch.setattr(mapped_csv, "_HEADER_NEEDS", 40)
    Path("a.csv").write_text(BROKEN)
    Path("b.jsonl").write_text(MESSAGES)
    found = facts("a.csv", MAPPING)
    assert found[:2] == ['temp("a;b",1.5) 1', "temp(d2,2) 1"]
    assert found[2:4] == ['temp("d\\n5",5) 3', "temp(d7,7.25) 7"]
    assert len(found) == 26
    assert len(facts("b.jsonl", MAPPING)) == 25


def test_terms_that_wait_in_a_block_are_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dictionary is collected at every item: words of what has been read and not been taken must stay theirs."""
    monkeypatch.setattr(Dictionary, "wants_collection", property(lambda words: True))
    lines = "".join(f"device number {number},{number // 2}\n" for number in range(200))
    Path("r.csv").write_text("device,ts\n" + lines)
    found = list(api.run("seen(D) :- at(D).", "r.csv", map="at(device) at ts"))
    assert [tuple(map(str, one.begin)) for one in found[:100]] == [
        tuple(sorted(f'seen("device number {number}")' for number in (2 * tick, 2 * tick + 1))) for tick in range(100)
    ]


# Numbers ------------------------------------------------------------------------------------------------------------


def test_numbers_of_a_column_are_those_of_its_cells() -> None:
    from thalweg.model.number_columns import decimal_word, double_words

    draw = random.Random(7)
    numbers = [
        draw.choice((round(draw.uniform(-1e6, 1e6), draw.randrange(12)), draw.gauss(0, 1), 1e-12 * n))
        for n in range(5000)
    ]
    numbers += [0.0, -0.0, 1e15, 1e16, 2.0**60, 0.1 + 0.2, 1 / 3, 5e-324, 123456789012345.6, sys.float_info.max]
    words = double_words(np.array(numbers)).tolist()
    for number, word in zip(numbers, words, strict=True):
        exact = decimal_word(f"{Decimal(repr(number)):f}")
        assert word == (3 if exact is None else exact), number


def test_a_long_identifier_keeps_its_digits_among_many_numbers() -> None:
    import pyarrow as pa

    from thalweg.connectors.mapping.cells import code_cells

    long = [
        "9007199254740993",
        "-12345678901234567",
        "20260000000012345",
        "9007199254740993.0",
        "1.2345678901234567e16",
    ]
    words = Dictionary()
    alone = code_cells(pa.array(long).dictionary_encode(), "any", words).words.tolist()
    among = code_cells(pa.array([*long, *(f"{n}.5" for n in range(1000))]).dictionary_encode(), "any", words)
    assert among.words[: len(long)].tolist() == alone
    assert words.spell(alone[0]) == "9007199254740993"


# Backgrounds --------------------------------------------------------------------------------------------------------


def test_a_background_may_be_a_table_of_any_kind() -> None:
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    sites = [{"device": "d1", "site": "north side"}, {"device": "d2", "site": None}, {"device": "d3", "site": "0042"}]
    Path("sites.csv").write_text("device;site\nd1;north side\nd2;\nd3;0042\n")
    Path("sites.json").write_text(json.dumps(sites, indent=1))
    parquet.write_table(pa.Table.from_pylist(sites), "sites.parquet")
    for background in ("sites.csv", "sites.json", "sites.parquet", pd.DataFrame(sites), Path("sites.csv")):
        found = list(
            api.run(
                "at(D,S) :- seen(D), site(D,S).",
                [(3, ["seen(d1)", "seen(d2)", "seen(d3)"])],
                background=background,
                map="site(device, site)",
                report=lambda warning: None,
            )
        )
        assert tuple(map(str, found[0].begin)) == ('at(d1,"north side")', 'at(d3,"0042")')


def test_a_mapping_with_a_time_is_not_for_a_background() -> None:
    Path("sites.csv").write_text("device,site,ts\nd1,a,3\n")
    mapped = Tally(read_mappings(["site(device, site) at ts"]))
    with pytest.raises(RejectedError, match="a background has no times"):
        api.load_part(["q :- p."], "sites.csv", mapped=mapped)
    with pytest.raises(RejectedError, match=r"--map 'site\(device, site\)'"):
        api.load_part(["q :- p."], "sites.csv")


# Times far from all others ------------------------------------------------------------------------------------------


def test_a_timestamp_far_from_the_others_is_late_and_moves_nothing() -> None:
    Path("r.csv").write_text("d,v,ts\na,30,1794729600\nb,31,3900000000\nc,32,0\nd,33,1794729601\n")
    late: list[str] = []
    warned: list[Diagnostic] = []
    found = list(
        api.run("hot(D) :- v(D,V), V > 20.", "r.csv", map="v(d, v) at ts", late=late.append, report=warned.append)
    )
    assert [str(one) for one in found] == [
        '{"t":"2026-11-15T08:00:00Z","begin":["hot(a)"],"end":[]}',
        '{"t":"2026-11-15T08:00:01Z","begin":["hot(d)"],"end":["hot(a)"]}',
    ]
    assert [json.loads(line)["facts"] for line in late] == [["v(b,31)"], ["v(c,32)"]]
    assert [one.code for one in warned] == ["W308"]
    assert "2 facts have times far from those around them" in warned[0].message


def test_bare_ticks_may_be_as_far_apart_as_one_likes() -> None:
    warned: list[Diagnostic] = []
    found = list(api.run("q(X) :- p(X).", [(1, "p(a)"), (10**12, "p(b)")], report=warned.append))
    assert len(found) == 3
    assert not warned


def test_timestamps_and_bare_ticks_in_one_run_are_an_error() -> None:
    Path("r.csv").write_text("d,v,ts\na,30,1794729600\n")
    Path("other.facts").write_text("p(a) at 3.\n")
    with pytest.raises(RejectedError, match="timestamp"):
        list(api.run("hot(D) :- v(D,V).", ["r.csv", "other.facts"], map="v(d, v) at ts"))


def test_what_messages_lack_is_counted_also_where_they_come_alone() -> None:
    """A live stream brings one message at a time."""
    tally, words = Tally(read_mappings(["temp(d, v)", "level(d, r[].x)"])), Dictionary()
    reader = open_reader("mqtt://b/readings", "readings", words, Clock(), tally, "live")
    messages = [
        '{"d":"a","v":1}',
        '{"d":"b","v":null}',
        '{"d":"c"}',
        '{"d":"e","r":[{"x":1},{"x":null}]}',
        '{"d":"f","r":[]}',
    ]
    items = [item for message in messages for item in reader.feed(f"{message}\n".encode())]
    facts = [str(fact) for item in items if isinstance(item, tuple) for fact in item[1].facts(words)]
    assert facts == ["temp(a,1)", "level(e,1)"]
    said = [one.message for one in tally.summary()]
    assert said == [
        "`temp(d, v)` made 1 fact and passed over 4: no value for `v` in 4 rows",
        "`level(d, r[].x)` made 1 fact and passed over 1: no value for `r[].x` in 1 row",
    ]


@pytest.mark.parametrize(
    "bad", ["garbage", "ERROR: offline", "21.5", "error (timeout)", "<a> <b>", "@x", "\xfc", "null x"]
)
def test_a_live_message_that_is_not_json_does_not_decide_the_format(bad: str) -> None:
    tally, words = Tally(read_mappings(["temp(d, v)"])), Dictionary()
    reader = open_reader("mqtt://b/readings", "readings", words, Clock(), tally, "live")
    items = list(reader.feed(f"{bad}\n".encode("latin-1")))
    assert [item.code for item in items if isinstance(item, Diagnostic)] == ["E301"]
    (warning,) = tally.summary()
    assert warning.help == "none fitted: 1 message came, and none could be read"
    saved = reader.save()
    assert saved is not None
    resumed = open_reader("mqtt://b/readings", "readings", words, Clock(), tally, "live")
    resumed.load(saved)
    for going_on in (reader, resumed):
        ((_, batch),) = going_on.feed(b'{"d":"a","v":1}\n')
        assert [str(fact) for fact in batch.facts(words)] == ["temp(a,1)"]


def test_a_live_stream_of_facts_is_read_though_a_mapping_serves_all_streams() -> None:
    words = Dictionary()
    reader = open_reader("tcp://b:1", "b", words, Clock(), Tally(read_mappings(["temp(d, v)"])), "live")
    ((tick, batch),) = reader.feed(b"p(a) at 3.\n")
    assert (tick, [str(fact) for fact in batch.facts(words)]) == (3, ["p(a)"])


def test_many_texts_become_the_terms_that_few_become() -> None:
    import pyarrow as pa

    from thalweg.connectors.mapping.cells import code_cells

    odd = ["a", "b 7", '"b 7"', "0042", "1e2", "21.5", "Z", "é", "a\n", "", "true", "_a", "9" * 20, "1e999", "<a>"]
    words = Dictionary()
    few = code_cells(pa.array(odd), "any", words)
    many = code_cells(pa.array([*odd, *(f"d{number}" for number in range(2000)), None]), "any", words)
    assert many.words[: len(odd)].tolist() == few.words.tolist()
    assert many.wrong == few.wrong != {}
    assert many.null is not None
    assert many.null[-1]
    assert words.spell(int(many.words[-2])) == "d1999"
