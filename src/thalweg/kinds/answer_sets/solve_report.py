"""Which part of a program is slow: for each window and in all, what every community had to do.

{"t":4,"window":[2,4],"seconds":0.003,"communities":[{"inputs":["p/1"],"facts":2,"seconds":0.003,"answers":1}]}
{"windows":20,"seconds":0.06,"communities":[{"inputs":["p/1"],"facts":40,"seconds":0.06,"slowest":0.004}]}
"""

import json
from collections.abc import Callable
from typing import Any, Final

from thalweg.answers.record import Answer
from thalweg.kinds.answer_sets.windowed import Answered, PieceShare

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class SolveReport:
    """Writes a line for each window, and one at the end.

    >>> report = SolveReport(lambda line: print(line, end=""))
    >>> answered = Answered((("q",),), shares=(PieceShare(("p/1",), 2, 0.003, 1),))
    >>> report.take(Answer("answer sets", 4, (("q",),), 2), answered)
    {"t":4,"window":[2,4],"seconds":0.003,"communities":[{"inputs":["p/1"],"facts":2,"seconds":0.003,"answers":1}]}
    >>> report.finish()
    {"windows":1,"seconds":0.003,"communities":[{"inputs":["p/1"],"facts":2,"seconds":0.003,"slowest":0.003}]}
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._windows = 0
        self._seconds = 0.0
        self._totals: dict[tuple[int, tuple[str, ...]], dict[str, Any]] = {}

    def take(self, solution: Answer, answered: Answered) -> None:
        """Tells of one window."""
        self._windows += 1
        pieces = [
            {"inputs": share.inputs, "facts": share.facts, "seconds": _rounded(share.seconds), "answers": share.answers}
            for share in answered.shares
        ]
        window = {"t": solution.t, "window": [solution.start, solution.t]}
        self._line(window | {"seconds": _rounded(answered.seconds), "communities": pieces})
        self._seconds += answered.seconds
        for number, share in enumerate(answered.shares):
            self._add(number, share)

    def _add(self, number: int, share: PieceShare) -> None:
        start = None if share.seconds is None else 0.0
        total = self._totals.setdefault(
            (number, share.inputs), {"inputs": share.inputs, "facts": 0, "seconds": start, "slowest": start}
        )
        total["facts"] += share.facts
        if share.seconds is not None:
            total["seconds"] += share.seconds
            total["slowest"] = max(total["slowest"], share.seconds)

    def finish(self) -> None:
        """Tells of all windows, if there were any: a run that was over before has none."""
        if not self._windows:
            return
        pieces = [
            total | {"seconds": _rounded(total["seconds"]), "slowest": _rounded(total["slowest"])}
            for total in self._totals.values()
        ]
        self._line({"windows": self._windows, "seconds": _rounded(self._seconds), "communities": pieces})

    def _line(self, data: dict[str, Any]) -> None:
        self._write(f"{_encode(data)}\n")


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
