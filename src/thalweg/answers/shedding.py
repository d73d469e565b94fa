"""Facts that were shed for want of memory: which answers lack them, and what is reported of them."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

import numpy as np

from thalweg.diagnostics import Diagnostic
from thalweg.model.arrow import Lists

_HELP: Final = "raise `--memory`, or shorten the windows"

# Of one predicate; a run in which facts are shed again and again takes the rest for one.
_MOST_SPANS: Final = 16


class Shedding:
    """Follows what is missing from the answers of a run; reports the first time that something is.

    >>> from thalweg.diagnostics import Diagnostic
    >>> shedding = Shedding(lambda found: print(found.message))
    >>> shedding.see(6, (), ())
    >>> shedding.see(7, ("p/1",), ("a/1",))
    facts of `p/1` were shed at tick 7, because the memory budget was exceeded: `a/1` may lack facts
    >>> shedding.see(9, (), ())
    >>> shedding.summary().message
    'answers were partial between ticks 7 and 8, because facts of `p/1` were shed'
    """

    def __init__(self, report: Callable[[Diagnostic], None]) -> None:
        self._report = report
        self._predicates: set[str] = set()
        self._since: int | None = None
        self._last = -1
        self._missing = False

    def see(self, tick: int, shed: Iterable[str], unsure: Iterable[str]) -> None:
        """Takes in what is missing at a tick: of which predicates facts were shed, and which lack facts by that."""
        before, self._missing = self._missing, False
        for predicate in shed:
            self._predicates.add(predicate)
            self._missing = True
        if self._missing and self._since is None:
            self._since = tick
            self._report(_began(tick, self._predicates, unsure))
        if self._missing:
            self._last = tick
        elif before:
            self._last = tick - 1

    def save(self) -> dict[str, Any]:
        """The predicates that were shed, and when, as JSON."""
        names = sorted(self._predicates)
        return {"predicates": names, "since": self._since, "last": self._last, "missing": self._missing}

    def load(self, saved: dict[str, Any]) -> None:
        """Follows on where another one was saved."""
        self._predicates, self._since = set(saved["predicates"]), saved["since"]
        self._last, self._missing = saved["last"], saved["missing"]

    def summary(self) -> Diagnostic | None:
        """The warning at the end of a run; None where nothing was shed."""
        if self._since is None:
            return None
        names = _listed(self._predicates)
        if self._missing:
            message = f"answers are partial from tick {self._since} to the end, because facts of {names} were shed"
        else:
            message = (
                f"answers were partial between ticks {self._since} and {self._last}, because facts of {names} were shed"
            )
        return Diagnostic("W415", message, help=_HELP)


def _began(tick: int, shed: Iterable[str], unsure: Iterable[str]) -> Diagnostic:
    return Diagnostic(
        "W414",
        f"facts of {_listed(shed)} were shed at tick {tick}, because the memory budget was exceeded:"
        f" {_listed(unsure)} may lack facts",
        notes=(
            "everything that is output is true; what depends on `not` or an aggregate over facts that were shed is"
            " withheld until they would have left their windows, or longer if more facts are shed",
        ),
        help=_HELP,
    )


def _listed(predicates: Iterable[str]) -> str:
    """Predicates as they stand in a sentence.

    >>> _listed({"q/2", "p/1"})
    '`p/1`, `q/2`'
    """
    return ", ".join(f"`{predicate}`" for predicate in sorted(predicates))


Span = tuple[str, int, int]
"""A predicate, and the first and the last tick at which facts of it were missing."""


class MissingFacts:
    """When facts of which predicates were missing; `lasting`: remembered for answers that come later.

    >>> missing = MissingFacts()
    >>> missing.see(4, ("p/1",))
    >>> missing.up_to(6)
    [('p/1', 4, 6)]
    >>> missing.see(9, ())
    >>> missing.up_to(12), missing.up_to(15)
    ([('p/1', 7, 8)], [])
    """

    def __init__(self, lasting: bool = False) -> None:
        self._lasting = lasting
        self._spans: dict[str, list[tuple[int, int]]] = {}
        self.since: dict[str, int] = {}

    def __bool__(self) -> bool:
        """Whether something was missing that answers still to come must say, or is missing now."""
        return bool(self._spans or self.since)

    def see(self, tick: int, predicates: Collection[str]) -> None:
        """From this tick on, facts of these predicates are missing, and of no others."""
        names = set(predicates)
        for name in self.since.keys() - names:
            self._close(name, tick - 1)
            del self.since[name]
        self.since = dict.fromkeys(names, tick) | self.since

    def _close(self, name: str, last: int) -> None:
        first = self.since[name]
        if first > last:
            return
        spans = self._spans.setdefault(name, [])
        if spans and (spans[-1][1] >= first - 1 or len(spans) == _MOST_SPANS):
            first = spans.pop()[0]
        spans.append((first, last))

    def up_to(self, last: int) -> list[Span]:
        """What was missing since the last call, or ever where it is lasting, as far as time has come."""
        if not (self._spans or self.since):
            return []
        for name in self.since:
            self._close(name, last)
        self.since = dict.fromkeys(self.since, last + 1)
        spans = self.remembered
        if not self._lasting:
            self._spans = {}
        return spans

    @property
    def remembered(self) -> list[Span]:
        """What was missing before the ticks that are still to come."""
        return [(name, *span) for name, spans in sorted(self._spans.items()) for span in spans]

    def save(self) -> Lists:
        """The spans of missing facts as columns, to be kept between batches."""
        return {
            "missing": [name for name, _, _ in self.remembered],
            "missing_ticks": np.array([ticks for _, *ticks in self.remembered], dtype=np.int64).reshape(-1),
            "missing_now": list(self.since),
            "missing_since": np.array(list(self.since.values()), dtype=np.int64),
        }

    def load(self, saved: Lists) -> None:
        """Goes on where another one was saved."""
        ticks = saved["missing_ticks"].tolist()
        for name, first, last in zip(saved["missing"].to_pylist(), ticks[::2], ticks[1::2], strict=True):
            self._spans.setdefault(name, []).append((first, last))
        self.since = dict(zip(saved["missing_now"].to_pylist(), saved["missing_since"].tolist(), strict=True))


def shed_between(missing: Iterable[Span], first: int, last: int) -> tuple[str, ...]:
    """The predicates of which facts were missing at some tick between two: these make an answer partial.

    >>> shed_between([("p/1", 3, 4), ("r/1", 6, 9)], 5, 7)
    ('r/1',)
    """
    return tuple(sorted({name for name, since, until in missing if since <= last and until >= first}))
