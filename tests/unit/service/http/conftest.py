"""One service for all tests that only look at what it answers."""

from collections.abc import Iterator

import pytest

from serving import Serving, serving


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A service with a stream, `north`, and a program that reads it, `jam`."""
    with serving(tmp_path_factory.mktemp("served") / "data") as service:
        service.client.put("/v1/streams/north", json={}).raise_for_status()
        service.put_program("jam")
        service.post("slow(a) at 1.\nslow(b) at 3.\nslow(a) at 30.\n")
        service.lines("jam", '"t": 14')
        yield service
