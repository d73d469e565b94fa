"""The dictionary spells every word that lives, and gives the others back."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.dictionary import Dictionary

terms = st.one_of(
    st.from_regex(r"[a-z][a-z0-9]{0,2}", fullmatch=True),
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-1000, 1000, places=2).map(str),
    st.text("ab ", max_size=3).map(lambda text: f'"{text}"'),
)


@given(st.lists(terms))
def test_a_word_spells_its_term(spelled: list[str]) -> None:
    dictionary = Dictionary()
    words = [dictionary.code(term) for term in spelled]
    assert [dictionary.spell(word) for word in words] == spelled
    assert len(set(words)) == len(set(spelled))


@given(st.lists(st.tuples(terms, st.booleans())), st.lists(terms))
def test_collecting_keeps_what_is_in_use(first: list[tuple[str, bool]], second: list[str]) -> None:
    dictionary = Dictionary()
    for term, _ in first:
        dictionary.code(term)
    kept = {term: dictionary.code(term) for term, keep in first if keep}
    dictionary.collect(np.array(list(kept.values()), dtype=np.int64))
    assert len(dictionary) == sum(word & 3 == 0 for word in kept.values())
    later = {term: dictionary.code(term) for term in second}
    for term, word in (kept | later).items():
        assert dictionary.spell(word) == term
        assert dictionary.code(term) == word
    assert len({*kept.values(), *later.values()}) == len({*kept, *later})


def test_entries_are_used_again() -> None:
    dictionary = Dictionary()
    for round in range(10):
        for index in range(100):
            dictionary.code(f"t{round}_{index}")
        dictionary.collect(np.array([], dtype=np.int64))
    assert len(dictionary) == 0
    assert dictionary.code("fresh") >> 3 < 100


def test_a_number_too_large_for_a_word_is_kept_as_it_is_spelled() -> None:
    dictionary = Dictionary()
    large = str(10**40)
    assert dictionary.spell(dictionary.code(large)) == large
