"""What is posted is read at the door: counted, and refused line by line."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from thalweg.service.door import MOST_BAD, MOST_UNFINISHED, Door, DoorReport, MediaTypeError
from thalweg.service.stream import StreamVersion

NOON = 1_794_729_600_250
TIME = "<http://www.w3.org/ns/prov#generatedAtTime>"


def _check(media: str, body: str, *, before: Mapping[str, Any] = {}, **definition: object) -> DoorReport:
    return Door().check("s", StreamVersion(1, definition, "s"), media, body.encode(), NOON, before)


def _lines(report: DoorReport) -> list[int]:
    return [wrong.span.source.first_line for wrong in report.diagnostics]


@pytest.mark.parametrize(
    ("media", "body", "facts", "latest"),
    [
        ("text/plain", "p(a) at 3.\nq at 5. q at 4.\n", 3, 5),
        ("text/plain", 'p(a) at "2026-11-15T08:00:00Z".', 1, "2026-11-15T08:00:00.000Z"),
        ("application/x-ndjson", '{"t":3,"facts":["p(a)","q"]}\n{"t":7,"facts":[]}\n', 2, 7),
        ("application/json", '{"t":3,"stream":"s","facts":["p(a)"]}', 1, 3),
        ("text/csv", "s,p,o,t\na,speed,12,36\nb,speed,13,37\n", 2, 37),
        ("application/n-quads", f'<e> {TIME} "36" .\n<a> <p> <b> <e> .\n<a> <p> <c> <e> .\n', 2, None),
        ("application/trig", f"<e> {TIME} 36 . <e> {{ <a> <p> <b>, <c> }}", 2, 36),
        (
            "application/ld+json",
            f'{{"@id":"e","{TIME[1:-1]}":36,"@graph":{{"@id":"a","http://p":{{"@id":"b"}}}}}}',
            1,
            36,
        ),
        ("text/plain", "", 0, None),
    ],
)
def test_facts_of_every_format_are_counted(media: str, body: str, facts: int, latest: int | str | None) -> None:
    report = _check(media, body)
    assert (report.facts, report.latest, report.diagnostics) == (facts, latest, ())


def test_mappings_make_facts_and_rows_without_a_time_have_that_of_their_arrival() -> None:
    body = '{"device":"d1","v":5}\n{"device":"d2","v":6}\n'
    report = _check("application/json", body, map=["temp(device, v)"])
    assert (report.facts, report.latest) == (2, "2026-11-15T08:00:00.250Z")
    table = _check("text/csv", "device;v\nd1;2,5\n", map=["temp(device, v)"])
    assert (table.facts, table.malformed) == (1, 0)


def test_facts_without_a_time_have_that_of_their_arrival() -> None:
    report = _check("text/plain", 'p(a).\nq.\nr("x y"). p(b).\n')
    assert (report.facts, report.latest, report.malformed) == (4, "2026-11-15T08:00:00.250Z", 0)


def test_bad_lines_have_their_places_in_the_body() -> None:
    report = _check("text/plain", "p(a) at 3.\np(\nq at 4.\nP at 5.\n")
    assert (report.facts, report.malformed, _lines(report), report.is_refused) == (2, 2, [2, 4], False)
    assert [text for text, _ in report.bad_lines] == ["p(", "P at 5."]


def test_a_line_of_another_stream_is_bad() -> None:
    lines = [
        {"t": 3, "facts": ["p"]},
        {"t": 3, "stream": "other", "facts": ["q"]},
        {"t": 4, "stream": "s", "facts": ["p"]},
    ]
    report = _check("application/x-ndjson", "\n".join(map(json.dumps, lines)))
    assert (report.facts, _lines(report)) == (2, [2])
    assert report.diagnostics[0].message == "this line is of the stream `other`"


def test_a_message_may_have_a_key_that_is_called_stream() -> None:
    report = _check("application/json", '{"stream":"x","v":5,"ts":36}', map=["temp(stream, v) at ts"])
    assert (report.facts, report.malformed) == (1, 0)


def test_timestamps_and_bare_ticks_make_no_sense_together() -> None:
    report = _check("text/plain", "p(a) at 3.\np(b).\n")
    assert report.is_refused
    assert [wrong.code for wrong in report.diagnostics] == ["E309"]


def test_a_table_that_no_mapping_fits_makes_no_sense() -> None:
    report = _check("text/csv", "device,other\nd1,5\n", map=["temp(device, v) at ts"])
    assert report.is_refused
    assert "`v`" in report.diagnostics[0].message


def test_a_body_of_nothing_but_bad_lines_is_not_read_to_its_end() -> None:
    report = _check("application/x-ndjson", "x\n" * (2 * MOST_BAD))
    assert report.is_refused
    assert report.malformed == MOST_BAD


def test_prefixes_hold_in_the_bodies_behind() -> None:
    declared = _check("text/plain", "@prefix ex: <http://ex.org/> .\nex:p(a) at 3.\n")
    assert (declared.facts, declared.behind) == (1, {"prefixes": {"ex": "http://ex.org/"}})
    assert _check("text/plain", "ex:p(a) at 4.\n").malformed == 1
    assert _check("text/plain", "ex:p(a) at 4.\n", before=declared.behind).facts == 1


def test_events_of_quads_go_on_in_the_bodies_behind() -> None:
    first = _check("application/n-quads", f'<e> {TIME} "36" .\n<a> <p> <b> <e> .\n')
    second = _check("application/n-quads", f'<a> <p> <c> <e> .\n<e> {TIME} "37" .\n', before=first.behind)
    assert (first.facts, second.facts, second.malformed, _lines(second)) == (1, 1, 1, [2])
    assert "already has a different time" in second.diagnostics[0].message


def test_quads_whose_times_never_come_do_not_pile_up() -> None:
    body = "".join(f"<a> <p> <b{number}> <e> .\n" for number in range(MOST_UNFINISHED // 2))
    first = _check("application/n-quads", body)
    second = _check("application/n-quads", body, before=first.behind)
    third = _check("application/n-quads", body, before=second.behind)
    assert [report.is_refused for report in (first, second, third)] == [False, False, True]
    timed = _check("application/n-quads", f'<e> {TIME} "36" .\n{body.replace("<e>", "<f>")}', before=second.behind)
    assert (timed.facts, timed.malformed) == (MOST_UNFINISHED // 2, 0)


def test_an_open_comment_is_bad() -> None:
    assert _check("text/plain", "p at 3.\n/* p at 4.\n").malformed == 1


def test_media_types() -> None:
    assert Door.media_type("Text/CSV; header=present") == "text/csv"
    with pytest.raises(MediaTypeError, match="text/plain, application/x-ndjson"):
        Door.media_type("image/png")
    with pytest.raises(MediaTypeError, match="is missing"):
        Door.media_type("")
