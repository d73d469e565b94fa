"""Reading on from a position gives what would have come without a stop, whatever the format."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from thalweg.connectors import files, tabular
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.transport import Transport
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.rdf import GENERATED_AT, XSD
from thalweg.model.time import Clock
from thalweg.runtimes.inputs import Streams, check_resumable, open_all
from thalweg.runtimes.plausible_times import Far

FACTS = "@prefix ex: <http://e/> .\n" + "".join(
    f"ex:p(a{number}) at {number // 3}. q at {number // 3}.\n" + "/* a\ncomment */ (\n" * (number % 7 == 5)
    for number in range(40)
)
EVENTS = "".join(f'{{"t":{number // 2},"facts":["r({number})"]}}\n' + "?\n" * (number == 9) for number in range(30))
TABLE = "s,p,o,t\n" + "".join(f"s{number},speed,{number},{number // 2}\n" for number in range(30))
TRIPLES = "".join(f"{number} <s{number}> <p> _:b{number} .\n" for number in range(30))
QUADS = "".join(
    f'<s> <p> "{number}" <e{number}> .\n<e{number - 3}> {GENERATED_AT} "{number}"^^<{XSD}integer> .\n'
    for number in range(40)
)
GRAPHS = "PREFIX e: <http://e/>\n" + "".join(
    f'e:g{number} {GENERATED_AT} "{number}"^^<{XSD}integer> . e:g{number} {{ e:a e:p {number} . }}\n'
    for number in range(12)
)


MINUTE = "2026-11-{:02}T08:{:02}:00Z"
# A first row of a clock that was never set, one that is a year ahead, a pause of a week, rows that come once a week.
DOUBTFUL = [
    "1970-01-01T00:00:02Z",
    *(MINUTE.format(1, minute) for minute in range(9)),
    "2027-11-15T08:00:00Z",
    *(MINUTE.format(1, minute) for minute in range(9, 15)),
    *(MINUTE.format(8, minute) for minute in range(9)),
    *(f"20{year}-{month:02}-01T00:00:00Z" for year in (27, 28) for month in range(1, 13)),
]
CLOCKS = "".join(f"p({row}) at @{time}.\n" for row, time in enumerate(DOUBTFUL))


@pytest.fixture(autouse=True)
def _small_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks end anywhere, also within a line or a character."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "FILE_BLOCK", 97)
    monkeypatch.setattr(tabular, "ROWS", 5)
    yield
    for transport in OPEN:
        transport.close()
    OPEN.clear()


OPEN: list[Transport] = []


def opened(*names: str) -> tuple[Streams, Dictionary]:
    words, transports = Dictionary(), open_all(map(Path, names))
    OPEN.extend(transports)
    return Streams(transports, words, Clock(), Interrupt()), words


def shown(item: tuple[int, Batch] | Far, words: Dictionary) -> str:
    tick, batch = item if isinstance(item, tuple) else (item.tick, item.batch)
    return f"{tick} {batch.stream} {[str(fact) for fact in batch.facts(words)]}{' far' * isinstance(item, Far)}"


def items_of(streams: Streams, words: Dictionary) -> Iterator[str]:
    for item in streams:
        if isinstance(item, Diagnostic):
            yield item.render()
        elif item is not None:
            yield shown(item, words)


def write_all() -> None:
    """A file of each format."""
    import pyarrow as pa
    from pyarrow import parquet

    texts = {"a.facts": FACTS, "b.jsonl": EVENTS, "c.csv": TABLE, "d.tnt": TRIPLES, "e.nq": QUADS, "f.trig": GRAPHS}
    for name, text in texts.items():
        Path(name).write_text(text)
    with gzip.open("g.facts.gz", "wb") as packed:
        packed.write(FACTS.encode())
    Path("folder").mkdir()
    for name in ("a.facts", "b.jsonl", "d.tnt"):
        Path("folder", name).write_text(texts[name])
    columns = {"s": [f"s{n}" for n in range(23)], "p": ["p"] * 23, "o": list(range(23)), "t": list(range(23))}
    parquet.write_table(pa.table(columns), "h.parquet")


@pytest.mark.parametrize(
    "names",
    [
        ("a.facts",),
        ("b.jsonl",),
        ("c.csv",),
        ("d.tnt",),
        ("e.nq",),
        ("f.trig",),
        ("g.facts.gz",),
        ("h.parquet",),
        ("folder",),
        ("a.facts", "b.jsonl", "e.nq", "h.parquet", "folder"),
    ],
    ids=" ".join,
)
def test_stopped_and_read_on_is_never_stopped(names: tuple[str, ...]) -> None:
    write_all()
    expected = list(items_of(*opened(*names)))
    assert len(expected) > 10
    streams, words = opened(*names)
    assert (list(items_of(*resumed(streams, names)))) == expected
    for taken, item in enumerate(items_of(streams, words), 1):
        assert item == expected[taken - 1]
        assert list(items_of(*resumed(streams, names))) == expected[taken:], taken


def test_rows_that_wait_to_be_decided_are_part_of_a_position() -> None:
    """Stopped anywhere, the same rows are far and the same are accepted, although each waits for three others."""
    Path("a.facts").write_text(CLOCKS)
    Path("b.facts").write_text(
        "".join(f"q({row}) at @{MINUTE.format(day, row)}.\n" for day in (1, 8) for row in range(9))
    )
    for names in (("a.facts",), ("a.facts", "b.facts")):
        expected = list(items_of(*opened(*names)))
        assert [item for item in expected if item.endswith("far")] == ["2 a ['p(0)'] far", "1826265600 a ['p(10)'] far"]
        assert len(expected) == len(DOUBTFUL) + 18 * (len(names) == 2)
        streams, words = opened(*names)
        for taken, item in enumerate(items_of(streams, words), 1):
            assert item == expected[taken - 1]
            assert list(items_of(*resumed(streams, names))) == expected[taken:], taken


def resumed(streams: Streams, names: tuple[str, ...]) -> tuple[Streams, Dictionary]:
    """Streams that go on where others are, as another process would."""
    position = json.loads(json.dumps(streams.position()))
    others, words = opened(*names)
    others.seek(position)
    return others, words


def test_a_position_of_a_position_is_one() -> None:
    write_all()
    names = ("a.facts", "b.jsonl")
    streams, words = opened(*names)
    found = []
    while item := next(items_of(streams, words), None):
        found.append(item)
        streams, words = resumed(streams, names)
    assert found == list(items_of(*opened(*names)))


def test_no_block_is_read_twice_before_the_position() -> None:
    Path("long.facts").write_text("".join(f"p({number}) at {number}.\n" for number in range(2_000)))
    streams, words = opened("long.facts")
    for _, _ in zip(range(1_500), items_of(streams, words), strict=False):
        pass
    position = streams.position()
    assert position is not None
    [place] = position["recorded"]
    assert place["at"] > 20_000
    assert place["items"] < 20


@pytest.mark.parametrize("name", ["short.facts", "short.parquet"])
def test_a_file_that_became_shorter_is_refused(name: str) -> None:
    write_all()
    Path("short.facts").write_text(FACTS)
    Path("h.parquet").rename("short.parquet")
    streams, words = opened(name)
    list(items_of(streams, words))
    if name == "short.facts":
        Path(name).write_text(FACTS[:100])
    else:
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table({"s": ["a"], "p": ["p"], "o": [1], "t": [1]}), name)
    with pytest.raises(RejectedError, match=f"E408.*`{name}` is shorter than what this run has read of it"):
        list(items_of(*resumed(streams, (name,))))


def test_what_a_process_is_handed_cannot_be_read_again() -> None:
    with pytest.raises(RejectedError, match="`-` cannot be read again after a crash"):
        check_resumable(open_all(["-"]))


@dataclass
class Log:
    """A live source that remembers what it sent, one message a block."""

    messages: list[str]
    start: int = 0
    name: str = "log://"
    stream: str = "log"
    live: bool = True
    repeats: bool = False
    sent: list[str] = field(default_factory=list)

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        for message in self.messages[self.start :]:
            self.start += 1
            yield message.encode()

    def position(self) -> int:
        return self.start

    def seek(self, position: int) -> None:
        self.start = position

    def close(self) -> None:
        pass


@pytest.mark.parametrize("live", [True, False])
def test_a_source_whose_blocks_come_otherwise_is_left_between_two_of_them(live: bool) -> None:
    messages = ["p at 1.\nq at 2.\n", "p at 3.\nq at 4.\n", "p at 5.\n"]

    def opened_log() -> tuple[Streams, Dictionary]:
        words = Dictionary()
        return Streams([Log(messages, live=live)], words, Clock(), Interrupt()), words

    expected = list(items_of(*opened_log()))
    streams, _ = opened_log()
    taken, between = 0, []
    for item in streams:
        taken += item is not None
        position = streams.position()
        if position is not None:
            others, more = opened_log()
            others.seek(json.loads(json.dumps(position)))
            assert list(items_of(others, more)) == expected[taken:]
            between.append(taken)
    assert sorted(set(between)) == [2, 4, 5]
