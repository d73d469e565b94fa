"""The cost of an explicit selection, layer by layer, as windows, rates of events and the part that is selected grow.

The selection is that of Streaming MASSIF's Listing 1, with tumbling windows. One thing grows at a time: how long a
window is (its Test 2), how many events a second come (Test 1), and how large a part of them is selected (Test 3).
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from thalweg.bench.event_city import PER_TICK, selecting
from thalweg.bench.running_city import City, Ticks
from thalweg.diagnostics import Source
from thalweg.ir.pattern_semantics import Instance
from thalweg.kinds.classes.classifier import Classifier
from thalweg.kinds.events import EventCascade
from thalweg.kinds.events.event_clauses import known_besides
from thalweg.kinds.events.event_layers import EventLayers
from thalweg.kinds.events.event_stages import instances_of
from thalweg.kinds.events.selected_events import SelectedEvent, SelectedEvents
from thalweg.kinds.queries.query_operator import StreamsRead
from thalweg.languages.cascade.read_events import read_events
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch

RANGES: Final[tuple[int, ...]] = (1, 2, 5, 10, 20, 50, 100)
RATES: Final[tuple[int, ...]] = (10, 30, 100, 300, 1_000)
PERCENTAGES: Final[tuple[int, ...]] = (1, 3, 10, 30, 100)
# The windows of the paper's Tests 1 and 3.
_RANGE: Final = 2


@dataclass(frozen=True, slots=True)
class WindowCost:
    """A window on average: the events in it, those selected and those with a class, and the milliseconds of layers."""

    grows: str
    size: int
    events: float
    selected: float
    classed: float
    selection: float
    classes: float
    patterns: float


def by_window(city: City, windows: int, quick: bool = False) -> Iterator[WindowCost]:
    """Selections of growing windows, rates and shares; of each so many windows."""
    layers = _Layers(city.load(selecting(_RANGE)))
    few = slice(0, 5, 2) if quick else slice(None)
    for seconds in RANGES[few]:
        text, ticks = selecting(seconds), seconds * windows
        yield layers.measure("seconds", seconds, text, city.ticks(layers.words, PER_TICK * ticks))
    events = PER_TICK * _RANGE * windows
    for rate in RATES[few]:
        stream = city.ticks(layers.words, rate * _RANGE * windows, rate)
        yield layers.measure("events/s", rate, selecting(_RANGE), stream)
    for percent in PERCENTAGES[few]:
        text = selecting(_RANGE, percent / 100)
        yield layers.measure("% selected", percent, text, city.ticks(layers.words, events))


class _Layers:
    """Selection, classes and patterns, each timed for itself."""

    def __init__(self, part: EventCascade) -> None:
        ladder, _ = part.classifier().ladder()
        self._program = part.program
        self._known = known_besides(ladder.program)
        self._classifier = Classifier(ladder, lambda diagnostic: None, Dictionary())
        self.words = self._classifier.dictionary

    def measure(self, grows: str, size: int, text: str, stream: Iterable[Ticks]) -> WindowCost:
        """The windows of a text once what events look like has been met: the same come again, later."""
        _, (selection,), _ = read_events(Source("city.tw", text))
        assert selection.query is not None
        read = StreamsRead(selection.query, ["city"])
        selected = SelectedEvents(selection.query, self._program.background, self.words, read, lambda diagnostic: None)
        selected.begin(0)
        layers = EventLayers(self._program, self._known)
        events: dict[int, list[Batch]] = {}
        for group in stream:
            for tick, batches in group:
                events.setdefault(tick, []).extend(batches)
        for start in (0, len(events)):
            spent = _Spent()
            for tick, batches in events.items():
                began = time.process_time()
                closed = list(selected.advance(start + tick, batches))
                spent.selection += time.process_time() - began
                for closing, window_events in closed:
                    self._hand_on(closing, window_events, layers, spent)
        count = sum(len(batch.graphs) for group in events.values() for batch in group)
        return spent.average(grows, size, count)

    def _hand_on(self, closing: int, selected: list[SelectedEvent], layers: EventLayers, spent: "_Spent") -> None:
        """Takes the events that a window has selected through classes and patterns."""
        began = time.process_time()
        events: dict[int, dict[str, list[Instance]]] = {closing: {}}
        for chosen in selected:
            facts = [(fact.predicate, tuple(map(self.words.code, fact.terms))) for fact in chosen.facts]
            for event in instances_of(chosen.tick, self._classifier.classify(chosen.graph, facts), self.words):
                events.setdefault(chosen.tick, {}).setdefault(event.event, []).append(event)
        between = time.process_time()
        for tick in sorted(events):
            layers.advance(tick, events[tick])
        spent.classes += between - began
        spent.patterns += time.process_time() - between
        spent.windows += 1
        spent.selected += len(selected)
        spent.classed += sum(len(group) for named in events.values() for group in named.values())


@dataclass(slots=True)
class _Spent:
    """The seconds that all windows took, and their numbers of events."""

    windows: int = 0
    selected: int = 0
    classed: int = 0
    selection: float = 0.0
    classes: float = 0.0
    patterns: float = 0.0

    def average(self, grows: str, size: int, events: int) -> WindowCost:
        counts = (total / self.windows for total in (events, self.selected, self.classed))
        times = (1_000 * total / self.windows for total in (self.selection, self.classes, self.patterns))
        return WindowCost(grows, size, *counts, *times)
