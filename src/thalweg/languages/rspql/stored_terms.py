"""Terms as SPARQL's store keeps them: by value, where it knows the datatype.

    2.50                      2.5
    "01"^^xsd:int             1
    "43.0"^^xsd:float         "43"^^xsd:float
    3.0                       "3"^^xsd:decimal, which is not the integer 3

Rules meet facts by their terms, so both the terms of a query and those of its streams are brought to this form.
"""

from functools import lru_cache
from typing import Final

from thalweg.model.rdf import XSD
from thalweg.model.term import is_number
from thalweg.solvers.sparql import as_stored

DECIMAL: Final = f"^^<{XSD}decimal>"


@lru_cache(maxsize=65_536)
def stored(term: str) -> str:
    """A term in the form in which rules compare it.

    >>> stored("2.50"), stored("3.0"), stored("3"), stored('"x"@en')
    ('2.5', '"3"^^<http://www.w3.org/2001/XMLSchema#decimal>', '3', '"x"@en')
    """
    if is_number(term):
        return typed(as_stored(term), True) if "." in term else term
    if term[0] != '"' or term[-1] != ">":
        return term
    return typed(as_stored(term), term.endswith(DECIMAL))


def typed(value: str, decimal: bool) -> str:
    """A number without a point is an integer, unless it is kept with its datatype.

    >>> typed("3", True), typed("3.5", True), typed("3", False)
    ('"3"^^<http://www.w3.org/2001/XMLSchema#decimal>', '3.5', '3')
    """
    return f'"{value}"{DECIMAL}' if decimal and value.lstrip("-").isdigit() else value
