"""Tables and messages as devices and exporters write them, each to the right facts or to an error with a way out."""

from pathlib import Path

import pytest

from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.runtimes.inputs import Streams, open_all

TABLES = Path(__file__).parents[1] / "tables"
EIGHT = 1_794_729_600
"""The tick of eight o'clock, UTC."""


def read(name: str, *mappings: str) -> tuple[list[str], list[Diagnostic]]:
    """Facts with the seconds since eight o'clock, and all that is wrong."""
    tally = Tally(read_mappings(mappings))
    words, transports = Dictionary(), open_all([TABLES / name], tally)
    facts: list[str] = []
    wrong: list[Diagnostic] = []
    for item in Streams(transports, words, Clock(), Interrupt(), tally):
        if isinstance(item, Diagnostic):
            wrong.append(item)
        elif item is not None:
            facts += (f"{fact} {item[0] - EIGHT}" for fact in item[1].facts(words))
    return facts, [*wrong, *(tally.summary() if not wrong else ())]


@pytest.mark.parametrize(
    ("name", "mapping", "facts"),
    [
        (
            "excel_german.csv",
            "temp(`Gerät`, Temperatur) at Zeit",
            ['temp("Keller",21.5) -3600', 'temp("Dach",-3.25) -3599', 'temp("Dach",4) -3598'],
        ),
        ("excel_separator.csv", "temp(device, temp) at ts", ["temp(d1,21.5) 0", "temp(d2,30) 0"]),
        (
            "logger_preamble.csv",
            "level(probe, level) at time",
            ["level(p1,1.204) 0", "level(p2,0.998) 10", "level(p1,1.31) 20"],
        ),
        ("notepad_utf16.csv", "temp(device, temp) at ts", ["temp(d1,21.5) 0", "temp(d2,22) 1"]),
        ("windows_1252.csv", "temp(Gerät, Wert) at Zeit", ['temp("Außen",7.5) 0']),
        ("epoch_milliseconds.csv", "v(id, v) at epoch ms", ["v(d1,21.5) 0", "v(d2,44) 0", "v(d1,22) 1"]),
        ("epoch_fraction.csv", "v(id, v) at epoch", ["v(d1,1) 0", "v(d1,2) 1"]),
        (
            "mixed_zones.csv",
            "temp(device, temp) at ts",
            ["temp(d1,1) 0", "temp(d2,2) 1", "temp(d3,3) 2", "temp(d4,4) 3"],
        ),
        ("duplicate_unused.csv", "temp(device, temp) at ts", ["temp(d1,1) 0"]),
        ("no_header.csv", "temp(c1, c2) at c3", ["temp(d1,21.5) 0", "temp(d2,22.5) 1"]),
        (
            "quoted.csv",
            "place(device, place) at ts",
            [
                'place(d1,"Main Street, 7") 0',
                'place(d2,"the \\"old\\" mill") 1',
                'place(d3,"two\\nlines") 2',
                "place(d4,plain) 3",
            ],
        ),
        (
            "leading_zeros.csv",
            "m(meter, value, open) at ts",
            ['m("0042",7,true) 0', 'm("0043","007",false) 0', "m(44,100,true) 0"],
        ),
        (
            "leading_zeros.csv",
            "m(text(meter), number(value)) at ts",
            ['m("0042",7) 0', 'm("0043",7) 0', 'm("44",100) 0'],
        ),
        ("odd_names.csv", "t(`Room-No`, `Temp °C`, `2m wind`) at `Time (UTC)`", ["t(r1,21.5,3) 0"]),
        ("influx_annotated.csv", "cpu(host, _value) at _time", ["cpu(pi1,15.43) 0", "cpu(pi1,59.25) 1"]),
        (
            "lorawan_uplink.jsonl",
            "t(end_device_ids.device_id, uplink_message.decoded_payload.temperature) at received_at",
            ['t("eui-70b3d57ed005",4.5) 0', 't("eui-70b3d57ed006",7) 5'],
        ),
        (
            "lorawan_uplink.jsonl",
            "rssi(<urn:gw:{uplink_message.rx_metadata[].gateway_ids.gateway_id}>, "
            "uplink_message.rx_metadata[].rssi, end_device_ids.device_id) at received_at",
            [
                'rssi(<urn:gw:gw-1>,-97,"eui-70b3d57ed005") 0',
                'rssi(<urn:gw:gw-2>,-110,"eui-70b3d57ed005") 0',
                'rssi(<urn:gw:gw-2>,-101,"eui-70b3d57ed006") 5',
            ],
        ),
        (
            "gateway_batches.jsonl",
            "r(gw, readings[].id, readings[].v[]) at readings[].ts ms",
            ["r(g1,s1,1) 0", "r(g1,s1,2) 0", "r(g1,s2,3) 1", "r(g3,s4,x) 3", "r(g3,s4,5.5) 3"],
        ),
    ],
)
def test_facts_are_as_they_should_be(name: str, mapping: str, facts: list[str]) -> None:
    assert read(name, mapping) == (facts, [])


@pytest.mark.parametrize(
    ("name", "mapping", "facts", "code", "message"),
    [
        ("empty_cells.csv", "temp(device, temp) at ts", ["temp(d5,0) 1"], "W307", "made 1 fact and passed over 5"),
        (
            "thermometers.jsonl",
            "temp(AM2301.Temperature) at Time",
            ["temp(21.5) 0", "temp(22) 20"],
            "W307",
            "no value for `AM2301.Temperature` in 1 row",
        ),
        (
            "senml.json",
            "v(n, v) at t",
            ['v("urn:dev:mac:01",23.1) 0', 'v("urn:dev:mac:02",22) 1'],
            "W307",
            "`v` in 1 row",
        ),
    ],
)
def test_empty_cells_are_counted(name: str, mapping: str, facts: list[str], code: str, message: str) -> None:
    found, (warning,) = read(name, mapping)
    assert found == facts
    assert warning.code == code
    assert message in warning.message


@pytest.mark.parametrize(
    ("name", "mapping", "message", "help"),
    [
        ("duplicate_headers.csv", "temp(temp) at ts", "two columns are called `temp`", "rename one of them"),
        ("german_dates.csv", "v(Gerät, Wert) at Zeit", "`15.11.2026 08:00:00` is not a time", ""),
        ("epoch_milliseconds.csv", "v(id, v) at epoch", "beyond the year 9999", "write `at epoch ms`"),
        ("excel_separator.csv", "temp(device, tmp) at ts", "needs `tmp`", "'temp(device, temp) at ts'"),
        ("no_header.csv", "temp(device, temp) at ts", "no mapping fits", "c1"),
        ("without_time.jsonl", "temp(temperature)", "says no time", "at ts"),
    ],
)
def test_an_error_has_a_way_out(name: str, mapping: str, message: str, help: str) -> None:
    facts, wrong = read(name, mapping)
    assert facts == []
    assert message in wrong[0].message
    assert help in wrong[0].help


def test_a_row_that_is_too_short_costs_only_itself() -> None:
    facts, (wrong,) = read("short_row.csv", "temp(device, temp) at ts")
    assert facts == ["temp(d1,1) 0", "temp(d3,3) 1"]
    assert wrong.render().splitlines()[:3] == [
        "error[E301]: the table has 3 columns, but this row has 2 cells",
        f"  {TABLES / 'short_row.csv'}:3:1",
        "  3 | d2,2",
    ]


def test_messages_of_many_kinds_are_taken_one_by_one() -> None:
    facts, wrong = read("mixed_messages.jsonl", "temp(device, temp) at ts")
    assert facts == ["temp(d1,21) 0", "temp(d2,21.5) 1", "temp(d3,true) 2"]
    places = [(one.span.source.first_line, one.message) for one in wrong]
    assert places == [(5, "this is not JSON"), (6, "this is an object, not a value (in `temp`)")]


@pytest.mark.parametrize(
    ("name", "proposed"),
    [
        ("excel_german.csv", "'temperatur(Gerät, Temperatur) at Zeit'"),
        ("excel_separator.csv", "'temp(device, temp) at ts'"),
        ("quoted_semicolons.csv", "'temp_c(`Device ID`, `Temp (°C)`) at `Zeit stempel`'"),
        ("epoch_milliseconds.csv", "'v(id, v) at epoch ms'"),
        ("first_row_empty.csv", "'hohe_m(Station, `Höhe (m)`) at Zeit'"),
        ("gateway_batches.jsonl", "readings[].id"),
        ("thermometers.jsonl", "'temperature(TempUnit, AM2301.Temperature) at Time'"),
        ("senml.json", "'v(n, v) at t'"),
        ("lorawan_uplink.jsonl", " at received_at'"),
    ],
)
def test_without_a_mapping_one_is_proposed_that_fits(name: str, proposed: str) -> None:
    _, wrong = read(name)
    assert proposed in wrong[0].help
    mapping = wrong[0].help.partition("--map '")[2].partition("'`")[0]
    assert read(name, mapping)[0]


def test_decimal_commas_may_come_late(tmp_path: Path) -> None:
    rows = [f"{EIGHT + n};d1;{n}" for n in range(700)] + [f"{EIGHT + 700 + n};d1;{n},5" for n in range(700)]
    (tmp_path / "late.csv").write_text("\n".join(["ts;device;temp", *rows]))
    facts, wrong = read(str(tmp_path / "late.csv"), "temp(device, temp) at ts")
    assert wrong == []
    assert facts[699:702] == ["temp(d1,699) 699", "temp(d1,0.5) 700", "temp(d1,1.5) 701"]


def test_columns_may_be_called_by_numbers(tmp_path: Path) -> None:
    (tmp_path / "years.csv").write_text("ts,2025,2026\n1794729600,5,6\n")
    assert read(str(tmp_path / "years.csv"), "v(`2025`, `2026`) at ts") == (["v(5,6) 0"], [])


def test_lines_may_end_in_carriage_returns(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_bytes(b"ts,device,temp\r1794729600,d1,21.5\r1794729601,d2,22\r")
    assert read(str(tmp_path / "old.csv"), "temp(device, temp) at ts") == (["temp(d1,21.5) 0", "temp(d2,22) 1"], [])


def test_a_table_without_rows_is_not_a_misfit(tmp_path: Path) -> None:
    (tmp_path / "header.csv").write_text("ts,device,temp\n")
    assert read(str(tmp_path / "header.csv"), "temp(device, temp) at ts") == ([], [])


@pytest.mark.parametrize("rows", [0, 2])
def test_a_typed_table_fits_by_its_columns(tmp_path: Path, rows: int) -> None:
    """An export of a quiet night has no rows, and one of a broken sensor no values."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"ts": pa.array([EIGHT] * rows, pa.int64()), "device": pa.nulls(rows, pa.string())}
    parquet.write_table(pa.table(columns), tmp_path / "quiet.parquet")
    facts, warnings = read(str(tmp_path / "quiet.parquet"), "on(device) at ts", "off(other) at ts")
    assert facts == []
    assert [one.code for one in warnings] == ["W307", "W306"][not rows :]
    assert "no mapping fits the columns" in read(str(tmp_path / "quiet.parquet"), "off(other) at ts")[1][0].message


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2026-11-15 08:00:00 UTC", 0),
        ("2026-11-15 08:00:00.123+0100", -3600),
        ("2026-11-15 08:00:00+01", -3600),
        ("2026-11-15T08:00:05.123456789Z", 5),
        ("2026-11-15T08:00:05,5Z", 5),
        ("20261115T080005Z", 5),
        ("2026-11-15 08:00:00 GMT", 0),
    ],
)
def test_times_as_databases_write_them(tmp_path: Path, written: str, seconds: int) -> None:
    (tmp_path / "t.csv").write_text(f'ts;d\n"{written}";a\n')
    assert read(str(tmp_path / "t.csv"), "p(d) at ts") == ([f"p(a) {seconds}"], [])
    (tmp_path / "t.csv").write_text(f's;p;o;t\na;p;b;"{written}"\n')
    assert read(str(tmp_path / "t.csv")) == ([f"p(a,b) {seconds}"], [])


@pytest.mark.parametrize(
    ("written", "help"),
    [
        ("15/11/2026 08:00", "write the year first, as in `2026-11-15T08:00`"),
        ("11/15/2026 8:00:00", "write the year first, as in `2026-11-15T08:00:00`"),
        ("5.11.2026", "write `2026-11-05` or `2026-05-11`: which one is meant is not clear"),
        ("2026-11-15 08:00:00 CET", "write the offset in the place of `CET`, as in `2026-11-15 08:00:00+01:00`"),
        ("20261115080000", "write `2026-11-15T08:00:00`"),
        ("Sun Nov 15 08:00:00 2026", "times are ISO 8601, such as `2026-11-15T08:00:00Z`, or numbers since 1970"),
    ],
)
def test_other_times_are_answered_with_how_to_write_them(tmp_path: Path, written: str, help: str) -> None:
    (tmp_path / "t.csv").write_text(f"ts,d\n{written},a\n")
    facts, (wrong,) = read(str(tmp_path / "t.csv"), "p(d) at ts")
    assert (facts, wrong.help) == ([], help)


def test_each_mapping_serves_what_has_its_names() -> None:
    facts, warnings = read("leading_zeros.csv", "v(meter, value) at ts", "open(meter, open) at ts", "x(meter, y) at ts")
    assert facts[:2] == ['v("0042",7) 0', 'v("0043","007") 0']
    assert facts[3:5] == ['open("0042",true) 0', 'open("0043",false) 0']
    assert [one.code for one in warnings] == ["W306"]
    assert "nothing has `y`" in warnings[0].notes


def test_a_mapping_that_is_tied_serves_the_stream_of_that_name_only() -> None:
    assert read("odd_names.csv", "odd_names: t(`Temp °C`) at `Time (UTC)`") == (["t(21.5) 0"], [])
    assert "the table has no column `t`" in read("excel_separator.csv", "other: temp(device) at ts")[1][0].message


def test_one_line_in_another_encoding_costs_only_itself(tmp_path: Path) -> None:
    """A gateway writes UTF-8; one device behind it sends the bytes of Windows."""
    rows = [f"{EIGHT + n},Küche{n},{n}\n".encode() for n in range(60_000)]
    rows[41_000] = f"{EIGHT + 41_000},Küche,5\n".encode("cp1252")
    (tmp_path / "mixed.csv").write_bytes(b"ts,room,temp\n" + b"".join(rows))
    facts, (wrong,) = read(str(tmp_path / "mixed.csv"), "temp(room, temp) at ts")
    assert len(facts) == 59_999
    assert facts[40_999:41_001] == ['temp("Küche40999",40999) 40999', 'temp("Küche41001",41001) 41001']
    assert (wrong.message, wrong.span.source.first_line) == ("this is not UTF-8", 41_002)
    assert 'encoding = "cp1252"' in wrong.help


@pytest.mark.parametrize("before", [0, 60_000])
def test_a_table_of_windows_keeps_what_is_utf_8(tmp_path: Path, before: int) -> None:
    """The first signs beyond ASCII decide, also where they come late; a line of UTF-8 is never mangled."""
    lines = [f"{EIGHT},plain,1\n".encode()] * before
    lines += [f"{EIGHT},Küche,1\n".encode("cp1252"), *[f"{EIGHT},plain,2\n".encode()] * 70_000]
    lines += [f"{EIGHT},Büro,3\n".encode(), f"{EIGHT},Café,4\n".encode("cp1252")]
    (tmp_path / "late.csv").write_bytes(b"ts,room,temp\n" + b"".join(lines))
    facts, wrong = read(str(tmp_path / "late.csv"), "temp(room, temp) at ts")
    assert wrong == []
    assert (facts[before], facts[-2:]) == ('temp("Küche",1) 0', ['temp("Büro",3) 0', 'temp("Café",4) 0'])


def test_comments_between_rows_are_passed_over() -> None:
    facts, wrong = read("field_notes.csv", "level(probe, level) at time")
    assert facts == ["level(p1,1.2) 0", 'level("#2",0.9) 10', "level(p1,1.3) 20"]
    assert [(one.message, one.span.source.first_line) for one in wrong] == [
        ("the table has 3 columns, but this row has 2 cells", 8)
    ]
