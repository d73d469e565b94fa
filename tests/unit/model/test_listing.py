"""A listing is its facts in the order of their text, however they are held."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.model import listing as module
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.listing import Listing, Wrapping, in_parts

TERMS = ("a", "a1", "aB", "a_", "1", "12", "1.5", "-1", '"a"', '"a,b"', '"a"@en', '"a"@en-us', '"a)"', "<a>", "<a,b>")
TERMS += ('"é"', '"\U0001f600"', "<http://a/b>", "<http://a/b1>", '"a"^^<t>', '"a\\"b"')
FACTS = st.sets(
    st.builds(
        Fact,
        st.sampled_from(["p", "p1", "pq", "<p>", "<p1>", "p_"]),
        st.lists(st.sampled_from(TERMS), max_size=3).map(tuple),
    ),
    max_size=30,
)


def listing(facts: set[Fact], words: Dictionary) -> Listing:
    rows: dict[str, list[list[int]]] = {}
    for fact in facts:
        rows.setdefault(fact.signature, []).append([words.code(term) for term in fact.terms])
    return Listing(words, {name: np.array(some, dtype=np.int64) for name, some in rows.items()})


@given(facts=FACTS)
def test_the_order_is_that_of_the_text(facts: set[Fact]) -> None:
    found = listing(facts, Dictionary())
    assert list(found) == sorted(map(str, facts))
    assert len(found) == len(facts)


@given(facts=FACTS)
def test_facts_are_written_in_what_is_asked_for_in_the_order_of_their_text(facts: set[Fact]) -> None:
    wrapping = Wrapping("[", "]", lambda text: text.replace("a", "zz").replace('"', "\\'"))
    found = listing(facts, Dictionary())
    expected = [wrapping(text) for text in sorted(map(str, facts))]
    assert [text for some in found.parts(wrapping) for text in some] == expected
    assert [text for some in in_parts(tuple(found), wrapping) for text in some] == expected


@given(facts=FACTS)
def test_more_combinations_of_terms_than_numbers_change_nothing(facts: set[Fact]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TOO_MANY", 2)
        assert list(listing(facts, Dictionary())) == sorted(map(str, facts))


def test_many_come_some_at_a_time() -> None:
    facts = {Fact("p", (str(number),)) for number in range(10_000)} | {Fact("p", ("a", "b")), Fact("q")}
    parts = list(in_parts(listing(facts, Dictionary())))
    assert [text for part in parts for text in part] == sorted(map(str, facts))
    assert max(map(len, parts)) < 2_000


def test_a_listing_is_a_sequence_like_others() -> None:
    found = listing({Fact("p", ("b",)), Fact("p", ("a",))}, Dictionary())
    assert found == ("p(a)", "p(b)")
    assert tuple(found) == ("p(a)", "p(b)")
    assert found != ("p(a)",)
    assert found != ("p(a)", "p(c)")
    assert (found[1], found[:1], hash(found), repr(found)) == (
        "p(b)",
        ("p(a)",),
        hash(("p(a)", "p(b)")),
        "('p(a)', 'p(b)')",
    )
