"""The workloads of Laser's evaluation and of the one on Spark: each a program and a stream for it.

A stream is an array of integers for each tick. Laser's have an encoding of the same program for an answer set solver as
well, which sees the content of the window, and `now`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate

Values = NDArray[np.int64]
_SEED: Final = 2017
_FRESH: Final = 2**30
# Thousandths of a degree, from below freezing to very hot.
_COLDEST, _HOTTEST, _PLACES = -50_000, 200_000, 3
DEVICES: Final = 500
# Roads in short one-way chains: 0 → 1 → 2, 3 → 4 → 5, …
_CARS, _ROADS, _CHAIN = 1_000_000, 300, 3


@dataclass(frozen=True, slots=True)
class Workload:
    """A family of programs and streams, by the size of the window and the number of facts a tick."""

    name: str
    signature: Predicate
    rules: Callable[[int], str]
    values: Callable[[int, int], Iterator[Values]]
    encoding: Callable[[int], str] = lambda n: ""

    @property
    def is_decimal(self) -> bool:
        return self.signature.name == "temp"

    def words(self, values: Values) -> Values:
        """The values as the engine takes them."""
        return values << 8 | _PLACES << 2 | 2 if self.is_decimal else values << 2 | 1

    def batch(self, values: Values) -> Batch:
        return Batch(rows={self.signature: self.words(values).reshape(-1)})

    def spelled(self, row: list[int]) -> tuple[str, ...]:
        """The values of one fact as terms."""
        return tuple(f"{value / 10**_PLACES:.{_PLACES}f}" if self.is_decimal else str(value) for value in row)

    def facts_for_solver(self, ticks: list[tuple[int, Values]]) -> str:
        """The content of a window, each fact with its tick."""
        lines = [f"now({ticks[-1][0]})."]
        for tick, values in ticks:
            lines.append(f"tick({tick}).")
            lines += [f"{self.signature.name}({','.join(map(str, row))},{tick})." for row in values.tolist()]
        return " ".join(lines)


def _draws(low: int, high: int, shape: tuple[int, int]) -> Iterator[Values]:
    random = np.random.default_rng(_SEED)
    while True:
        yield random.integers(low, high, shape)


def fresh_pairs(window: int, rate: int) -> Iterator[Values]:
    """Pairs that hardly ever come again."""
    return _draws(0, _FRESH, (rate, 2))


def steady_pairs(window: int, rate: int) -> Iterator[Values]:
    """The same pairs at every tick."""
    return repeat(next(fresh_pairs(window, rate)))


def meeting_pairs(window: int, rate: int) -> Iterator[Values]:
    """Pairs from a domain so large that each meets about one partner in the window."""
    return _draws(0, rate * (window + 1), (rate, 2))


def temperatures(window: int, rate: int) -> Iterator[Values]:
    """Readings between freezing and very hot."""
    return _draws(_COLDEST, _HOTTEST, (rate, 1))


def readings(window: int, rate: int) -> Iterator[Values]:
    """Any value of any device."""
    random = np.random.default_rng(_SEED)
    while True:
        yield np.column_stack((random.integers(0, DEVICES, rate), random.integers(0, _HOTTEST, rate)))


def sightings(window: int, rate: int) -> Iterator[Values]:
    """Any of a million cars on any of the roads."""
    random = np.random.default_rng(rate)
    while True:
        yield np.column_stack((random.integers(0, _CARS, rate), random.integers(0, _ROADS, rate)))


def _cooling(n: int) -> str:
    return f"""
        steam(V) at T :- temp(V) at T in [{n}], V >= 100.
        liquid(V) at T :- temp(V) at T in [{n}], V >= 1, V < 100.
        isSteam at T :- steam(V) at T in [{n}].
        isLiquid at T :- liquid(V) at T in [{n}].
        alarm :- isSteam always in [{n}].
        normal :- isLiquid always in [{n}].
        freeze :- not alarm, not normal.
        veryHot(T) :- steam(V) at T in [{n}], V >= 150.
        veryCold(T) :- liquid(V) at T in [{n}], V = 1.
    """


_COOLING_ENCODING: Final = """
    steam(V,T) :- temp(V,T), V >= 100000.
    liquid(V,T) :- temp(V,T), V >= 1000, V < 100000.
    isSteam(T) :- steam(_,T).
    isLiquid(T) :- liquid(_,T).
    alarm :- not noSteam.
    normal :- not noLiquid.
    noSteam :- tick(T), not isSteam(T).
    noLiquid :- tick(T), not isLiquid(T).
    freeze :- not alarm, not normal.
    veryHot(T) :- steam(V,T), V >= 150000.
    veryCold(T) :- liquid(1000,T).
    steamNow(V) :- steam(V,T), now(T).
    liquidNow(V) :- liquid(V,T), now(T).
    #show steamNow/1. #show liquidNow/1. #show alarm/0. #show normal/0. #show freeze/0.
    #show veryHot/1. #show veryCold/1.
"""


def joins(copies: int) -> Workload:
    """The join, as a number of rules."""
    return Workload(
        name="join" if copies == 1 else f"{copies} rules",
        signature=Predicate("p", 2),
        rules=lambda n: "\n".join(f"q{i}(A,C) :- p(A,B) in [{n}], p(B,C) in [{n}]." for i in range(copies)),
        values=meeting_pairs,
        encoding=lambda n: (
            "s(A,B) :- p(A,B,_). " + " ".join(f"q{i}(A,C) :- s(A,B), s(B,C). #show q{i}/2." for i in range(copies))
        ),
    )


DIAMOND: Final = Workload(
    name="diamond",
    signature=Predicate("p", 2),
    rules=lambda n: f"q(A,B) :- p(A,B) in [{n}].",
    values=fresh_pairs,
    encoding=lambda n: "q(A,B) :- p(A,B,_). #show q/2.",
)
BOX: Final = Workload(
    name="box",
    signature=Predicate("p", 2),
    rules=lambda n: f"q(A,B) :- p(A,B) always in [{n}].",
    values=steady_pairs,
    encoding=lambda n: "gap(A,B) :- p(A,B,_), tick(T), not p(A,B,T). q(A,B) :- p(A,B,_), not gap(A,B). #show q/2.",
)
JOIN: Final = joins(1)
COOLING: Final = Workload("cooling", Predicate("temp", 1), _cooling, temperatures, lambda n: _COOLING_ENCODING)

_DEVICES: Final = " ".join(f"device({number})." for number in range(DEVICES))


def aggregate(function: str) -> Workload:
    """One value for each device, over all of its readings in the window."""
    return Workload(
        name=function,
        signature=Predicate("reading", 2),
        rules=lambda n: f"v(D,A) :- device(D), A = {function}{{V,T : reading(D,V) at T in [{n}]}}. {_DEVICES}",
        values=readings,
    )


# The diamond over conclusions that are remembered, and states that hold until something ends them.
RECORDED: Final = replace(
    DIAMOND, name="recorded diamond", rules=lambda n: f"#record r/2. r(A,B) :- p(A,B). q(A,B) :- r(A,B) in [{n}]."
)
LATCHED: Final = Workload(
    name="latched states",
    signature=Predicate("reading", 2),
    rules=lambda n: "#record on/1. on(D) :- reading(D,V). on(D) :- on(D) before [1], not off(D).",
    values=readings,
)
# Pairs that meet a partner in one of four windows: an answer for each, that it began or that it ended.
KEYED: Final = Workload(
    name="join",
    signature=Predicate("p", 2),
    rules=lambda n: f"q(A,B,C) :- p(A,B) in [{n}], p(B,C) in [{n}].",
    values=lambda window, rate: meeting_pairs(4 * window + 3, rate),
)
# Four answers for each pair, which do not say where they met and so have to be merged.
DENSE: Final = replace(JOIN, name="dense join")
_NEXT: Final = " ".join(f"next({road},{road + 1})." for road in range(_ROADS) if (road + 1) % _CHAIN)
CLOSURE: Final = Workload(
    name="closure",
    signature=Predicate("seen", 2),
    rules=lambda n: f"at(C,R) :- seen(C,R) in [{n // 4}]. at(C,S) :- at(C,R), next(R,S). {_NEXT}",
    values=sightings,
)
