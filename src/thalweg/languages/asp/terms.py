r"""Terms and predicates as clingo spells them, and back.

    road1                        is   road1, and so is "road1": a name is the text of its letters
    12                           is   12                        where it fits the 32 bits of clingo's numbers
    "b c"                        is   "b c"
    <http://example.org/x>       is   "<http://example.org/x>"  or ex_x, where the program says #prefix ex
    _:b0                         is   "_:b0"
    20.5                         is   "\"20.5\""
    "chat"@fr                    is   "\"chat\"@fr"

clingo knows numbers, constants and strings, so everything else is a string that holds our spelling; the text `not` is
one because it cannot be a constant. A string that only looks like one of those has a backslash in front. A name that
begins with a declared prefix stands for an IRI, whether it is a predicate or a constant; and where a program mentions
`rdf_type`, the fact `C(s)` also comes as `rdf_type(s,C)`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, interned
from thalweg.model.rdf import RDF_TYPE, XSD, fact_of
from thalweg.model.term import BARE, constant, is_number, is_term, quote, unquote

LEAST, GREATEST = -(2**31), 2**31 - 1
"""The numbers of clingo."""

_NAME: Final = re.compile(r"[a-z][A-Za-z0-9_]*\Z")
_NUMERIC: Final = re.compile(
    rf"\^\^<{re.escape(XSD)}(?:double|float|decimal|integer|(?:unsigned)?(?:long|int|short|byte|Long|Int|Short|Byte)"
    r"|(?:non)?(?:[pP]ositive|[nN]egative)Integer)>\Z"
)
_SPECIAL: Final = re.compile(r'[<"\\]|_:')
_UNESCAPES: Final = {"n": "\n", "\\": "\\", '"': '"'}


def is_integer(term: str) -> bool:
    """Whether a term is a number that clingo can count with.

    >>> is_integer("12"), is_integer("20.5"), is_integer("3000000000"), is_integer("x")
    (True, False, False, False)
    """
    return is_number(term) and term.lstrip("-").isdigit() and LEAST <= int(term) <= GREATEST


def is_text_to_clingo(term: str) -> bool:
    """Whether a term is a number that clingo does not have.

    >>> [is_text_to_clingo(t) for t in ("12", "20.5", "3000000000", '"7"^^<http://www.w3.org/2001/XMLSchema#double>')]
    [False, True, True, True]
    """
    if term[0] == '"':
        return bool(_NUMERIC.search(term))
    return is_number(term) and not is_integer(term)


def content(term: str) -> str:
    r"""The text inside the string that stands for a term that clingo does not know.

    >>> content("<a>"), content("20.5"), content('"chat"@fr'), content('"b c"'), content('"<b>"')
    ('<a>', '"20.5"', '"chat"@fr', 'b c', '\\<b>')
    """
    if term == "not":
        return term
    if term[0] in "<_" or (term[0] == '"' and term[-1] != '"'):
        return term
    if is_number(term):
        return f'"{term}"'
    text = unquote(term)
    return f"\\{text}" if _SPECIAL.match(text) else text


def term_of_content(text: str) -> str:
    r"""The term that a string of clingo stands for; the inverse of `content`.

    >>> [term_of_content(content(term)) for term in ("<a>", "20.5", '"chat"@fr', '"b c"', '"<b>"', "_:b", "not")]
    ['<a>', '20.5', '"chat"@fr', '"b c"', '"<b>"', '_:b', 'not']
    """
    if not _SPECIAL.match(text):
        return constant(text)
    if text[0] == "\\":
        return quote(text[1:] if _SPECIAL.match(text[1:]) else text)
    if text[0] == '"' and text[-1] == '"':
        return text[1:-1] if is_term(text[1:-1]) and is_number(text[1:-1]) else quote(text)
    return text if is_term(text) else quote(text)


@dataclass(frozen=True)
class Names:
    """The spelling of a program: its prefixes, and the signatures that streams bring to it.

    >>> names = Names({"ub": "http://example.org/ub#"}, frozenset({Predicate("ub_advisor", 2)}))
    >>> names.as_symbol_text("<http://example.org/ub#Dean>"), names.as_symbol_text("<http://example.org/x>")
    ('ub_Dean', '"<http://example.org/x>"')
    >>> names.as_term("ub_Dean"), names.as_term('"<http://example.org/x>"')
    ('<http://example.org/ub#Dean>', '<http://example.org/x>')
    """

    prefixes: Mapping[str, str] = field(default_factory=dict)
    signatures: frozenset[Predicate] = frozenset()

    @cached_property
    def _longest_first(self) -> list[tuple[str, str]]:
        """Prefixes as they begin names, `ub_`, with their namespaces, `<http://example.org/ub#`."""
        prefixes = [(f"{name}_" if name else "", f"<{space}") for name, space in self.prefixes.items()]
        return sorted(prefixes, key=lambda pair: (-len(pair[0]), pair))

    @cached_property
    def type_name(self) -> str | None:
        """The name under which a program takes types, if it does."""
        name = self.name(RDF_TYPE)
        return name if name is not None and interned(name, 2) in self.signatures else None

    def iri(self, name: str) -> str | None:
        """The IRI that a name stands for, where it begins with a declared prefix.

        >>> Names({"ub": "http://example.org/ub#"}).iri("ub_advisor"), Names().iri("ub_advisor")
        ('<http://example.org/ub#advisor>', None)
        """
        for prefix, space in self._longest_first:
            if name.startswith(prefix) and len(name) > len(prefix):
                return f"{space}{name[len(prefix) :]}>"
        return None

    def name(self, iri: str) -> str | None:
        """The name of an IRI; None where no prefix gives it one that clingo can read."""
        for prefix, space in self._longest_first:
            if iri.startswith(space):
                name = prefix + iri[len(space) : -1]
                if _NAME.match(name) and name != "not" and self.iri(name) == iri:
                    return name
        return None

    def as_symbol_text(self, term: str) -> str:
        r"""A term as clingo reads it.

        >>> print(*map(Names().as_symbol_text, ("road1", "12", '"b c"', "20.5", "3000000000", '"chat"@fr')))
        road1 12 "b c" "\"20.5\"" "\"3000000000\"" "\"chat\"@fr"
        """
        if term[0] == "<" and (name := self.name(term)) is not None:
            return name
        if is_integer(term) or (BARE.match(term) and term != "not"):
            return term
        text = content(term)
        return '"' + text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"') + '"'

    def as_term(self, text: str) -> str:
        r"""The term of a symbol as clingo prints it; what no term can hold (`f(a)`) stays as it is printed.

        >>> names = Names()
        >>> all(names.as_term(names.as_symbol_text(t)) == t for t in ("road1", "-3", '"a\\"b"', "_:x", "2.50", "not"))
        True
        >>> names.as_term("f(a,1)")
        'f(a,1)'
        """
        if text[0] == '"' and text[-1] == '"':
            return term_of_content(re.sub(r"\\(.)", lambda escape: _UNESCAPES[escape.group(1)], text[1:-1]))
        return self.iri(text) or text if BARE.match(text) else text

    def canonical(self, term: str) -> str:
        """The one way to write a term: a constant of a stream that begins with a declared prefix is an IRI.

        >>> names = Names({"ub": "http://ub#"})
        >>> names.canonical("ub_x"), names.canonical("x"), names.canonical('"ub x"')
        ('<http://ub#x>', 'x', '"ub x"')
        """
        return self.as_term(term) if BARE.match(term) else term

    def atoms(self, fact: Fact) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The names and terms under which a fact of a stream comes to the program; none where it is not an input.

        >>> names = Names({"ub": "http://ub#"}, frozenset({Predicate("ub_Dean", 1), Predicate("near", 2)}))
        >>> list(names.atoms(Fact("<http://ub#Dean>", ("<x>",)))), list(names.atoms(Fact("far", ("a", "b"))))
        ([('ub_Dean', ('<x>',))], [])
        """
        name = self.name(fact.predicate) if fact.predicate[0] == "<" else fact.predicate
        if name is not None and interned(name, len(fact.terms)) in self.signatures:
            yield name, fact.terms
        if self.type_name and len(fact.terms) == 1 and fact.predicate[0] == "<":
            yield self.type_name, (fact.terms[0], fact.predicate)

    def known_as(self, signature: Predicate) -> set[Predicate]:
        """The signatures under which facts of a stream come to the program.

        >>> names = Names({"ub": "http://ub#"}, frozenset({Predicate("ub_Dean", 1)}))
        >>> names.known_as(Predicate("<http://ub#Dean>", 1))
        {'ub_Dean/1'}
        """
        fact = Fact(signature.name, ("x",) * signature.arity)
        return {interned(name, len(args)) for name, args in self.atoms(fact)}

    def fact(self, name: str, args: tuple[str, ...]) -> Fact:
        """The fact of an atom in an answer, its arguments as clingo prints them.

        >>> names = Names({"ub": "http://ub#", "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#"})
        >>> str(names.fact("ub_advisor", ("a", "12"))), str(names.fact("rdf_type", ("a", "ub_Dean")))
        ('<http://ub#advisor>(a,12)', '<http://ub#Dean>(a)')
        """
        predicate, terms = self.iri(name) or name, tuple(map(self.as_term, args))
        return (
            fact_of(terms[0], predicate, terms[1])
            if predicate == RDF_TYPE and len(terms) == 2
            else Fact(predicate, terms)
        )
