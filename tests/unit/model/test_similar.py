from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.predicate import Predicate
from thalweg.model.similar import Similar, nearest

LETTERS = st.text("abT1", min_size=1, max_size=6)
PREDICATES = st.builds(
    lambda space, start, end, arity: Predicate(f"<{space}{start}{end}>" if space else f"{start}{end}", arity),
    st.sampled_from(["", "", "http://example.org/", "http://example.com#"]),
    st.sampled_from(["", "temperature_", "a_beginning_that_many_names_have_in_common_with_each_other"]),
    LETTERS,
    st.integers(1, 2),
)


@given(PREDICATES, st.lists(PREDICATES, max_size=8), st.booleans())
def test_candidates_have_the_nearest(predicate: Predicate, others: list[Predicate], loose: bool) -> None:
    candidates = Similar(others).candidates(predicate, loose)
    assert nearest(predicate, candidates, loose) == nearest(predicate, others, loose)


@given(st.permutations("temperature"), st.integers(0, 10), st.integers(0, 10))
def test_two_slips_anywhere_in_a_name_are_found(letters: list[str], first: int, second: int) -> None:
    name = "".join(letters)
    slips = {
        f"{name[:first]}x{name[first + 1 :]}",
        f"{name[:first]}y{name[first:]}",
        f"{name[: first + 1]}{name[first + 2 :]}",
    }
    for slip in {f"{one[:second]}z{one[second + 1 :]}" for one in slips}:
        predicate, other = Predicate(slip, 2), Predicate(name, 2)
        assert nearest(predicate, Similar([other]).candidates(predicate)) == nearest(predicate, [other])


def test_names_without_anything_in_common_are_not_compared() -> None:
    words = [Predicate(f"{one}{two}{one}{two}{two}", 1) for one in "abcdefghijklm" for two in "nopqrstuvwxyz"]
    similar = Similar(words)
    assert all(len(similar.candidates(word)) < 30 for word in words)
    numbered = [Predicate(f"lane{number}", 1) for number in range(1_000)]
    assert Similar(numbered).candidates(numbered[7]) == [numbered[7]]
