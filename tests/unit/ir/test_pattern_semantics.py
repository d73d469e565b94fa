"""What patterns mean, row by row. In a stream, `A1` is an event of the name A at tick 1, and `P1-4` one from 1 to 4."""

import pytest

from thalweg.ir.pattern_semantics import Instance, Match, Solution, matches, solutions
from thalweg.ir.patterns import (
    Absent,
    Both,
    Clause,
    Either,
    Filter,
    Modifier,
    Occurs,
    Operand,
    Pattern,
    Sequence,
    Triple,
)

LOCATION = Triple("?o", "<at>", "?loc")


def seq(*operands: Operand) -> Sequence:
    return Sequence(operands)


def both(*operands: Operand) -> Both:
    return Both(operands)


def either(*operands: Operand) -> Either:
    return Either(operands)


def a(place: int = 0) -> Occurs:
    return Occurs("A", place)


def b(place: int = 1) -> Occurs:
    return Occurs("B", place)


def no(place: int = 2, name: str = "N") -> Absent:
    return Absent(Occurs(name, place))


def events(stream: str) -> dict[str, list[tuple[Instance, Solution]]]:
    found: dict[str, list[tuple[Instance, Solution]]] = {}
    for word in stream.split():
        start, _, end = word[1:].partition("-")
        event = Instance(word[0], int(start), int(end or start), individual=word)
        found.setdefault(word[0], []).append((event, ()))
    return found


def found(pattern: Pattern, stream: str, last: int = 99) -> list[str]:
    told = matches(pattern, events(stream), last, lambda *_: True)
    return [" ".join(event.individual for event in one.events) for one in told]


FIGURE = "A1 B2 A3 A4 B5"


@pytest.mark.parametrize(
    ("modifier", "expected"),
    [
        ("EVERY", ["A1 B2", "A3 B5", "A4 B5"]),
        (None, ["A1 B2"]),
        ("FIRST", ["A1 B2", "A1 B5"]),
        ("LAST", ["A1 B2", "A4 B5"]),
    ],
)
def test_modifiers_on_the_stream_of_figure_2(modifier: Modifier | None, expected: list[str]) -> None:
    assert found(Pattern(seq(a(), b()), modifier), FIGURE) == expected


def test_the_bound_includes_both_ends() -> None:
    twice = Pattern(seq(a(0), a(1)), "EVERY", within=2)
    assert found(twice, "A1 A3 A6") == ["A1 A3"]


def test_one_tick_has_no_order() -> None:
    assert found(Pattern(seq(a(), b()), "EVERY"), "A1 B1") == []


def test_the_same_event_may_fill_both_places_of_and() -> None:
    assert found(Pattern(both(a(0), a(1)), "EVERY"), "A1") == ["A1 A1"]


def test_every_event_of_and_can_begin() -> None:
    assert found(Pattern(both(a(), b()), "EVERY"), "B1 A2 A3 B4") == ["A2 B1", "A2 B4", "A3 B4"]


def test_or_takes_either() -> None:
    assert found(Pattern(either(a(), b()), "EVERY"), "A1 B1 C2 B3") == ["A1", "B1", "B3"]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("A1 N2 B3", []),
        ("A1 N1 B3", ["A1 B3"]),
        ("A1 N3 B3", ["A1 B3"]),
        ("A1 N0 B3", ["A1 B3"]),
        ("A1 N4 B3", ["A1 B3"]),
        ("A1 N2 B3 A4 B5", ["A4 B5"]),
        ("A2 N1-3 B5", ["A2 B5"]),
        ("A1 N2-4 B5", []),
        ("A1 N2-5 B5", ["A1 B5"]),
    ],
)
def test_not_between(stream: str, expected: list[str]) -> None:
    assert found(Pattern(seq(a(), no(2), b()), "EVERY"), stream) == expected


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("A1", ["A1"]),
        ("A1 N4", []),
        ("A1 N5", ["A1"]),
        ("A1 N1", ["A1"]),
        ("A1 N4-5", ["A1"]),
        ("A1-3 N4", []),
        ("A1-3 N5", ["A1-3"]),
    ],
)
def test_not_behind(stream: str, expected: list[str]) -> None:
    assert found(Pattern(seq(a(), no()), "EVERY", within=3), stream) == expected


def test_a_match_with_an_open_not_ends_when_its_time_is_over() -> None:
    pattern = Pattern(seq(a(), no()), "EVERY", within=3)
    assert found(pattern, "A1", last=3) == []
    (match,) = matches(pattern, events("A1"), 4, lambda *_: True)
    assert (match.start, match.end) == (1, 4)


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("B5", ["B5"]),
        ("N2 B5", []),
        ("N1 B5", ["B5"]),
        ("N5 B5", ["B5"]),
        ("N1-4 B5", ["B5"]),
        ("N2-4 B5", []),
    ],
)
def test_not_before(stream: str, expected: list[str]) -> None:
    assert found(Pattern(seq(no(), b()), "EVERY", within=3), stream) == expected


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("A5", ["A5"]),
        ("N2 A5", []),
        ("N5 A5", []),
        ("A5 N8", []),
        ("N1 A5 N9", ["A5"]),
        ("N1-5 A5", ["A5"]),
    ],
)
def test_not_beside(stream: str, expected: list[str]) -> None:
    assert found(Pattern(both(a(), no()), "EVERY", within=3), stream) == expected


def test_a_not_counts_only_for_matches_that_took_its_branch() -> None:
    pattern = Pattern(either(seq(a(0), no(1), b(2)), seq(a(3), Occurs("C", 4))), "EVERY")
    assert found(pattern, "A1 N2 B3 C4") == ["A1 C4"]


def test_an_open_not_in_a_branch_delays_only_that_branch() -> None:
    pattern = Pattern(either(seq(a(0), no(1)), b(2)), "EVERY", within=5)
    assert found(pattern, "A1 B2", last=5) == ["B2"]
    assert found(pattern, "A1 B2", last=6) == ["B2", "A1"]


def test_first_takes_of_those_that_end_first_so_nothing_is_taken_back() -> None:
    pattern = Pattern(either(seq(a(0), b(1), no(2)), seq(Occurs("C", 3), b(4))), "FIRST", within=9)
    assert found(pattern, "A1 C2 B3", last=3) == found(pattern, "A1 C2 B3", last=50) == ["C2 B3"]


def test_what_is_open_in_an_operand_is_closed_by_what_follows() -> None:
    pattern = Pattern(seq(both(a(0), no(1)), b(2)), "EVERY", within=9)
    assert found(pattern, "A1 N2 B4") == []
    assert found(pattern, "A1 B2 N3", last=2) == ["A1 B2"]


def test_a_sequence_under_not() -> None:
    pattern = Pattern(seq(a(), Absent(seq(Occurs("N", 1), Occurs("M", 2))), b(3)), "EVERY")
    assert found(pattern, "A1 M2 N3 B4") == ["A1 B4"]
    assert found(pattern, "A1 N2 M3 B4") == []


def test_a_later_event_is_taken_where_the_first_leads_nowhere() -> None:
    clauses = (
        Clause("B", (Triple("?b", "<value>", "?v"),)),
        Clause("C", (Triple("?c", "<value>", "?v"),)),
    )
    pattern = Pattern(seq(a(0), b(1), Occurs("C", 2)), "EVERY", clauses=clauses)
    pairs = {
        "A": [(Instance("A", 1, 1), ())],
        "B": [(Instance("B", tick, tick), (("b", f"<b{tick}>"), ("v", str(tick)))) for tick in (2, 3)],
        "C": [(Instance("C", 4, 4), (("c", "<c>"), ("v", "3")))],
    }
    (match,) = matches(pattern, pairs, 9, lambda *_: True)
    assert [event.start for event in match.events] == [1, 3, 4]
    assert match.bindings == (("b", "<b3>"), ("c", "<c>"), ("v", "3"))


def test_ties_are_decided_by_time_name_and_individual_as_code_points() -> None:
    pairs = events("A1")
    pairs["B"] = [(Instance("B", 2, 2, individual), ()) for individual in ("<x10>", "<x1>", "<x2>")]
    told = {
        modifier: [one.events[1].individual for one in matches(Pattern(seq(a(), b()), modifier), pairs, 9, _holds)]
        for modifier in ("EVERY", None)
    }
    assert told == {"EVERY": ["<x1>"], None: ["<x1>"]}
    pairs = events("B9") | {"A": [(Instance("A", 2, 2, individual), ()) for individual in ("<x10>", "<x1>", "<x2>")]}
    assert _first_of("FIRST", pairs) == "<x1>"
    assert _first_of("LAST", pairs) == "<x2>"


def _first_of(modifier: Modifier, pairs: dict[str, list[tuple[Instance, Solution]]]) -> str:
    (match,) = matches(Pattern(seq(a(), b()), modifier), pairs, 9, _holds)
    return match.events[0].individual


def _holds(*_: object) -> bool:
    return True


def test_variables_of_two_names_are_joined_and_those_of_one_are_its_own() -> None:
    clauses = (
        Clause("A", (LOCATION, Triple("?o", "<v>", "?v"))),
        Clause("B", (LOCATION,), (Filter("?v > 5", ("v",)),)),
    )
    pattern = Pattern(seq(a(0), a(1), b(2)), "EVERY", clauses=clauses)

    def reading(tick: int, loc: str, value: str) -> tuple[Instance, Solution]:
        return Instance("A", tick, tick), (("loc", loc), ("o", "<o>"), ("v", value))

    end = [(Instance("B", 9, 9), (("loc", "<y>"), ("o", "<o>")))]
    large = lambda condition, binding: int(binding["v"]) > 5  # noqa: E731

    def values(*readings: tuple[Instance, Solution]) -> list[Match]:
        return matches(pattern, {"A": readings, "B": end}, 9, large)

    assert len(values(reading(1, "<y>", "7"), reading(2, "<y>", "8"))) == 1
    assert values(reading(1, "<y>", "7"), reading(2, "<y>", "3")) == []
    assert values(reading(1, "<y>", "7"), reading(2, "<z>", "8")) == []
    assert values(reading(1, "<y>", "7"), reading(2, "<y>", "8"))[0].bindings == (("loc", "<y>"), ("o", "<o>"))


def test_a_filter_of_an_absent_event_says_which_events_disturb() -> None:
    clauses = (
        Clause("A", (Triple("?x", "<v>", "?v"),)),
        Clause("N", (Triple("?n", "<v>", "?w"),), (Filter("?w > ?v", ("v", "w")),)),
    )
    pattern = Pattern(seq(a(0), no(1), b(2)), "EVERY", clauses=clauses)
    above = lambda condition, binding: int(binding["w"]) > int(binding["v"])  # noqa: E731
    pairs = events("B5") | {"A": [(Instance("A", 1, 1), (("v", "10"), ("x", "<x>")))]}
    for value, count in (("9", 1), ("11", 0)):
        pairs["N"] = [(Instance("N", 3, 3), (("n", "<n>"), ("w", value)))]
        assert len(matches(pattern, pairs, 9, above)) == count


def test_matches_of_the_same_events_are_one_event_with_a_line_for_each_binding() -> None:
    clause = Clause("A", (Triple("?x", "<at>", "?p"),))
    two = [(Instance("A", 1, 1), (("p", place), ("x", "<x>"))) for place in ("<p>", "<q>")]
    once = matches(Pattern(a(), "EVERY", clauses=(clause,)), {"A": two}, 9, _holds)
    assert [one.bindings[0] for one in once] == [("p", "<p>"), ("p", "<q>")]
    twice = matches(Pattern(seq(a(0), a(1)), "EVERY", clauses=(clause,)), {"A": [*two, *_later(two)]}, 9, _holds)
    assert [one.bindings for one in twice] == [()]


def _later(pairs: list[tuple[Instance, Solution]]) -> list[tuple[Instance, Solution]]:
    return [(Instance("A", 2, 2), solution) for _, solution in pairs]


def test_the_first_subject_is_the_individual_and_the_background_is_seen() -> None:
    clause = Clause("A", (Triple("?o", "<at>", "?l"), Triple("?l", "<in>", "?c")))
    triples = [("<o>", "<at>", "<l>"), ("<other>", "<at>", "<l>"), ("<l>", "<in>", "<c>")]
    assert solutions(clause, ["<o>"], triples) == {(("c", "<c>"), ("l", "<l>"), ("o", "<o>"))}
