"""Batches come back as they were, in another dictionary."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.saved_batches import load_batches, save_batches

SIGNATURES = [Predicate("p", 1), Predicate("q", 0), Predicate("<http://e/r>", 2)]
FACTS = st.tuples(st.sampled_from(SIGNATURES), st.lists(st.sampled_from(["a", '"b c"', "7"]), min_size=2, max_size=2))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([None, "", "in"]), st.lists(FACTS, max_size=4)), max_size=4)
)
def test_what_was_saved_is_loaded(events: list) -> None:
    there, here = Dictionary(), Dictionary()
    here.code("another")
    batches = []
    for tick, stream, facts in events:
        batch = Batch(stream=stream)
        for signature, terms in facts:
            batch.add(signature, [there.code(term) for term in terms[: signature.arity]])
        batches.append((tick, batch))
    loaded = list(load_batches(save_batches(batches, there), here))
    assert [written(*one, here) for one in loaded] == [written(*one, there) for one in batches]


def test_a_batch_of_arrays_has_no_order() -> None:
    words = Dictionary()
    batch = Batch({SIGNATURES[2]: np.array([words.code("a"), words.code("b")])})
    [(_, loaded)] = load_batches(save_batches([(3, batch)], words), words)
    assert written(3, loaded, words) == (3, None, [], ["<http://e/r>(a,b)"])


def written(tick: int, batch: Batch, words: Dictionary) -> tuple:
    return tick, batch.stream, batch.order, [str(fact) for fact in batch.facts(words)]
