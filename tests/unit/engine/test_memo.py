"""Calls that kernels ask Python for: each once, wherever a rule was, and however long the dictionary lives."""

from collections.abc import Iterable
from unittest.mock import patch

from workbench import Workbench, arrive

from thalweg.diagnostics import Source
from thalweg.engine import memo
from thalweg.engine.calls import ENTRY
from thalweg.ir.text import show
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.lars import read
from thalweg.model.fact import Fact


def engine(rules: str) -> Engine:
    return Engine(read(Source("memo.lars", rules)))


def facts(predicate: str, terms: Iterable[str]) -> list[Fact]:
    return [Fact(predicate, (term,)) for term in terms]


def test_each_call_is_asked_for_once() -> None:
    bench = Workbench("up(Y) :- p(X), Y = upper(X). loud(X) :- p(X), X = lower(X), starts_with(X, a).")
    assert list(bench.calls(0, arrive("p", "abc", "abd"))) == ["a result"] * 6
    assert bench.holds("up/1 derived") == {'"ABC"', '"ABD"'}
    assert list(bench.calls(1, arrive("p", "abc", "abd"))) == []
    assert bench.holds("loud/1 derived") == {"abc", "abd"}


def test_a_rule_goes_on_where_it_was() -> None:
    """One row of `k` meets five hundred of `p`; to meet them anew after each call would take many pauses."""
    bench = Workbench("up(Y) :- k(Z), p(X) in [9], Y = concat(X, Z).", steps=50)
    names = [f"n{number}" for number in range(500)]
    bench.run(0, arrive("p", *names))
    needs = list(bench.calls(1, arrive("k", "z")))
    assert needs.count("a result") == 500
    assert needs.count("a pause") < 50
    assert bench.holds("up/1 derived") == {f"{name}z" for name in names}


def test_texts_that_begin_alike_are_asked_for() -> None:
    bench = Workbench("less(X,Y) :- p(X), q(Y), X < Y.")
    assert list(bench.calls(0, arrive("p", "a", "ab"), arrive("q", "b"))) == []
    assert bench.holds("less/2 derived") == {"a b", "ab b"}
    assert list(bench.calls(1, arrive("p", "northern1"), arrive("q", "northern2", "northern1"))) == ["a result"]
    assert bench.holds("less/2 derived") == {"northern1 northern2"}


def test_a_result_does_not_outlive_the_words_that_it_is_about() -> None:
    """The word of a name that is gone is given to the next one."""
    running = engine("up(Y) :- p(X), Y = upper(X).")
    for tick, name in enumerate(("abc", "other", "third")):
        running.advance(2 * tick, facts("p", [name]))
        assert [str(fact) for fact in running.facts()] == [f'up("{name.upper()}")']
        running.advance(2 * tick + 1)
        running.collect()


def test_the_table_stays_small() -> None:
    with patch.object(memo, "_MOST", 2 * memo._FIRST):
        running = engine("up(Y) :- p(X), Y = upper(X).")
        for tick in range(5):
            names = [f"n{tick}x{number}" for number in range(100)]
            running.advance(tick, facts("p", names))
            assert {str(fact) for fact in running.facts()} == {f'up("{name.upper()}")' for name in names}
        assert running.memo.size <= 2 * memo._FIRST * ENTRY * 8


def test_what_has_no_common_order_is_noted() -> None:
    running = engine("less(X) :- p(X), X < 5. less(X) :- p(X), X < 7. more(X) :- p(X), X != a, 5 > X, X > 1.")
    running.advance(0, facts("p", ["3"]))
    assert running.incomparable == []
    running.advance(1, facts("p", ["a"]))
    running.advance(2, facts("p", ["b", "-4"]))
    running.dictionary.collect(running.words_in_use())
    noted = {(show(one.comparison), one.left, one.right) for one in running.incomparable}
    assert noted == {("X < 5", "a", "5"), ("X < 7", "a", "7"), ("5 > X", "5", "b")}
    # Planned again: a stream brings what rules derive.
    running.advance(3, [*facts("less", ["1"]), *facts("p", ["<c>"])])
    assert {(show(one.comparison), one.left, one.right) for one in running.incomparable} == noted
