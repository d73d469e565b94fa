"""Facts in which the predicate is data: `'triple(S,P,O)`, a predicate that cannot be typed.

Rules that ask for any predicate at all read these. What streams bring is turned into them as it is read, and what is
concluded is turned back as it is output:

    <p>(<s>,<o>)   is   'triple(<s>,<p>,<o>)
    <C>(<s>)       is   'triple(<s>,rdf:type,<C>)
"""

from collections.abc import Collection, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import RDF_TYPE, names_a_predicate

ANY_TRIPLE: Final = "'triple"
TRIPLES: Final = Predicate(ANY_TRIPLE, 3)

Rows = NDArray[np.int64]


def as_triples(batch: Batch, words: Dictionary, kept: Collection[Predicate] = ()) -> Batch:
    """A batch with its facts as triples; what has no or many arguments stays as it is, and so does what is `kept`.

    >>> words = Dictionary()
    >>> a, b = words.code("a"), words.code("b")
    >>> rows = {Predicate("<p>", 2): [a, b], Predicate("<C>", 1): [a], Predicate("go", 0): []}
    >>> batch = as_triples(Batch(rows), words)
    >>> [words.spell(word) for word in batch.rows[TRIPLES].tolist()], "go/0" in batch.rows
    (['a', '<p>', 'b', 'a', '<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>', '<C>'], True)
    """
    triples: list[Rows] = []
    converted = Batch(stream=batch.stream)
    for signature, rows in batch.rows.items():
        if signature.arity not in (1, 2) or signature in kept:
            converted.rows[signature] = rows
        if signature.arity not in (1, 2):
            continue
        flat = np.asarray(rows, dtype=np.int64).reshape(-1, signature.arity)
        name = np.full(len(flat), words.code(signature.name))
        if signature.arity == 2:
            triples.append(np.column_stack((flat[:, 0], name, flat[:, 1])))
        else:
            triples.append(np.column_stack((flat[:, 0], np.full(len(flat), words.code(RDF_TYPE)), name)))
    if triples:
        converted.rows[TRIPLES] = np.concatenate(triples).reshape(-1)
    return converted


def as_facts(rows: Rows, words: Dictionary) -> Iterator[tuple[str, Rows]]:
    """The rows of triples as predicates and the rows of their facts.

    >>> words = Dictionary()
    >>> rows = np.array([[words.code(term) for term in ("a", RDF_TYPE, "<C>")]])
    >>> [(predicate, words.spell_rows(predicate, part)) for predicate, part in as_facts(rows, words)]
    [('<C>', ['<C>(a)'])]
    """
    for predicate in np.unique(rows[:, 1]).tolist():
        part, name = rows[rows[:, 1] == predicate], words.spell(predicate)
        if name != RDF_TYPE:
            yield name, part[:, [0, 2]]
            continue
        for kind in np.unique(part[:, 2]).tolist():
            members = part[part[:, 2] == kind]
            spelled = words.spell(kind)
            if names_a_predicate(spelled) or spelled[0] == "_":
                yield spelled, members[:, :1]
            else:
                yield name, members[:, [0, 2]]
