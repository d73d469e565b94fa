"""Filters that compare a variable with a number, without SPARQL: `FILTER(?v > 15)` is what most of them are.

It decides only what is plain: integers, decimals and doubles that are written in short. All else is left to SPARQL.
"""

import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from thalweg.model.rdf import XSD

Compare = Callable[[Mapping[str, str]], bool | None]
"""Whether a comparison holds; None where SPARQL must be asked."""

_CONDITION: Final = re.compile(r"\( *\?(\w+) *(<=|>=|<|>|=|!=) *(-? *[0-9.]{1,15}) *\)")
_PLAIN: Final = re.compile(r"-?(?:[0-9]{1,15}|[0-9]{1,7}\.[0-9]{1,8})\Z")
_DOUBLE: Final = re.compile(rf'"(-?[0-9]{{1,15}}(?:\.[0-9]{{1,15}})?(?:[eE][+-]?[0-9]{{1,2}})?)"\^\^<{XSD}double>\Z')
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}


@lru_cache(maxsize=4_096)
def comparison(condition: str) -> Compare | None:
    """What decides a condition; None where it is not a plain comparison.

    >>> compare = comparison("( ?v > 15 )")
    >>> compare({"v": "16"}), compare({"v": '"3.5"^^<http://www.w3.org/2001/XMLSchema#double>'}), compare({"v": "<a>"})
    (True, False, None)
    >>> comparison("( ?v > ?w )")
    """
    match = _CONDITION.fullmatch(condition)
    number = match[3].replace(" ", "") if match else ""
    if match is None or not _PLAIN.match(number):
        return None
    name, compare = match[1], _OPERATORS[match[2]]
    exact, double = Decimal(number), float(number)

    def decide(binding: Mapping[str, str]) -> bool | None:
        term = binding[name]
        if _PLAIN.match(term):
            return compare(Decimal(term), exact)
        written = _DOUBLE.match(term)
        return compare(float(written[1]), double) if written else None

    return decide
