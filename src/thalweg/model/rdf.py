"""RDF and facts are two spellings of one thing.

    <s> <p> <o>             is the fact   <p>(<s>,<o>)
    <s> rdf:type <C>        is the fact   <C>(<s>)
    "3"^^xsd:integer        is the term   3
    "x"^^xsd:string         is the term   "x"
    "x"@EN                  is the term   "x"@en
    _:b0 of stream `s`      is the term   _:s_0_b0

Terms come here as N-Triples writes them and leave in the canonical spelling that the rule language gives them, so that
a rule with prefixes meets what a stream brings. Two documents may both have a `_:b0` and mean different things, so a
blank node carries the name of its stream.
"""

import re
from functools import lru_cache
from typing import Final

from thalweg.model.number import read_number, show_number
from thalweg.model.term import NUMERIC, is_term, quote

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
RDF_TYPE: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
GENERATED_AT: Final = "<http://www.w3.org/ns/prov#generatedAtTime>"

_ESCAPE: Final = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
# The terms of N-Triples. An IRI may be relative: it is a name, and nothing is looked up.
IRI: Final = rf'<(?:[^\x00-\x20<>"{{}}|^`\\]|{_ESCAPE})*>'
BLANK: Final = r"_:\w(?:[\w.·-]*[\w·-])?"
LANGUAGE: Final = r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*"
LITERAL: Final = rf'"(?:[^"\\\n\r]|\\[tbnrf"\'\\]|{_ESCAPE})*"(?:{LANGUAGE}|\^\^{IRI})?'
# The same without escapes: a spelling that needs no closer look.
PLAIN_IRI: Final = r'<[^\x00-\x20<>"{}|^`\\\s]+>'
PLAIN_LITERAL: Final = rf'"[^"\\\n\r]*"(?:{LANGUAGE}|\^\^{PLAIN_IRI})?'

_NUMBERS: Final = (f"<{XSD}integer>", f"<{XSD}decimal>")
_ESCAPED: Final = re.compile(rf"{_ESCAPE}|\\.")
_LETTERS: Final = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
# No number that has a word needs more characters than this.
_LONGEST: Final = 200


@lru_cache(maxsize=65_536)
def term(text: str, scope: str = "") -> str:
    r"""The term that a piece of N-Triples stands for; `ValueError` where it stands for none.

    >>> term("<http://example.org/a>"), term('"\\u0041"^^<http://www.w3.org/2001/XMLSchema#string>'), term("_:b", "in")
    ('<http://example.org/a>', '"A"', '_:in_0_b')
    """
    if text[0] == '"':
        end = text.rindex('"')
        tag = text[end + 1 :]
        return literal(_unescaped(text[1:end]), _iri(tag[2:]) if tag.startswith("^^") else tag)
    return blank(text[2:], scope) if text[0] == "_" else _iri(text)


def literal(text: str, tag: str = "") -> str:
    """The term of a literal; its tag is empty, a language `@en`, or the IRI of a datatype.

    >>> literal("02.50", "<http://www.w3.org/2001/XMLSchema#decimal>"), literal("chat", "@FR")
    ('2.50', '"chat"@fr')
    """
    if tag in _NUMBERS and (spelling := number(text)):
        return spelling
    if tag == f"<{XSD}string>":
        return quote(text)
    return quote(text) + (f"^^{tag}" if tag.startswith("<") else tag.lower())


def number(text: str) -> str | None:
    """The spelling of a number; None where the text is none, or one that is too large.

    >>> number("007"), number("1.5e-3"), number("seven"), number("1" * 30)
    ('7', '0.0015', None, None)
    """
    exponent = text.lower().partition("e")[2]
    if not NUMERIC.match(text) or len(text) > _LONGEST or len(exponent) > 4 or abs(int(exponent or 0)) > _LONGEST:
        return None
    word = read_number(text)
    return None if word is None else show_number(word)


def blank(label: str, scope: str = "") -> str:
    """The term of a blank node; no two pairs of label and scope share one.

    >>> blank("b0", "north"), blank("b.0", "a_b")
    ('_:north_0_b0', '_:a__b_0_b_2e_0')
    """
    return "_:" + re.sub(r"[^A-Za-z0-9]", lambda found: _hidden(found.group()), f"{scope}\0{label}")


def names_a_predicate(term: str) -> bool:
    """Whether a term can also be a predicate: an IRI, or a constant.

    >>> names_a_predicate("<p>"), names_a_predicate("speed"), names_a_predicate('"speed"')
    (True, True, False)
    """
    return term[0] == "<" or "a" <= term[0] <= "z"


def _iri(text: str) -> str:
    iri = f"<{_unescaped(text[1:-1])}>"
    if not is_term(iri):
        raise ValueError(f"`{text}` is not an IRI")
    return iri


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: _character(found.group()), text) if "\\" in text else text


def _character(escape: str) -> str:
    if escape[1] not in "uU":
        return _LETTERS.get(escape[1], escape[1])
    code = int(escape[2:], 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError(f"`{escape}` is no character")
    return chr(code)


def _hidden(character: str) -> str:
    return "__" if character == "_" else f"_{ord(character):x}_"
