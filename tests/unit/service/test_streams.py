"""Streams are defined, filled and deleted; what is known of them is there after a restart."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from errno import ENOSPC
from pathlib import Path

import pytest

from thalweg.diagnostics import RejectedError
from thalweg.model.rdf import GENERATED_AT
from thalweg.service.door import MediaTypeError
from thalweg.service.log import DiskFullError, Log
from thalweg.service.streams import LoggedStreams

TEXT = "text/plain"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = Log(tmp_path / "log")
    yield log
    log.close()


@pytest.fixture
def streams(tmp_path: Path, log: Log) -> LoggedStreams:
    return _opened(tmp_path, log)


def _opened(folder: Path, log: Log) -> LoggedStreams:
    return LoggedStreams(folder / "streams", log)


def test_a_stream_is_made_and_changed(streams: LoggedStreams) -> None:
    made, is_new = streams.put("north", {})
    assert (made.version.number, is_new) == (1, True)
    same, is_new = streams.put("north", {})
    assert (same, is_new) == (made, False)
    changed, is_new = streams.put("north", {"map": ["temp(device, v) at ts"]})
    assert (changed.version.number, is_new) == (2, False)
    assert changed.version_of(1).definition == {}
    assert [str(mapping.predicate) for mapping in streams["north"].version.tally().mappings] == ["temp/2"]
    assert streams.names() == ["north"]


def test_where_the_disk_is_full_nothing_is_defined_and_counts_are_saved_later(
    tmp_path: Path, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(ENOSPC, "No space left on device")

    streams = _opened(tmp_path, log)
    streams.put("north", {})
    streams.post("north", TEXT, b"p(a) at 1.\np(\n", skip=True).result()
    with monkeypatch.context() as patch:
        patch.setattr("thalweg.service.streams.replace_file", full)
        with pytest.raises(DiskFullError, match="No space left"):
            streams.put("south", {})
        with pytest.raises(DiskFullError, match="No space left"):
            streams.put("north", {"map": ["temp(device, v) at ts"]})
        streams.save()
    assert (streams.names(), streams["north"].version.number) == (["north"], 1)
    streams.save()
    again = _opened(tmp_path, log)
    assert again.names() == ["north"]
    assert (again.describe("north")["facts"], len(again.describe("north")["bad"])) == (1, 1)


@pytest.mark.parametrize(
    ("name", "definition", "code"),
    [
        ("../x", {}, "E902"),
        ("", {}, "E902"),
        ("x" * 65, {}, "E902"),
        ("s", {"maps": []}, "E901"),
        ("s", {"map": ["temp("]}, "E306"),
        ("s", {"map": 3}, "E902"),
        ("s", {"zone": "Mars"}, "E902"),
        ("s", {"separator": ";;"}, "E902"),
        ("s", {"from": 3}, "E902"),
        ("s", ["map"], "E902"),
    ],
)
def test_what_cannot_be_used_is_refused(streams: LoggedStreams, name: str, definition: object, code: str) -> None:
    with pytest.raises(RejectedError) as error:
        streams.put(name, definition)  # type: ignore[arg-type]
    assert [wrong.code for wrong in error.value.diagnostics] == [code]
    assert streams.names() == []


def test_how_a_table_is_written_and_its_zone_are_stated(streams: LoggedStreams) -> None:
    definition = {"map": ["temp(d, v) at ts"], "separator": ";", "decimal": ",", "zone": "Europe/Berlin"}
    streams.put("north", definition)
    record = streams.post("north", "text/csv", b"d;v;ts\nd1;2,5;2026-11-15T09:00:00\n").result()
    assert (record.about["facts"], record.about["latest"]) == (1, "2026-11-15T08:00:00.000Z")


def test_what_is_posted_is_counted(streams: LoggedStreams) -> None:
    streams.put("north", {"from": "mqtt://broker/north"})
    first = streams.post("north", TEXT, b"p(a) at 3. p(b) at 7.").result()
    second = streams.post("north", TEXT, b"p(a) at 5.", about={"position": 12}).result()
    assert first.answer() == {"seq": first.seq, "facts": 2}
    about = streams.describe("north", ["jam"])
    assert (about["facts"], about["latest"], about["rate"], about["bytes"]) == (3, 7, 0.3, 31)
    assert (about["from"], about["programs"], about["malformed"]) == ("mqtt://broker/north", ["jam"], 0)
    assert streams.position("north") == 12
    assert streams.records("north") == [first, second]
    assert streams.records("north", after=first.seq) == streams.records("north", limit=2)[1:] == [second]


def test_a_body_with_a_bad_line_is_refused_or_the_line_skipped(streams: LoggedStreams) -> None:
    streams.put("north", {})
    with pytest.raises(RejectedError):
        streams.post("north", TEXT, b"p(a) at 3.\np(\n")
    assert streams.records("north") == []
    answer = streams.post("north", TEXT, b"p(a) at 3.\np(\n", skip=True).result().answer()
    assert (answer["facts"], answer["skipped"], answer["diagnostics"][0]["line"]) == (1, 1, 2)
    about = streams.describe("north")
    assert about["malformed"] == 2
    assert [bad["text"] for bad in about["bad"]] == ["p(", "p("]


def test_of_a_long_bad_line_the_beginning_is_kept(streams: LoggedStreams) -> None:
    streams.put("north", {})
    with pytest.raises(RejectedError):
        streams.post("north", TEXT, b"p(" + b"a" * 1_000_000)
    (bad,) = streams.describe("north")["bad"]
    assert bad["text"] == f"p({'a' * 998}…"


def test_while_a_large_body_is_read_others_are_posted_and_looked_at(streams: LoggedStreams) -> None:
    streams.put("north", {})
    streams.put("south", {})
    graphs = "".join(f"<x:{number}> {GENERATED_AT} 3 . <x:{number}> {{ <x:s> a <x:c> }}\n" for number in range(20_000))
    with ThreadPoolExecutor(1) as threads:
        large = threads.submit(streams.post, "north", "application/trig", graphs.encode())
        while not (large.running() or large.done()):
            pass
        streams.post("south", TEXT, b"p(a) at 3.").result()
        assert streams.names() == ["north", "south"]
        assert [streams.describe(name)["facts"] for name in ("north", "south")] == [0, 1]
        streams.save()
        assert not large.done()
        assert large.result().result().about["facts"] == 20_000


def test_a_stream_has_timestamps_or_bare_ticks(streams: LoggedStreams) -> None:
    streams.put("north", {})
    streams.post("north", TEXT, b"p(a) at 3.").result()
    with pytest.raises(RejectedError, match="E309"):
        streams.post("north", TEXT, b"p(a).", skip=True)


def test_a_key_that_came_before_gives_the_first_answer(streams: LoggedStreams, log: Log) -> None:
    streams.put("north", {})
    first = streams.post("north", TEXT, b"p(a) at 3.", key="k").result()
    again = streams.post("north", TEXT, b"p(", key="k").result()
    assert again.answer() == first.answer()
    assert (log.last, streams.describe("north")["facts"]) == (first.seq, 1)


def test_unknown_streams_and_media_types(streams: LoggedStreams) -> None:
    with pytest.raises(LookupError):
        streams.post("north", TEXT, b"")
    streams.put("north", {})
    with pytest.raises(MediaTypeError):
        streams.post("north", "image/png", b"")
    assert streams.get("south") is None


def test_all_is_there_after_a_restart(tmp_path: Path, streams: LoggedStreams, log: Log) -> None:
    streams.put("north", {})
    streams.post("north", TEXT, b"@prefix ex: <http://ex.org/> .\nex:p(a) at 3.").result()
    streams.save()
    streams.post(
        "north", TEXT, b"p(a) at 4.\n@prefix f: <http://f.org/> .\n!", skip=True, about={"position": 9}
    ).result()
    streams.put("north", {"map": ["temp(d, v) at ts"]})
    again = _opened(tmp_path, log)
    assert {**again.describe("north"), "rate": 0, "bad": []} == {**streams.describe("north"), "rate": 0, "bad": []}
    assert again["north"] == streams["north"]
    assert again.position("north") == 9
    assert again.post("north", TEXT, b"ex:p(a) at 5. f:p(b) at 5.").result().about["facts"] == 2


def test_a_stream_that_is_made_again_has_nothing_of_the_one_before(
    tmp_path: Path, streams: LoggedStreams, log: Log
) -> None:
    streams.put("north", {"map": ["temp(d, v) at ts"]})
    streams.post("north", TEXT, b"p(a) at 3.").result()
    streams.save()
    assert streams.delete("north")
    assert not streams.delete("north")
    assert streams.get("north") is None
    made, is_new = streams.put("north", {})
    assert is_new
    for opened in (streams, _opened(tmp_path, log)):
        assert opened["north"] == made
        assert opened.describe("north")["facts"] == 0
        assert opened.records("north") == []
    streams.delete("north")
    assert _opened(tmp_path, log).names() == []
    assert list((tmp_path / "streams").iterdir()) == []


def test_a_stream_whose_end_is_only_in_the_log_has_ended(tmp_path: Path, streams: LoggedStreams, log: Log) -> None:
    streams.put("north", {})
    definition = (tmp_path / "streams" / "north.json").read_bytes()
    streams.delete("north")
    (tmp_path / "streams" / "north.json").write_bytes(definition)
    assert _opened(tmp_path, log).names() == []
