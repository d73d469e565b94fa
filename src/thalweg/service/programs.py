"""The programs of a service, by their names: what is PUT, checked, listed and deleted."""

from collections.abc import Iterator
from typing import Any

from thalweg.service.registered_program import RegisteredProgram


class Programs:
    """All programs. A `body` is the decoded JSON of a request, of any shape: what is wrong with it is refused (400)."""

    def check(self, body: object, program: str | None = None) -> dict[str, Any]:
        """The answer of `POST /v1/check`; for a `program` also what would go on and what would begin."""
        raise NotImplementedError

    def put(self, name: str, body: object, if_match: int | None = None) -> tuple[RegisteredProgram, bool]:
        """Registers a program, or replaces it; and whether it is new. The same body again changes nothing."""
        raise NotImplementedError

    def get(self, name: str) -> RegisteredProgram:
        """The program of a name; `RefusedError` (404) where there is none."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[RegisteredProgram]:
        """All of them, by name."""
        raise NotImplementedError

    def readers(self, stream: str) -> list[str]:
        """The names of the programs that read a stream."""
        raise NotImplementedError

    def delete(self, name: str) -> bool:
        """Stops a program and removes its answers; False where it is still `stopping` (202)."""
        raise NotImplementedError
