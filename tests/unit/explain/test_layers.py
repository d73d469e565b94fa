"""Where boxes and arrows go."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from thalweg.explain.layers import BoxLayout, lay_out

BOXES = "abcdefgh"


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, int], dict[str, float], list[tuple[str, str]]]:
    """Boxes in columns, and arrows in both directions between different columns."""
    columns = {name: draw(st.integers(0, 3)) for name in BOXES}
    heights = {name: float(draw(st.integers(10, 60))) for name in BOXES}
    pairs = st.tuples(st.sampled_from(BOXES), st.sampled_from(BOXES))
    arrows = draw(st.lists(pairs.filter(lambda pair: columns[pair[0]] != columns[pair[1]]), max_size=12))
    return columns, heights, arrows


def taken(found: BoxLayout, columns: dict[str, int], heights: dict[str, float]) -> list[tuple[int, float, float]]:
    """Every stretch of a column that a box or an arrow takes."""
    boxes = [(columns[name], y - heights[name] / 2, y + heights[name] / 2) for name, y in found.boxes.items()]
    return boxes + [(column, y, y) for joints in found.joints for column, y in joints]


@given(graphs())
def test_nothing_lies_on_anything(graph: tuple[dict[str, int], dict[str, float], list[tuple[str, str]]]) -> None:
    columns, heights, arrows = graph
    found = lay_out(columns, heights, arrows)
    for one, other in combinations(taken(found, columns, heights), 2):
        assert one[0] != other[0] or one[2] < other[1] or other[2] < one[1]
    assert all(0 <= y <= found.bottom for y in found.boxes.values())


def test_an_arrow_has_a_joint_in_every_column_that_it_passes() -> None:
    columns = {"a": 0, "b": 1, "c": 2}
    found = lay_out(columns, dict.fromkeys(columns, 20.0), [("a", "c"), ("c", "b"), ("a", "b")])
    assert [[column for column, _ in joints] for joints in found.joints] == [[1], [2, 1], []]


def test_crossings_are_undone() -> None:
    columns = {"a": 0, "b": 0, "c": 1, "d": 1}
    found = lay_out(columns, dict.fromkeys(columns, 20.0), [("a", "d"), ("b", "c")])
    assert (found.boxes["a"] < found.boxes["b"]) == (found.boxes["d"] < found.boxes["c"])
