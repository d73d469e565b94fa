"""The answers of a run so far: the news, line by line, and from when until when each event and conclusion lasted."""

import json
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from thalweg.demo.smart_city import CITY, START

Intervals = dict[str, list[tuple[int, int]]]
"""For each fact or event the seconds at which it began and ended."""


@dataclass(frozen=True, slots=True)
class News:
    """A finding of a layer of the cascade, at a second of the half hour."""

    second: int
    layer: str
    text: str

    def __str__(self) -> str:
        return f"{clock(self.second)}  {self.layer:<8} {self.text}"


@dataclass(slots=True)
class CityLog:
    """Takes in lines of answers.

    >>> log = CityLog()
    >>> log.take('{"t":"2026-11-14T17:34:00Z","begin":["blocked(<http://example.org/city#mill>)"],"end":[]}')
    >>> log.take('{"t":"2026-11-14T17:47:00Z","begin":[],"end":["blocked(<http://example.org/city#mill>)"]}')
    >>> print(*log.news, sep="\\n")
    17:34:00  rules    + blocked(mill)
    17:47:00  rules    - blocked(mill) after 13 min
    >>> log.ended
    {'blocked(mill)': [(240, 1020)]}
    """

    second: int = 0
    since: dict[str, int] = field(default_factory=dict)
    ended: Intervals = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    means: list[tuple[str, int, float]] = field(default_factory=list)
    news: deque[News] = field(default_factory=deque)

    def take(self, line: str) -> None:
        """Takes in a line of JSON, of whatever kind of answer."""
        answer = json.loads(line)
        self.second = seconds_of(answer["t"])
        for layer, text in self._read(answer):
            self.news.append(News(self.second, layer, text))

    def _read(self, answer: dict[str, Any]) -> Iterator[tuple[str, str]]:
        if "event" in answer:
            yield from self._event(answer)
        elif "inconsistent" in answer:
            for contradiction in answer["inconsistent"]:
                self.counts["contradictions"] += 1
                yield "ontology", f"{short(contradiction['graph'])} contradicts it"
        elif "graph" in answer:
            self._query(answer["graph"])
        elif "answers" in answer:
            self.counts["answer sets"] += 1
        else:
            yield from self._changes(answer)

    def _event(self, answer: dict[str, Any]) -> Iterator[tuple[str, str]]:
        name, bound = short(answer["event"]), answer["bindings"]
        self.counts[name] += 1
        start, end = seconds_of(answer["from"]), seconds_of(answer["to"])
        about = [(key, short(bound[key])) for key in ("road", "garage", "district") if key in bound]
        self.ended.setdefault(f"{name}({about[0][1]})", []).append((start, end + 1))
        yield "patterns", f"{name}: {', '.join(map(' '.join, about))}, in {minutes(end - start)}"

    def _query(self, facts: list[str]) -> None:
        self.counts["means"] += 1
        for fact in facts:
            name, _, arguments = short(fact).partition("(")
            if name == "meanParticles":
                district, _, value = arguments.rstrip(")").partition(",")
                self.means.append((district, self.second, float(value.split("^^")[0].strip('"'))))

    def _changes(self, answer: dict[str, Any]) -> Iterator[tuple[str, str]]:
        for fact in _by_layer(answer["end"]):
            start = self.since.pop(fact)
            self.ended.setdefault(fact, []).append((start, self.second))
            yield layer_of(fact), f"- {fact} after {minutes(self.second - start)}"
        for fact in _by_layer(answer["begin"]):
            self.since[fact] = self.second
            self.counts[kind_of(fact)] += 1
            yield layer_of(fact), f"+ {fact}"


def kind_of(fact: str) -> str:
    """The predicate of a fact."""
    return fact.partition("(")[0]


def _by_layer(facts: list[str]) -> list[str]:
    """What rules conclude comes before what is chosen because of it."""
    return sorted(map(short, facts), key=lambda fact: layer_of(fact) == "lights")


def layer_of(fact: str) -> str:
    """Which programs an event or a conclusion is of.

    >>> [layer_of(fact) for fact in ("CrowdJam(park)", "crowded(park)", "long_green(j_park,park)")]
    ['patterns', 'rules', 'lights']
    """
    if fact.startswith("long_"):
        return "lights"
    return "patterns" if fact[0].isupper() else "rules"


def seconds_of(moment: str | int) -> int:
    """The seconds since the start, of a timestamp or of a tick.

    >>> seconds_of("2026-11-14T17:31:05Z"), seconds_of(1794677465)
    (65, 65)
    """
    seconds = datetime.fromisoformat(moment).timestamp() if isinstance(moment, str) else moment
    return int(seconds - START.timestamp())


def clock(second: int) -> str:
    """The time of day.

    >>> clock(65)
    '17:31:05'
    """
    minute, remainder = divmod(START.hour * 3600 + START.minute * 60 + second, 60)
    return f"{minute // 60:02}:{minute % 60:02}:{remainder:02}"


def minutes(seconds: int) -> str:
    """A duration.

    >>> minutes(45), minutes(780), minutes(125)
    ('45 s', '13 min', '2 min 5 s')
    """
    minute, second = divmod(seconds, 60)
    return " ".join([f"{minute} min"] * (minute > 0) + [f"{second} s"] * (second > 0 or minute == 0))


def short(text: str) -> str:
    """Names of the city without their namespace.

    >>> short("long_green(<http://example.org/city#j_mill>,<http://example.org/city#bridge>)")
    'long_green(j_mill,bridge)'
    """
    pieces = text.split(f"<{CITY}")
    return pieces[0] + "".join(piece.replace(">", "", 1) for piece in pieces[1:])
