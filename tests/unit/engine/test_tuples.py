"""Windows by key hold the last facts of each key, however they come."""

from hypothesis import given
from hypothesis import strategies as st

from thalweg import api
from thalweg.engine.tuples import KeyedState
from thalweg.ir.nodes import KeyedWindow
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.planning.rule_plan import KeyedFeed, Relation

P = Predicate("p", 3)
Row = tuple[int, ...]


def state(size: int, by: tuple[int, ...]) -> KeyedState:
    return KeyedState(KeyedFeed(KeyedWindow(size, by), P, None, Relation(0, "p", 4)))


def last_of_each(rows: list[Row], size: int, by: tuple[int, ...]) -> set[Row]:
    groups: dict[Row, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in by), []).append(row)
    return {row for group in groups.values() for row in group[-size:]}


words = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3))


@given(
    st.integers(1, 4),
    st.sampled_from([(0,), (1, 0), (0, 1, 2)]),
    st.lists(st.lists(st.lists(words, max_size=8), max_size=3), max_size=8),
)
def test_what_is_in_is_the_last_of_each_key(size: int, by: tuple[int, ...], ticks: list[list[list[Row]]]) -> None:
    window, inside, arrived = state(size, by), set[Row](), list[Row]()
    for tick, batches in enumerate(ticks):
        given = [Batch({P: [word for row in batch for word in row]}) for batch in batches]
        came, went = ({tuple(row) for row in rows.tolist()} for rows in window.advance(tick, given))
        assert not came & inside
        assert went <= inside
        inside = (inside | came) - went
        arrived = list(dict.fromkeys([*arrived, *((*row, tick << 2 | 1) for batch in batches for row in batch)]))
        assert inside == last_of_each(arrived, size, by)
        assert [tuple(row) for row in window.rows.tolist()] == [row for row in arrived if row in inside]
        again = state(size, by)
        again.take(window.rows)
        assert again.rows.tolist() == window.rows.tolist()


def test_what_grows_is_the_number_of_keys() -> None:
    window = state(2, (0,))
    for tick in range(100):
        window.advance(tick, [Batch({P: [word for key in range(1000) for word in (key, tick, 0)]})])
    assert len(window.rows) == 2000
    few = window.size
    for tick in range(100, 200):
        window.advance(tick, [Batch({P: [word for key in range(1000) for word in (key, tick, 0)]})])
    assert window.size == few


def test_the_order_of_arrival_is_saved() -> None:
    program = api.load("now(D,V) :- temp(D,V) in [2 # by D].\n")
    engine = Engine(program)
    engine.advance(1, [Fact("temp", ("a", value)) for value in "312"])
    resumed = Engine.restore(program, engine.snapshot())
    for each in (engine, resumed):
        (change,) = each.advance(2, [Fact("temp", ("a", "4"))])
        assert [str(fact) for fact in change.end] == ["now(a,1)"]


def test_a_reason_names_the_tick() -> None:
    engine = Engine(api.load("now(D,V) :- temp(D,V) in [1 # by D].\n"))
    engine.advance(3, [Fact("temp", ("a", "20"))])
    engine.advance(9, [Fact("temp", ("b", "20"))])
    proof = engine.why(Fact("now", ("a", "20")))
    assert proof is not None
    assert proof.because[0].claim.endswith("at 3")
