"""The statistics of mappings: which of them fitted a source, how many facts each made, and where cells were empty.

One tally is shared by all sources of a run, because a mapping is in vain only where it fits none of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as Table
from datetime import tzinfo
from functools import partial
from typing import Any, Final

from thalweg.connectors.mapping.dialect import StatedDialect
from thalweg.connectors.mapping.mapping import Mapping, Path
from thalweg.diagnostics import Counted, Diagnostic

_MOST_NAMES = 12
_NONE: Final = Counter[Path]()
_RARE: Final = 60.0
"""Seconds that a live run gives a mapping that has not fitted, while all messages fit another one."""


class Tally:
    """The mappings of a run, and what became of them; `stated` has how tables are written, by the source's name.

    `zones` are those of times without one, by the stream's name, where they are not that of the run.

    >>> from thalweg.connectors.mapping.read_mapping import read_mappings
    >>> tally = Tally(read_mappings(["temp(device, v) at ts", "hum(device, h) at ts"]))
    >>> tally.met(["ts", "device", "v"]); tally.fitted(tally.mappings[0], 3)
    >>> [found.message for found in tally.summary()]
    ['`hum(device, h) at ts` never fitted']
    """

    def __init__(
        self,
        mappings: Sequence[Mapping] = (),
        stated: Table[str, StatedDialect] | None = None,
        zones: Table[str, tzinfo] | None = None,
    ) -> None:
        self.mappings = tuple(mappings)
        self.stated = dict(stated or {})
        self.zones = dict(zones or {})
        self._facts: Counter[Mapping] = Counter()
        self._fitted: set[Mapping] = set()
        self._empty: dict[Mapping, Counter[Path]] = {}
        self._names: dict[str, None] = {}
        self._unfit = 0
        self._malformed = 0

    @property
    def columns(self) -> frozenset[str]:
        """The columns that mappings need."""
        paths = (path for mapping in self.mappings for path in mapping.paths)
        return frozenset(name for path in paths for name in (path.column, path.whole))

    def met(self, names: Iterable[str]) -> None:
        """Columns or keys were seen."""
        self._names.update((name, None) for name in names)

    def fitted(self, mapping: Mapping, facts: int) -> None:
        """A mapping fitted, and made some facts."""
        self._fitted.add(mapping)
        self._facts[mapping] += facts

    def empty(self, mapping: Mapping, path: Path, rows: int) -> None:
        """Counts rows that gave no fact because a cell was empty or missing."""
        self._empty.setdefault(mapping, Counter())[path] += rows

    def unfit(self, messages: int) -> None:
        """Some messages fitted no mapping."""
        self._unfit += messages

    def malformed(self) -> None:
        """A message came that could not be read."""
        self._malformed += 1

    def save(self) -> dict[str, Any]:
        """What became of the mappings, as JSON; they and their paths are numbers."""
        numbers = {mapping: number for number, mapping in enumerate(self.mappings)}
        return {
            "facts": [[numbers[mapping], self._facts[mapping]] for mapping in self.mappings if mapping in self._fitted],
            "empty": [
                [numbers[mapping], mapping.paths.index(path), rows]
                for mapping, counts in self._empty.items()
                for path, rows in counts.items()
            ],
            "names": [*self._names],
            "unfit": self._unfit,
            "malformed": self._malformed,
        }

    def merge(self, saved: Table[str, Any]) -> None:
        """Adds what became of the same mappings elsewhere.

        >>> from thalweg.connectors.mapping.read_mapping import read_mappings
        >>> here, there = (Tally(read_mappings("temp(device, v) at ts")) for _ in range(2))
        >>> there.fitted(there.mappings[0], 3); here.merge(there.save()); list(here.summary())
        []
        """
        for number, facts in saved["facts"]:
            self.fitted(self.mappings[number], facts)
        for number, path, rows in saved["empty"]:
            self.empty(self.mappings[number], self.mappings[number].paths[path], rows)
        self.met(saved["names"])
        self._unfit += saved["unfit"]
        self._malformed += saved["malformed"]

    def summary(self, is_resumed: bool = False) -> Iterator[Diagnostic]:
        """The warnings at the end of a run; one that `is_resumed` may have fitted mappings before."""
        for mapping in self.mappings:
            if mapping in self._fitted:
                if self._passed_over(mapping):
                    yield self._without_value(mapping)
            elif not is_resumed:
                yield self._never_fitted(mapping, "never fitted")

    def counts(self) -> Iterator[Counted]:
        """The warnings of a live run while it goes on: messages that fit no mapping, and rows without a value.

        A mapping that others leave nothing for may be for messages that are rare: it has time.
        """
        for mapping in self.mappings:
            if mapping in self._fitted:
                yield Counted((mapping, "W307"), self._passed_over(mapping), partial(self._without_value, mapping))
            elif self._names:
                misfits = f" ({_counted(self._unfit, 'message')} fitted no mapping)" if self._unfit else ""
                warning = partial(self._never_fitted, mapping, f"has not fitted yet{misfits}")
                yield Counted((mapping, "W306"), self._unfit or 1, warning, 0.0 if self._unfit else _RARE)

    def _passed_over(self, mapping: Mapping) -> int:
        # A copy: another thread may be reading.
        return sum(tuple(self._empty.get(mapping, _NONE).values()))

    def _without_value(self, mapping: Mapping) -> Diagnostic:
        empty = self._empty.get(mapping, _NONE).copy()
        where = ", ".join(f"{path.quoted} in {_counted(count, 'row')}" for path, count in empty.most_common(3))
        facts, rows = _counted(self._facts[mapping], "fact"), sum(empty.values())
        return Diagnostic("W307", f"`{mapping}` made {facts} and passed over {rows}: no value for {where}")

    def _never_fitted(self, mapping: Mapping, how: str) -> Diagnostic:
        tied = "" if mapping.stream is None else f" the stream `{mapping.stream}`"
        missing = [path.quoted for path in mapping.paths if path.column not in self._names]
        notes = []
        if missing and self._names:
            notes.append(f"nothing has {' and '.join(missing)}")
        if self._names:
            names = list(self._names)
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            notes.append(f"the names that came are {', '.join(names[:_MOST_NAMES])}{more}")
        help_ = "no table or message came"
        if self._names:
            help_ = "write the names as the table or the message has them"
        elif self._malformed:
            help_ = f"none fitted: {_counted(self._malformed, 'message')} came, and none could be read"
        return Diagnostic("W306", f"`{mapping}` {how}{tied}", mapping.span, help_, tuple(notes))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
