"""Values that are sent to other processes while this one goes on using them."""

from dataclasses import fields
from typing import Any


class Shipped:
    """A frozen dataclass of which only the fields are sent: what it has computed of them is computed there again.

    Another thread may compute something just while it is written, and what is written must not change.

    >>> from dataclasses import dataclass
    >>> from functools import cached_property
    >>> @dataclass(frozen=True)
    ... class Sum(Shipped):
    ...     numbers: tuple[int, ...]
    ...     @cached_property
    ...     def total(self) -> int:
    ...         return sum(self.numbers)
    >>> value = Sum((1, 2))
    >>> value.total, value.__getstate__()
    (3, {'numbers': (1, 2)})
    """

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
