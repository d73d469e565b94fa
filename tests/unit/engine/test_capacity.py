"""Programs that are larger than people write: answered, or refused with a number, and never anything else."""

import pytest

from thalweg.diagnostics import RejectedError, Source
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.languages.lars import read
from thalweg.model.fact import Fact
from thalweg.planning.check_capacity import MOST_COLUMNS, MOST_LOOKUPS
from thalweg.planning.passes import check


def variables(count: int, letter: str = "X") -> str:
    return ",".join(f"{letter}{number}" for number in range(count))


WIDE = variables(99, "Z")


def numbers(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count)))


def answers(text: str, *facts: Fact) -> list[str]:
    """What holds at a tick at which the facts come, checked to have gone when no window has them any more."""
    engine = Engine(read(Source("large.lars", text)))
    (change,) = engine.advance(1, facts)
    begun = sorted(map(str, change.begin))
    ended = [str(fact) for each in engine.advance(50) for fact in each.end]
    assert sorted(ended) == begun
    return begun


@pytest.mark.parametrize("columns", [20, 34, 60, 200, MOST_COLUMNS])
def test_wide_heads(columns: int) -> None:
    text = f"h({variables(columns)}) :- p({variables(columns)}) in [2]."
    assert answers(text, Fact("p", numbers(columns))) == [f"h({','.join(numbers(columns))})"]


@pytest.mark.parametrize("columns", [17, 40, MOST_COLUMNS // 2])
def test_wide_joins(columns: int) -> None:
    left, right = variables(columns), variables(columns, "Y")
    text = f"h({left},{right}) :- p({left}) in [2], q({right})."
    (found,) = answers(text, Fact("p", numbers(columns)), Fact("q", numbers(columns)))
    assert found == f"h({','.join(2 * numbers(columns))})"


@pytest.mark.parametrize("atoms", [30, 66, 130])
@pytest.mark.parametrize("window", ["", " in [2]"])
def test_long_bodies(atoms: int, window: str) -> None:
    body = ", ".join(f"e(X{number},X{number + 1}){window}" for number in range(atoms))
    text = f"h(X0,X{atoms}) :- {body}."
    ring = [Fact("e", (str(number), str((number + 1) % 3))) for number in range(3)]
    assert answers(text, *ring) == sorted(f"h({start},{(start + atoms) % 3})" for start in range(3))


def test_long_bodies_under_negation() -> None:
    body = ", ".join(f"e(X{number},X{number + 1}), not f(X{number},X{number + 1})" for number in range(66))
    assert answers(f"h(X0) :- {body}.", Fact("e", ("a", "a")), Fact("f", ("a", "b"))) == ["h(a)"]


def test_many_variables() -> None:
    body = ", ".join(f"p{number}(X{number},Y{number})" for number in range(70))
    facts = [Fact(f"p{number}", ("a", str(number))) for number in range(70)]
    assert answers(f"h(X0,Y69) :- {body}.", *facts) == ["h(a,69)"]


def test_many_tuple_windows() -> None:
    text = "\n".join(f"t{size}(X) :- p(X) in [{size} #]." for size in range(1, 71))
    engine = Engine(read(Source("large.lars", text)))
    for tick in range(1, 4):
        engine.advance(tick, [Fact("p", (str(tick),))])
    expected = [f"t{size}({tick})" for size in range(1, 71) for tick in range(1, 4) if tick > 3 - size]
    assert sorted(map(str, engine.facts())) == sorted(expected)


@pytest.mark.parametrize("rules", [300, 1_000])
def test_many_rules_over_one_predicate(rules: int) -> None:
    text = "\n".join(f"t{number}(X) :- p(X,Y), q{number}(Y)." for number in range(rules))
    facts = [Fact(f"q{number}", ("b",)) for number in range(rules)]
    assert answers(text, Fact("p", ("a", "b")), *facts) == sorted(f"t{number}(a)" for number in range(rules))


def test_more_ways_to_look_something_up_than_there_are_indexes() -> None:
    keys = [[column for column in range(9) if number >> column & 1] for number in range(1, 512)]
    rules, facts = [], [Fact("p", numbers(9)), Fact("p", ("0",) * 9)]
    for number, key in enumerate(keys):
        known = ",".join(f"K{column}" for column in key)
        args = ",".join(f"K{column}" if column in key else f"X{column}" for column in range(9))
        rules.append(f"t{number}({known}) :- q{number}({known}), p({args}).")
        facts.append(Fact(f"q{number}", tuple(str(column) for column in key)))
    text = "\n".join(rules)
    expected = [f"t{number}({','.join(map(str, key))})" for number, key in enumerate(keys)]
    assert answers(text, *facts) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"h({variables(257)}) :- p({variables(257)}).", "`p/257` has 257 arguments; the limit is 256"),
        (f"h :- p({','.join(['1'] * 300)}).", "`p/300` has 300 arguments; the limit is 256"),
        (
            f"h :- p({variables(256)}) at U in [3], q(U).",
            "`p/256` has 257 columns, the tick included; the limit is 256",
        ),
        (
            f"h(N) :- N = count{{{variables(200)},Y,{WIDE} : p({variables(200)}), q(Y,{WIDE})}}.",
            "an aggregate or negated formula of this rule has 300 columns; the limit is 256",
        ),
        (
            f"h(X0) :- {', '.join(f'e(X{number},X{number + 1})' for number in range(600))}.",
            f"this rule joins 600 formulas; the limit is {MOST_LOOKUPS}",
        ),
        (
            f"h(X) :- p(X), {', '.join(f'V{number} = X + {number}' for number in range(500))}.",
            "this rule needs 1,502 variables and intermediate values; the limit is 1,024",
        ),
        (
            f"h :- p({variables(256)}) always in [3 step 2].",
            "`p/256` has 257 columns, the tick included; the limit is 256",
        ),
        (
            f"h :- p(X), {', '.join(f'0 < X{chr(43) + str(number)}' * 1 + ' + 1' * 60 for number in range(10))}.",
            "this rule needs 1,222 variables and intermediate values; the limit is 1,024",
        ),
    ],
)
def test_what_is_too_large_is_refused(text: str, message: str) -> None:
    program = read(Source("large.lars", text))
    assert message in [found.message for found in check(program)]
    with pytest.raises(RejectedError) as refused:
        Engine(program)
    assert {found.code for found in refused.value.diagnostics} == {"E209"}
