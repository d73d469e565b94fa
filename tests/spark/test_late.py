"""On Spark, too, disorder inside the delay changes no answer, and what comes later still is told of, fact by fact."""

import json
from pathlib import Path

from spark.processes import run, thalweg

PROGRAM = """
hot(R)  :- at(S,R), warm(S) in [6].
cold(R) :- at(S,R) in [3], not hot(R).
"""
TICKS = 60
# Sixteen segments are a batch, and a segment is an event.
SEGMENT = 1


def in_order() -> list[tuple[int, str]]:
    warm = [(tick, f"warm(s{tick % 7})") for tick in range(0, TICKS, 3)]
    return sorted([*warm, *((tick, f"at(s{tick % 7},r{tick % 5})") for tick in range(TICKS))])


def in_disorder(delay: int) -> list[tuple[int, str]]:
    """Every tick's facts come up to the delay later than they should."""
    events = in_order()
    held = {place: (place * 7 + place // 3) % (delay + 1) for place in range(len(events))}
    order = sorted(range(len(events)), key=lambda place: (events[place][0] + held[place], place))
    return [events[place] for place in order]


def write(folder: Path, events: list[tuple[int, str]]) -> None:
    (folder / "program.lars").write_text(PROGRAM)
    (folder / "stream.facts").write_text("\n".join(f"{fact} at {tick}." for tick, fact in events))


def line(folder: Path, out: str, *options: str) -> list[str]:
    about = ("--stream", folder / "stream.facts", "--out", folder / out)
    return thalweg("run", folder / "program.lars", *about, "--emit", "changes", *options, segment=SEGMENT)


def test_disorder_inside_the_delay_changes_nothing(tmp_path: Path) -> None:
    said = tmp_path / "said.txt"
    write(tmp_path, in_order())
    assert run(line(tmp_path, "in order.jsonl"), said) == 0
    write(tmp_path, in_disorder(delay=4))
    late = ("--late", str(tmp_path / "late.jsonl"))
    assert run(line(tmp_path, "spark.jsonl", "--runtime", "spark", "--delay", "4", *late), said) == 0
    assert (tmp_path / "spark.jsonl").read_text() == (tmp_path / "in order.jsonl").read_text() != ""
    assert (tmp_path / "late.jsonl").read_text() == ""
    assert said.read_text() == ""


def test_late_facts_are_told_one_by_one(tmp_path: Path) -> None:
    """In the batch in which the watermark passes them, and many batches later."""
    said = tmp_path / "said.txt"
    events = in_order()
    straggling = {
        20: [(5, "warm(s1)"), (5, "at(s1,r1)")],
        21: [(12, "at(s9,r9)")],
        70: [(0, "other(x)"), (7, "warm(s2)")],
    }
    mixed, expected, highest = list[tuple[int, str]](), list[dict[str, object]](), 0
    for place, event in enumerate(events):
        mixed.append(event)
        highest = max(highest, event[0])
        for tick, fact in straggling.get(place, ()):
            mixed.append((tick, fact))
            expected.append({"t": tick, "watermark": highest - 2, "stream": "stream", "facts": [fact]})
    write(tmp_path, events)
    assert run(line(tmp_path, "without.jsonl", "--delay", "2"), said) == 0
    write(tmp_path, mixed)
    late = tmp_path / "late.jsonl"
    assert run(line(tmp_path, "spark.jsonl", "--delay", "2", "--runtime", "spark", "--late", str(late)), said) == 0
    assert (tmp_path / "spark.jsonl").read_text() == (tmp_path / "without.jsonl").read_text()
    found = [json.loads(one) for one in late.read_text().splitlines()]
    assert sorted(found, key=json.dumps) == sorted(expected, key=json.dumps)
    assert said.read_text() == ""


def test_without_a_late_channel_they_are_counted(tmp_path: Path) -> None:
    write(tmp_path, [(9, "warm(s1)"), (3, "warm(s2)"), (4, "warm(s3)"), (9, "at(s1,r1)")])
    said = tmp_path / "said.txt"
    assert run(line(tmp_path, "spark.jsonl", "--runtime", "spark"), said) == 0
    assert said.read_text().startswith("warning[W302]: 2 facts were late and took no part: `warm(s2) at 3`")
