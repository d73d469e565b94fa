"""Memory along a run."""

from thalweg.bench.command import flatness


def test_memory_that_settles_is_flat() -> None:
    assert flatness([(0, 10), *((n, 100) for n in range(1, 40))]) == 0


def test_memory_that_grows_is_not() -> None:
    assert flatness([(n, 100 + n) for n in range(100)]) > 0.5
