"""Facts as text become columns: their predicates and arguments, or the arguments of one predicate with types."""

from typing import Any

from thalweg.model.number import show_number
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import printed_fact
from thalweg.model.values import number_of
from thalweg.runtimes.answer_columns import cell


def fact_columns(facts: Any, of: Predicate | None, types: list[str]) -> tuple[Any, list[Any]]:
    """The rows that are kept, and their columns.

    >>> import pyarrow as pa
    >>> facts = pa.array(["jam(a)", 'hot("b c",30.5)', "idle"])
    >>> [column.to_pylist() for column in fact_columns(facts, None, [])[1]]
    [['jam', 'hot', 'idle'], [['a'], ['b c', '30.5'], []]]
    >>> kept, columns = fact_columns(facts, Predicate("hot", 2), ["string", "double"])
    >>> kept.to_pylist(), [column.to_pylist() for column in columns]
    ([1], [['b c'], [30.5]])
    """
    import pyarrow as pa

    encoded = facts.dictionary_encode()
    known = [printed_fact(text) for text in encoded.dictionary.to_pylist()]
    places = encoded.indices.to_pylist()
    if of is None:
        names = pa.array([known[place].predicate for place in places], pa.string())
        arguments = pa.array(
            [[str(cell(term)) for term in known[place].terms] for place in places], pa.list_(pa.string())
        )
        return pa.array(range(len(places)), pa.int64()), [names, arguments]
    kept = [row for row, place in enumerate(places) if known[place].signature == of]
    rows = [known[places[row]].terms for row in kept]
    columns = [_typed([terms[place] for terms in rows], kind) for place, kind in enumerate(types)]
    return pa.array(kept, pa.int64()), columns


def _typed(terms: list[str], kind: str) -> Any:
    import pyarrow as pa

    if kind == "string":
        return pa.array([str(cell(term)) for term in terms], pa.string())
    words = [number_of(term) for term in terms]
    numbers = [None if word is None else float(show_number(word)) for word in words]
    if kind == "double":
        return pa.array(numbers, pa.float64())
    whole = [None if number is None or number != int(number) else int(number) for number in numbers]
    return pa.array(whole, pa.int64())
