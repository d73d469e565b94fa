import json

from thalweg.runtimes.late_facts import Late


def test_a_late_channel_gets_a_line_for_each_event_and_there_is_no_warning():
    lines = []
    late = Late(lines.append)
    late.add(4, 5, "s", ["p(c)", "p(\u00e9)"])
    late.add(3, 5, None, [])
    assert lines[0] == '{"t":4,"watermark":5,"stream":"s","facts":["p(c)","p(\u00e9)"]}\n'
    assert json.loads(lines[1]) == {"t": 3, "watermark": 5, "stream": None, "facts": []}
    assert late.summary() is None


def test_without_one_the_facts_are_counted_and_the_first_is_the_example():
    late = Late()
    assert late.summary() is None
    late.add(3, 5, "s", [])
    assert late.summary() is None
    late.add(4, 5, "s", ["p(c)", "p(d)"])
    late.add(1, 9, "s", ["p(e)"])
    found = late.summary()
    assert (found.code, found.severity) == ("W302", "warning")
    assert found.message == "3 facts were late and ignored: `p(c) at 4` arrived when the watermark was 5"
