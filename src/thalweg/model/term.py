"""A term is its canonical spelling.

    x1   "b c"   3   20.5   <http://example.org/x>   _:b0   "chat"@en   "P1D"^^<http://…#duration>

Two terms are the same when they are spelled the same, so a term needs no class of its own: it is the string that a
user reads and writes. `20` and `20.0` are therefore two terms (as they are two RDF literals) that compare as equal
numbers; see `number`. A bare name is the text of its letters: `x1` is the one spelling of the text x1, and `"x1"` is
read as that (`constant`).
"""

import re
from typing import Final, TypeGuard

BARE: Final = re.compile(r"[a-z][A-Za-z0-9_]*\Z")
NUMERIC: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")

_TERM: Final = re.compile(
    r'[a-z][A-Za-z0-9_]*\Z|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z|<[^<>"{}|^`\\\s]+>\Z|_:[A-Za-z0-9_.-]+\Z'
    r'|"(?![a-z][A-Za-z0-9_]*"\Z)(?:[^"\\\n\r]++|\\.)*+"(?:@[A-Za-z0-9-]+|\^\^<[^<>\s]+>)?\Z'
)

_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def is_number(term: str) -> bool:
    """Whether the term is spelled as a number.

    >>> is_number("-3.5"), is_number("x3"), is_number('"3"')
    (True, False, False)
    """
    return term[0].isdigit() or term[0] == "-"


def is_literal(term: str) -> bool:
    """Whether the term is a literal: a number, a text, or anything in quotes; not an IRI or a blank node.

    >>> is_literal("3"), is_literal('"chat"@fr'), is_literal("chat"), is_literal("<chat>")
    (True, True, True, False)
    """
    return term[0] not in "<_"


def is_term(value: object) -> TypeGuard[str]:
    """Whether something is a term in a spelling that can be read back.

    >>> is_term("road1"), is_term("Main Street"), is_term('"Main Street"'), is_term('"road1"'), is_term(3)
    (True, False, True, False, False)
    """
    return isinstance(value, str) and _TERM.match(value) is not None


def quote(text: str) -> str:
    """A text in quotes; `constant` has the term for any text.

    >>> quote('say "hi"')
    '"say \\\\"hi\\\\""'
    """
    return '"' + re.sub(r'[\\"\n\r\t]', lambda match: _ESCAPES[match.group()], text) + '"'


def unquote(term: str) -> str:
    """The text between quotes; the inverse of `quote`.

    >>> unquote(quote("a\\nb"))
    'a\\nb'
    """
    return re.sub(r"\\(.)", lambda match: _UNESCAPES.get(match.group(1), match.group(1)), term[1:-1])


def constant(text: str) -> str:
    """The term for any text: bare where the spelling allows it, quoted elsewhere.

    >>> constant("road1"), constant("Main Street")
    ('road1', '"Main Street"')
    """
    return text if BARE.match(text) else quote(text)
