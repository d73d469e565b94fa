"""Facts that were shed for want of memory: reported when it begins, and summed up at the end of a run."""

from collections.abc import Callable, Iterable
from typing import Final

from thalweg.diagnostics import Diagnostic

_HELP: Final = "raise `--memory`, or shorten the windows"


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

    def summary(self) -> Diagnostic | None:
        """What to report at the end; nothing where nothing was shed."""
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
