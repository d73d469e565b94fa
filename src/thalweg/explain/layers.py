"""Where the boxes and arrows of a layered drawing go.

Boxes stand in columns, arrows run from left to right. An arrow that passes a column has a *joint* there, a place that
no box takes, so arrows never run behind boxes. An arrow back has joints from the column of its start to that of its
end. Each column is ordered by the places of its neighbours, sweeping to and fro, and the order with the fewest
crossings is kept; then each place is moved towards its neighbours as far as its column allows.
"""

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

SWEEPS = 12
_JOINT = 7.0


@dataclass(frozen=True, slots=True)
class BoxLayout:
    """The middle of each box, from the top; and of the joints of each arrow, from its start to its end."""

    boxes: dict[str, float]
    joints: list[list[tuple[int, float]]]
    bottom: float


def lay_out(
    columns: Mapping[str, int], heights: Mapping[str, float], arrows: Sequence[tuple[str, str]], gap: float = 14
) -> BoxLayout:
    """Places boxes, given their columns and heights.

    >>> found = lay_out({"p": 0, "q": 0, "a": 1}, {"p": 20, "q": 20, "a": 20}, [("p", "a"), ("q", "a")])
    >>> found.boxes
    {'p': 10.0, 'q': 44.0, 'a': 27.0}
    """
    grid = _Grid(columns, heights, arrows, gap)
    grid.order()
    grid.place()
    top = min((grid.y[name] - grid.heights[name] / 2 for name in grid.y), default=0.0)
    bottom = max((grid.y[name] + grid.heights[name] / 2 for name in grid.y), default=0.0)
    return BoxLayout(
        {name: grid.y[name] - top for name in columns},
        [[(grid.column[joint], grid.y[joint] - top) for joint in chain[1:-1]] for chain in grid.chains],
        bottom - top,
    )


class _Grid:
    def __init__(
        self, boxes: Mapping[str, int], heights: Mapping[str, float], arrows: Sequence[tuple[str, str]], gap: float
    ) -> None:
        self.boxes, self.gap = boxes, gap
        self.column, self.heights = dict(boxes), dict(heights)
        self.chains: list[list[str]] = []
        self.left: dict[str, list[str]] = {}
        self.right: dict[str, list[str]] = {}
        self.turning: dict[str, str] = {}
        self.y: dict[str, float] = {}
        for number, (start, end) in enumerate(arrows):
            self.chains.append([start, *self._joints(number, start, end), end])
        self.columns: list[list[str]] = [[] for _ in range(max(self.column.values(), default=-1) + 1)]
        for name, column in self.column.items():
            self.columns[column].append(name)
            self.left[name], self.right[name] = [], []
        for chain in self.chains:
            for place, neighbour in pairwise(chain):
                self._join(place, neighbour)

    def _joints(self, number: int, start: str, end: str) -> list[str]:
        first, last = self.column[start], self.column[end]
        passed = range(first + 1, last) if first < last else range(first, last - 1, -1)
        joints = [f"{number} at {column}" for column in passed]
        self.column |= dict(zip(joints, passed, strict=True))
        self.heights |= dict.fromkeys(joints, _JOINT)
        return joints

    def _join(self, left: str, right: str) -> None:
        """Makes two places draw each other near; where a way turns round, its joint stands beside the box."""
        if self.column[left] == self.column[right]:
            joint, box = (right, left) if left in self.boxes else (left, right)
            self.turning[joint] = box
            return
        if self.column[left] > self.column[right]:
            left, right = right, left
        self.right[left].append(right)
        self.left[right].append(left)

    def order(self) -> None:
        best, fewest = [list(column) for column in self.columns], self._crossings()
        for sweep in range(SWEEPS):
            forward = sweep % 2 == 0
            towards = self.left if forward else self.right
            for column in self.columns if forward else reversed(self.columns):
                self._sort(column, towards)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(column) for column in self.columns], crossings
        self.columns = best

    def _sort(self, column: list[str], towards: dict[str, list[str]]) -> None:
        """By the middle of the neighbours; a place without any stays where it is."""
        place = {name: number for names in self.columns for number, name in enumerate(names)}

        def middle(name: str) -> tuple[float, bool]:
            box = self.turning.get(name, name)
            places = [place[other] for other in towards[box]]
            return sum(places) / len(places) if places else place[box], name != box

        column.sort(key=middle)

    def _crossings(self) -> int:
        """How many pairs of arrows cross between neighbouring columns."""
        total = 0
        for left, right in pairwise(self.columns):
            place = {name: number for number, name in enumerate(right)}
            ends: list[int] = []
            for name in left:
                targets = sorted(place[other] for other in self.right[name])
                total += sum(len(ends) - bisect_right(ends, target) for target in targets)
                for target in targets:
                    insort(ends, target)
        return total

    def place(self) -> None:
        for column in self.columns:
            self._settle(column, [0.0] * len(column))
        for sweep in range(SWEEPS):
            forward = sweep % 2 == 0
            for column in self.columns if forward else reversed(self.columns):
                self._settle(column, [self._wish(name, sweep) for name in column])

    def _wish(self, name: str, sweep: int) -> float:
        """Where a place would like to be; at last between both sides, so that neither pulls alone."""
        sides = (self.left, self.right) if sweep >= SWEEPS - 2 else ((self.left if sweep % 2 == 0 else self.right),)
        positions = [self.y[other] for side in sides for other in side[name]]
        if name in self.turning:
            positions = [self.y[self.turning[name]]]
        return sum(positions) / len(positions) if positions else self.y[name]

    def _settle(self, column: list[str], wishes: list[float]) -> None:
        """The places nearest to the wishes that keep order and distances: neighbours that collide move as one."""
        offsets = [0.0]
        for upper, lower in pairwise(column):
            near = self.gap / 2 if {upper, lower}.isdisjoint(self.boxes) else self.gap
            offsets.append(offsets[-1] + (self.heights[upper] + self.heights[lower]) / 2 + near)
        groups: list[tuple[float, int]] = []
        for wish, offset in zip(wishes, offsets, strict=False):
            mean, size = wish - offset, 1
            while groups and groups[-1][0] > mean:
                before, many = groups.pop()
                mean, size = (mean * size + before * many) / (size + many), size + many
            groups.append((mean, size))
        settled = [mean for mean, size in groups for _ in range(size)]
        self.y |= {name: mean + offset for name, mean, offset in zip(column, settled, offsets, strict=False)}
