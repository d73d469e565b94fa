"""Terms as SPARQL's store keeps them: by value, where it knows the datatype.

    2.50                      2.5
    "01"^^xsd:int             1
    "43.0"^^xsd:float         "43"^^xsd:float
    3.00                      3.0, which is not the integer 3

Rules meet facts by their terms, so both the terms of a query and those of its streams are brought to this form.
"""

from functools import lru_cache

from thalweg.model.term import is_number
from thalweg.solvers.sparql import as_stored


@lru_cache(maxsize=65_536)
def stored(term: str) -> str:
    """A term in the form in which rules compare it.

    >>> stored("2.50"), stored("3.00"), stored("3"), stored('"x"@en')
    ('2.5', '3.0', '3', '"x"@en')
    """
    is_decided = "." not in term if is_number(term) else term[0] != '"' or term[-1] != ">"
    return term if is_decided else as_stored(term)
