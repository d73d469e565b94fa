"""What goes on from one body to the next, and what does not."""

import json
from collections.abc import Iterable

from thalweg.connectors.batches import Item
from thalweg.diagnostics import Diagnostic
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock
from thalweg.service.body_reader import BodyReader
from thalweg.service.stream import StreamVersion

PLAIN = StreamVersion(1, {}, "s")
QUADS = "application/n-quads"
LINES = "application/x-ndjson"
TIME = '<e> <http://www.w3.org/ns/prov#generatedAtTime> "36" .\n'
NOON = 1_794_729_600_250


class Bodies:
    """A reader of the stream `s`, and the facts that it reads."""

    def __init__(self) -> None:
        self.words = Dictionary()
        self.reader = BodyReader("s", self.words, Clock())

    def read(self, media: str, body: str, version: StreamVersion = PLAIN, number: int = 0) -> list[str]:
        return self.facts(self.reader.read(media, body.encode(), version, NOON, number=number))

    def facts(self, items: Iterable[Item]) -> list[str]:
        """The facts of items as `fact at tick`, and messages of what is wrong."""
        written: list[str] = []
        for item in items:
            if isinstance(item, Diagnostic):
                written.append(item.message)
            else:
                written += (f"{fact} at {item[0]}" for fact in item[1].facts(self.words))
        return written

    def saved(self) -> "Bodies":
        """Another reader, which goes on where this one is."""
        other = Bodies()
        other.reader.load(json.loads(json.dumps(self.reader.save())), PLAIN)
        return other


def _graph(label: str) -> str:
    return json.dumps({"t": 3, "graph": f"<http://a> <http://p> _:{label} ."})


def test_an_event_of_quads_goes_on_also_in_another_reader() -> None:
    bodies = Bodies()
    assert bodies.read(QUADS, f"{TIME}<http://a> <http://p> <http://b> <e> .") == []
    other = bodies.saved()
    assert other.read(QUADS, "<http://a> <http://p> <http://c> <e> .\n") == []
    assert (other.reader.unfinished, other.facts(other.reader.complete())) == (
        2,
        ["<http://p>(<http://a>,<http://b>) at 36", "<http://p>(<http://a>,<http://c>) at 36"],
    )
    assert (other.reader.unfinished, other.facts(other.reader.complete())) == (0, [])


def test_an_event_without_its_time_is_not_complete() -> None:
    bodies = Bodies()
    bodies.read(QUADS, "<http://a> <http://p> <http://b> <e> .\n")
    assert bodies.facts(bodies.reader.complete()) == []
    assert bodies.read(QUADS, TIME) == []
    assert bodies.facts(bodies.reader.complete()) == ["<http://p>(<http://a>,<http://b>) at 36"]


def test_blank_nodes_of_lines_are_told_apart_by_their_lines_in_all_bodies() -> None:
    bodies = Bodies()
    first = bodies.read(LINES, f"{_graph('b')}\n{_graph('b')}")
    second = bodies.saved().read(LINES, _graph("b"))
    changed = bodies.read(LINES, _graph("b"), StreamVersion(2, {"map": ["temp(d, v) at ts"]}, "s"))
    assert len({*first, *second, *changed}) == 4


def test_blank_nodes_of_documents_are_told_apart_by_the_number_of_the_body() -> None:
    bodies, document = Bodies(), f"{TIME}<e> {{ <http://a> <http://p> _:b }}"
    first, again, other = (bodies.read("application/trig", document, number=number) for number in (1, 1, 2))
    assert first == again != other


def test_prefixes_hold_where_it_is_said_so() -> None:
    bodies = Bodies()
    bodies.read("text/plain", "@prefix ex: <http://ex.org/> .\nex:p at 3.")
    assert bodies.reader.prefixes == {"ex": "http://ex.org/"}
    assert bodies.read("text/plain", "ex:p at 3.") == ["unknown prefix `ex:`"]


def test_the_local_times_of_a_stream_have_one_order() -> None:
    """At the end of summer time an hour comes twice: the second one behind what came before."""
    zoned = StreamVersion(1, {"zone": "Europe/Berlin"}, "s")
    bodies = Bodies()
    first = bodies.read("text/plain", 'p(a) at "2026-10-25T02:50:00".', zoned)
    other = Bodies()
    other.reader.load(bodies.reader.save(), zoned)
    second = other.read("text/plain", 'p(a) at "2026-10-25T02:10:00".', zoned)
    hours = [int(text.rpartition(" ")[2]) for text in (*first, *second)]
    assert hours[1] - hours[0] == 20 * 60


def test_bytes_that_say_the_order_of_bytes_are_passed_over() -> None:
    assert Bodies().read("text/plain", "\ufeffp(a) at 3.") == ["p(a) at 3"]
    assert Bodies().read(LINES, '\ufeff{"t":3,"facts":["p(a)"]}') == ["p(a) at 3"]
    assert Bodies().read("text/csv", "\ufeffs,p,o,t\na,p,b,3") == ["p(a,b) at 3"]
