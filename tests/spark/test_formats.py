"""The same answers from every kind of stream, on Spark as in one process: with 1, 2 and 4 partitions, cut differently.

Queries of Spark take seconds whatever they do, so all case pages and some random programs are one program. Those whose
windows count facts are compared over the order of places: source, file and row, or partition and offset.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings

from brokers import Broker, make_topic, spark_kafka_jars
from case_pages import PAGES, cases_of, merged
from recorded_formats import FORMATS, lines_of, write_recordings
from recorded_pages import CUTS, Cut, small_files
from renamed_predicates import counts_facts
from spark.city import DELAY, MIXED, city_words, readings_of, write_city
from spark.commands import run as run_here
from thalweg import api
from thalweg.connectors.kafka import kafka_address, library
from thalweg.demo import write_files
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.runtimes.spark.recordings import BatchSizes
from thalweg.runtimes.spark.run import SparkTarget
from thalweg.testing.strategies import Scenario, scenarios

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::thalweg.ThalwegWarning")]

RANDOM = 60
COUNTED = """
last(X,Y)   :- p(X) in [3 #], q(Y).
own(S,V)    :- r(S,V) in [2 # by S].
near(X)     :- p(X) from s in [2 #], not q(X) in [4 #].
many(N)     :- N = count{V : r(S,V) in [5 #]}.
"""


@pytest.fixture
def with_kafka(session: "SparkSession") -> None:
    for jar in spark_kafka_jars():
        session.sql(f"ADD JAR '{jar}'")


@cache
def rules() -> Scenario:
    """All cases and random programs, but those in which windows count the facts of the input."""
    cases = [case for page in PAGES for case in cases_of(page) if not counts_facts(case.program)]
    return merged([*cases, *random_scenarios(RANDOM)])


def random_scenarios(wanted: int) -> list[Scenario]:
    found: list[Scenario] = []

    @settings(max_examples=wanted, phases=[Phase.generate], derandomize=True, database=None)
    @given(scenarios(tuples=False))
    def take(scenario: Scenario) -> None:
        found.append(scenario)

    take()
    return found


@cache
def counted() -> Scenario:
    """Many facts at each tick, on two streams."""
    random = Random(7)
    events = tuple(Event(tick, tuple(some_facts(random)), random.choice("su")) for tick in range(30) for _ in range(4))
    return Scenario(api.load(COUNTED), events, 0, 30)


def some_facts(random: Random) -> Iterator[Fact]:
    for _ in range(random.randrange(1, 4)):
        terms = random.choice("abc"), str(random.randrange(6))
        yield Fact("r", terms) if random.random() < 0.4 else Fact(random.choice("pq"), terms[:1])


SCENARIOS: dict[str, Callable[[], Scenario]] = {"rules": rules, "counted": counted}


@pytest.mark.usefixtures("in_session")
@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: f"{cut.partitions} partitions")
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_recordings(name: str, suffix: str, cut: Cut, tmp_path: Path) -> None:
    scenario = SCENARIOS[name]()
    streams = write_recordings(tmp_path, suffix, scenario.events, cut.files)
    with small_files(in_batches(streams, 3)):
        found = answers(scenario, streams, runtime="spark", partitions=cut.partitions)
    assert found == answers(scenario, streams) != []


def in_batches(streams: Sequence[Path], batches: int) -> BatchSizes:
    """Sizes with which recordings are about so many batches, each with some blocks."""
    files = [file for stream in streams for file in (stream.iterdir() if stream.is_dir() else [stream])]
    size = sum(file.stat().st_size for file in files) // batches
    return BatchSizes(size, size, size, size // 5)


@pytest.mark.usefixtures("in_session", "with_kafka")
@pytest.mark.parametrize("partitions", [1, 2, 4])
@pytest.mark.parametrize("name", SCENARIOS)
def test_topics(name: str, partitions: int, kafka: Broker, tmp_path: Path) -> None:
    """Only a topic with one partition has an order."""
    scenario = SCENARIOS[name]()
    streams = write_recordings(tmp_path, "jsonl", scenario.events, 1)
    topic = make_topic(kafka, partitions if name == "rules" else 1)
    messages = [lines_of(event) for event in scenario.events]
    send(kafka, topic, [(number % partitions if name == "rules" else 0, part) for number, part in enumerate(messages)])
    uri, out = f"kafka://{kafka.address}/{topic}?until=end&by=partition", tmp_path / "out.jsonl"
    part, options = (
        api.load_part([scenario.program], []),
        api.RunOptions(api.Timing(first=scenario.first, last=scenario.last)),
    )
    api.run_on_spark(part, [uri], options, SparkTarget(), partitions, out=str(out))
    assert out.read_text().splitlines() == answers(scenario, streams) != []


def answers(scenario: Scenario, streams: Sequence[Path | str], **options: Any) -> list[str]:
    found = api.run(scenario.program, stream=list(streams), start=scenario.first, end=scenario.last, **options)
    return list(map(str, found))


def send(broker: Broker, topic: str, messages: Sequence[tuple[int, Sequence[str]]]) -> None:
    """Sends lines, each as a message, to partitions of a topic."""
    address = kafka_address(f"kafka://{broker.address}/{topic}", ())
    producer = library(address).Producer({"bootstrap.servers": broker.address})
    for partition, lines in messages:
        for line in lines:
            producer.produce(topic, line.encode(), partition=partition)
    assert producer.flush(60) == 0


def city(folder: Path) -> tuple[list[str | Path], list[Path]]:
    """Rules, answer sets, classes and patterns of events, over readings of a city of which none is late.

    What is late in a topic depends on its batches.
    """
    write_city(folder, 120, MIXED)
    return [*city_words(folder), "--delay", str(DELAY + 2)], [readings_of(folder)]


def demo(folder: Path) -> tuple[list[str | Path], list[Path]]:
    background, programs, streams = write_files(folder)
    return [*programs, "--background", background], streams


def as_lines(quads: Path) -> list[str]:
    """The events of N-Quads as JSON Lines with a graph."""
    lines = quads.read_text(encoding="utf-8").splitlines()
    return [graph_line(quads.stem, list(event)) for _, event in groupby(lines, key=graph_of)]


def graph_of(quad: str) -> str:
    """The event of a quad; the one with its time comes first, and has the event as its subject."""
    words = quad.split()
    return words[0] if words[1].endswith("generatedAtTime>") else words[-2]


def graph_line(stream: str, quads: list[str]) -> str:
    time, *triples = quads
    value, _, type_ = time.split()[2].partition("^^")
    stamp = json.loads(value)
    graph = "".join(f"{' '.join(triple.split()[:-2])} .\n" for triple in triples)
    return json.dumps({"t": int(stamp) if type_.endswith("integer>") else stamp, "stream": stream, "graph": graph})


@pytest.mark.usefixtures("in_session", "with_kafka")
@pytest.mark.parametrize(
    ("write", "source", "partitions"),
    [
        (city, "nq", 1),
        (city, "jsonl", 4),
        (city, "kafka", 2),
        (demo, "nq", 4),
        (demo, "jsonl", 1),
        (demo, "kafka", 2),
    ],
)
def test_plans_of_several_kinds(
    write: Callable[[Path], tuple[list[str | Path], list[Path]]],
    source: str,
    partitions: int,
    kafka: Broker,
    tmp_path: Path,
) -> None:
    words, streams = write(tmp_path)
    uris: list[str | Path] = [*streams]
    if source != "nq":
        lines = {stream: as_lines(stream) for stream in streams}
        streams = [stream.with_suffix(".jsonl") for stream in lines]
        for file, text in zip(streams, lines.values(), strict=True):
            file.write_text("".join(f"{line}\n" for line in text))
        uris = [*streams]
        if source == "kafka":
            topics = [make_topic(kafka) for _ in streams]
            for topic, text in zip(topics, lines.values(), strict=True):
                send(kafka, topic, [(0, text)])
            uris = [f"kafka://{kafka.address}/{topic}?until=end" for topic in topics]
    own, spread = tmp_path / "own.jsonl", tmp_path / "spread.jsonl"
    run_here(*words, *(word for stream in streams for word in ("--stream", stream)), "--out", own)
    place = ("--runtime", "spark", "--partitions", str(partitions), "--split", "always")
    run_here(*words, *(word for uri in uris for word in ("--stream", uri)), "--out", spread, *place)
    assert spread.read_text() == own.read_text() != ""
