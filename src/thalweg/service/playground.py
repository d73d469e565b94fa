"""Programs tried out once: each in a process of its own, with limits of time and memory, which opens no file.

    {"sources": […], "stream": {"name": "s.facts", "text": "p(a) at 3."}, "to": 5, "why": ["q(a)"]}
    becomes {"lines": […], "proofs": {"q(a)": {…}}, "history": {…}, "diagnostics": []}

What is evaluated is not trusted: it may run for ever, and take all memory that it gets. So a process begins for each
request (`playground_process`), and ends, with those that it has started, when the request does.
"""

from collections.abc import Mapping
from typing import Any


class Playground:
    """Evaluates what requests hold; `most` at once, and a few more wait."""

    def __init__(self, most: int = 2, waiting: int = 8) -> None:
        raise NotImplementedError

    def evaluate(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of a request, after seconds perhaps: call it from a thread that may wait.

        `RefusedError`: 400 where something is rejected, 408 where it took too long, 413 where it is too large or gives
        too much, 503 where too many wait already, or the service ends.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Ends what is being evaluated, and refuses what comes."""
        raise NotImplementedError
