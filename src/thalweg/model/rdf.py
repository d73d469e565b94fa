"""RDF and facts are two spellings of one thing. Only here are documents read by pyoxigraph.

    <s> <p> <o>             is the fact   <p>(<s>,<o>)
    <s> rdf:type <C>        is the fact   <C>(<s>)
    "3"^^xsd:integer        is the term   3
    "x"^^xsd:string         is the term   x, the text of this letter
    "x"@EN                  is the term   "x"@en
    _:b0 of stream `s`      is the term   _:s_0_b0

Terms come here as N-Triples writes them and leave in the canonical spelling that the rule language gives them, so that
a rule with prefixes meets what a stream brings. Two documents may both have a `_:b0` and mean different things, so a
blank node carries the name of its document.

What rules have and RDF has not is spelled with IRIs of our own, and read back as what it was:

    road1, "b 7"            is            <urn:thalweg:road1>, <urn:thalweg:text:b%207>, where no literal can stand
    <a>                     is            <urn:thalweg:iri:a>, where an IRI must be absolute
    jam, busy(r,3,x)        is            <urn:thalweg:busy> rdf:value "busy(r,3,x)"^^<urn:thalweg:fact>
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Any, BinaryIO, Final
from urllib.parse import quote as percent_encoded
from urllib.parse import unquote as percent_decoded

from thalweg.model.encoding import as_utf8
from thalweg.model.entities import ExpansionError, check_entities
from thalweg.model.fact import Fact
from thalweg.model.nesting import DeepDocumentError, check_document
from thalweg.model.number import read_number, show_number
from thalweg.model.term import BARE, NUMERIC, constant, is_number, is_term, quote, unquote

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
RDF_TYPE: Final = f"<{RDF}type>"
RDF_VALUE: Final = f"<{RDF}value>"
GENERATED_AT: Final = "<http://www.w3.org/ns/prov#generatedAtTime>"

_ESCAPE: Final = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
# The terms of N-Triples. An IRI may be relative: it is a name, and nothing is looked up.
IRI: Final = rf'<(?:[^\x00-\x20<>"{{}}|^`\\]|{_ESCAPE})*>'
BLANK: Final = r"_:\w(?:[\w.·-]*[\w·-])?"
LANGUAGE: Final = r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*"
LITERAL: Final = rf'"(?:[^"\\\n\r]++|\\[tbnrf"\'\\]|{_ESCAPE})*+"(?:{LANGUAGE}|\^\^{IRI})?'
# The same without escapes: a spelling that needs no closer look.
# White space is listed: `\s` beside other characters takes the time of a second test.
_SPACE: Final = r"\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
PLAIN_IRI: Final = rf'<[^\x00-\x20<>"{{}}|^`\\{_SPACE}]+>'
PLAIN_LITERAL: Final = rf'"[^"\\\n\r]*"(?:{LANGUAGE}|\^\^{PLAIN_IRI})?'

# What begins an IRI of our own.
OWN: Final = "<urn:thalweg:"
_RELATIVE: Final = "iri:"
_TEXT: Final = "text:"
_FACT_TAG: Final = f"^^{OWN}fact>"
_SCHEME: Final = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:")
# The terms of a fact as it prints, one after the other.
_TERMS: Final = re.compile(r'<[^<>]*>|"(?:[^"\\]++|\\.)*+"(?:@[A-Za-z0-9-]+|\^\^<[^<>]*>)?|[^,()<>"]+')

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
    return blank(text[2:], scope) if text[0] == "_" else named(_iri(text))


def literal(text: str, tag: str = "") -> str:
    """The term of a literal; its tag is empty, a language `@en`, or the IRI of a datatype.

    >>> literal("02.50", "<http://www.w3.org/2001/XMLSchema#decimal>"), literal("chat", "@FR"), literal("chat")
    ('2.50', '"chat"@fr', 'chat')
    """
    if tag in _NUMBERS and (spelling := number(text)):
        return spelling
    if not tag or tag == f"<{XSD}string>":
        return constant(text)
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
    return "_:" + re.sub(r"[^A-Za-z0-9]", lambda match: _hidden(match.group()), f"{scope}\0{label}")


def names_a_predicate(term: str) -> bool:
    """Whether a term can also be a predicate: an IRI, or a constant.

    >>> names_a_predicate("<p>"), names_a_predicate("speed"), names_a_predicate('"speed"')
    (True, True, False)
    """
    return term[0] == "<" or "a" <= term[0] <= "z"


def named(iri: str) -> str:
    """The term of an IRI in its brackets: what we spelled as an IRI of our own is what it was.

    >>> named("<http://example.org/a>"), named("<urn:thalweg:road1>"), named("<urn:thalweg:iri:a>")
    ('<http://example.org/a>', 'road1', '<a>')
    >>> named("<urn:thalweg:text:b%207>")
    '"b 7"'
    """
    if not iri.startswith(OWN):
        return iri
    local = iri[len(OWN) : -1]
    if BARE.match(local):
        return local
    if local.startswith(_TEXT):
        text = constant(percent_decoded(local.removeprefix(_TEXT)))
        return text if as_resource(text) == iri else iri
    relative = f"<{local.removeprefix(_RELATIVE)}>"
    is_ours = local.startswith(_RELATIVE) and is_term(relative) and not _SCHEME.match(relative)
    return relative if is_ours else iri


def as_ntriples(term: str) -> str:
    """A term as N-Triples writes an object; the inverse of `term`, but for blank nodes, which keep their names here.

    >>> as_ntriples("road1"), as_ntriples("2.50")
    ('"road1"', '"2.50"^^<http://www.w3.org/2001/XMLSchema#decimal>')
    """
    if term[0] == "<":
        return term if _SCHEME.match(term) else f"{OWN}{_RELATIVE}{term[1:]}"
    if term[0] in '"_':
        return term
    if is_number(term):
        return f'"{term}"^^<{XSD}{"decimal" if "." in term else "integer"}>'
    return f'"{term}"'


def as_resource(term: str) -> str:
    """A term as N-Triples writes a subject or predicate: a text is an IRI of our own there; `term` reads it back.

    >>> as_resource("road1"), as_resource('"b 7"'), as_resource("<http://example.org/a>")
    ('<urn:thalweg:road1>', '<urn:thalweg:text:b%207>', '<http://example.org/a>')
    """
    if term[0] in "<_":
        return as_ntriples(term)
    return f"{OWN}{_TEXT}{percent_encoded(unquote(term), safe='')}>" if term[0] == '"' else f"{OWN}{term}>"


def fact_of(subject: str, predicate: str, object: str) -> Fact:
    """The fact of a triple of terms: `s rdf:type C` is `C(s)`, unless the class has no name of its own.

    >>> str(fact_of("<a>", "<p>", "3")), str(fact_of("<a>", RDF_TYPE, "<C>"))
    ('<p>(<a>,3)', '<C>(<a>)')
    """
    if predicate == RDF_TYPE and names_a_predicate(object):
        return Fact(object, (subject,))
    if predicate == RDF_VALUE and object.endswith(_FACT_TAG):
        text = _unescaped(object[1 : -len(_FACT_TAG) - 1])
        # Anyone may use this datatype; only what we would write with it is a fact.
        if _TERMS.match(text) and names_a_predicate(text):
            fact = printed_fact(text)
            if str(fact) == text and all(map(is_term, fact.terms)):
                return fact
    return Fact(predicate, (subject, object))


@lru_cache(maxsize=65_536)
def triple_of(fact: str) -> tuple[str, str, str]:
    """The triple of a fact as it prints, its parts as N-Triples writes them; the inverse of `fact_of`.

    >>> " ".join(triple_of("<http://example.org/C>(a)")[1:])
    '<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/C>'
    >>> triple_of("busy(r,3,x)")[2]
    '"busy(r,3,x)"^^<urn:thalweg:fact>'
    """
    name, args = printed_fact(fact)
    predicate = as_resource(name)
    if not 1 <= len(args) <= 2 or not can_be_subject(args[0]):
        return predicate, RDF_VALUE, quote(fact) + _FACT_TAG
    subject = as_resource(args[0])
    return (subject, predicate, as_ntriples(args[1])) if len(args) == 2 else (subject, RDF_TYPE, predicate)


def can_be_subject(term: str) -> bool:
    """Whether a term is a resource, or a text, which has an IRI of our own.

    >>> can_be_subject("<a>"), can_be_subject("road1"), can_be_subject("3"), can_be_subject('"rue"@fr')
    (True, True, False, False)
    """
    return not is_number(term) and (term[0] != '"' or term[-1] == '"')


def printed_fact(fact: str) -> Fact:
    """A fact from its print."""
    predicate, *args = _TERMS.findall(fact)
    return Fact(predicate, tuple(args))


def _iri(text: str) -> str:
    iri = f"<{_unescaped(text[1:-1])}>"
    if not is_term(iri):
        raise ValueError(f"`{text}` is not an IRI")
    return iri


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: _character(match.group()), text) if "\\" in text else text


def _character(escape: str) -> str:
    if escape[1] not in "uU":
        return _LETTERS.get(escape[1], escape[1])
    code = int(escape[2:], 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError(f"`{escape}` is not a character")
    return chr(code)


def _hidden(character: str) -> str:
    return "__" if character == "_" else f"_{ord(character):x}_"


# Documents -----------------------------------------------------------------------------------------------------------

Quad = tuple[str, str, str, str | None]
"""Subject, predicate, object, and the graph, which is None for the default graph."""

READ: Final = {
    "turtle": "TURTLE", "trig": "TRIG", "ntriples": "N_TRIPLES", "nquads": "N_QUADS", "jsonld": "JSON_LD",
    "rdfxml": "RDF_XML",
}  # fmt: skip

_LINES: Final = ("ntriples", "nquads")
_DECLARES: Final = ("turtle", "trig")
# Where IRIs stay relative: a name to resolve them against that is taken away again.
_HERE: Final = "relative://-/"
_WHERE: Final = re.compile(r"Parser error at line .*?: ")
# A sentence may also begin with what stands in the document.
_PROSE: Final = re.compile(r"\A(?:An?|The|Unexpected|Invalid|Only|Expect\w+|Missing|Found)\b")
# Blank nodes without a label get a random one, of up to 128 bits.
_RANDOM: Final = re.compile(r"[a-f][0-9a-f]{15,31}\Z")
_KEPT: Final = 65_536
# Lines may be as long as documents, and people read a part of one.
_LONGEST_SHOWN: Final = 1 << 20
LONGEST_TERM: Final = 1 << 24
"""Bytes of a term; the parser refuses longer ones."""
_TOO_LONG: Final = f"a literal or another term has over {LONGEST_TERM >> 20} MiB, more than can be read"
_LINE: Final = re.compile(rb"[^\r\n]*(?:\r\n?|\n|\Z)")
_END: Final = re.compile(r"\r\n?|\n")
# What the terms of a document may have in characters: prefixes and namespaces are written once and used often.
_MOST: Final = 1 << 24
_MOST_PER_BYTE: Final = 64


class RdfSyntaxError(ValueError):
    """A document is not what its format says: what is wrong, where (counted from 1), and how that line reads.

    `code` is the number of the diagnostic, where it is another than that of a mistake of syntax.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1, text: str = "", code: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.line = line
        self.column = min(column, len(text) + 1)
        self.text = text


def read_graph(
    data: bytes | BinaryIO, format: str, *, base: str | None = None, scope: str = ""
) -> Iterator[tuple[str, str, str, str | None]]:
    """The statements of a document as terms; `RdfSyntaxError` where it cannot be read further.

    Relative IRIs are resolved against `base`. It may be relative itself, or empty, and they stay relative then.
    `scope` distinguishes the blank nodes of this document from those of others.

    >>> list(read_graph(b"@prefix : <http://ex.org/> . :a :p 3 ; <q> _:b .", "turtle", scope="in"))
    [('<http://ex.org/a>', '<http://ex.org/p>', '3', None), ('<http://ex.org/a>', '<q>', '_:in_0_b', None)]
    """
    return Document(format, base, scope).read(data if isinstance(data, bytes) else data.read())


class Document:
    """A document that is read at once, or in pieces: what a piece declares, and its blank nodes, hold in those behind.

    >>> document = Document("trig")
    >>> list(document.read(b"@prefix : <http://ex.org/> ."))
    []
    >>> list(document.read(b":g { :a :p [] }"))
    [('<http://ex.org/a>', '<http://ex.org/p>', '_:_0__20_0', '<http://ex.org/g>')]
    """

    def __init__(self, format: str, base: str | None = None, scope: str = "") -> None:
        self._format = format
        self._base = base if base and _SCHEME.match(f"<{base}") else _HERE + percent_encoded(base or "", "/?#%")
        self._prefixes: dict[str, str] = {}
        self._terms = _Terms(scope)

    def read(self, data: bytes) -> Iterator[Quad]:
        """The statements of a piece."""
        declared, terms = self._declared(), self._terms.renewed()
        parser: Any = None
        try:
            data = as_utf8(data)
            self._check_size(data)
            check_document(data, self._format)
            parser = self._parser(declared + data)
            for subject, predicate, object, graph in parser:
                yield terms[subject], terms[predicate], terms[object], terms[graph]
        except SyntaxError as error:
            line = self._line(data) if error.lineno is None else max(1, error.lineno - declared.count(b"\n"))
            raise RdfSyntaxError(_sentence(error.msg), line, error.offset or 1, _text(data, line)) from None
        except ExpansionError as error:
            raise _too_large(data, error) from None
        except DeepDocumentError as error:
            raise _at(data[: error.offset].decode(errors="replace"), data, error) from None
        except MemoryError:
            raise RdfSyntaxError(_TOO_LONG, text=_text(data, 1)) from None
        except ValueError as error:
            raise RdfSyntaxError(str(error), text=_text(data, 1)) from None
        finally:
            if parser is not None and self._format in _DECLARES:
                self._base, self._prefixes = parser.base_iri, parser.prefixes

    def save(self) -> dict[str, Any]:
        """What was declared so far, and how many blank nodes had no label, as JSON."""
        return {"base": self._base, "prefixes": self._prefixes, "terms": self._terms.save()}

    def load(self, saved: dict[str, Any]) -> None:
        """Goes on behind the pieces that another one has read."""
        self._base, self._prefixes = saved["base"], dict(saved["prefixes"])
        self._terms.load(*saved["terms"])

    def _check_size(self, data: bytes) -> None:
        """Refuses what would grow out of proportion; what terms may grow to is noted for later."""
        if self._format == "rdfxml":
            check_entities(data.decode(errors="replace"))
        self._terms.allow(len(data))

    def _declared(self) -> bytes:
        """The prefixes that were declared before, on one line."""
        declarations = "".join(f"@prefix {name}: <{iri}> . " for name, iri in self._prefixes.items())
        return f"{declarations}\n".encode() if declarations else b""

    def _parser(self, data: Any) -> Any:
        from pyoxigraph import RdfFormat, parse

        # N-Triples and N-Quads know absolute IRIs only.
        base = None if self._format in _LINES else self._base
        return parse(data, format=getattr(RdfFormat, READ[self._format]), base_iri=base)

    def _line(self, text: bytes) -> int:
        """The line at which reading stops, where the parser does not say so: as many lines as it asks for."""
        lines = _OneByOne(text)
        with suppress(SyntaxError):
            for _ in self._parser(lines):
                pass
        # Errors in JSON-LD are raised when all of it has been read.
        return lines.taken if self._format == "rdfxml" else 1


def _sentence(message: str) -> str:
    """The message of a parser, without the place and in the wording of this package."""
    message = _WHERE.sub("", message)
    if "LoadDocumentCallback" in message:
        return "remote `@context`s are not fetched: write the context here"
    if "No scheme found" in message:
        return "an IRI must be absolute here, as in `<http://example.org/a>`"
    return _PROSE.sub(lambda match: match[0].lower(), message)


def _text(data: bytes, line: int) -> str:
    """A line of a document; a carriage return ends one as well, with or without a line feed."""
    match = next(islice(_LINE.finditer(data), line - 1, line), None)
    return "" if match is None else match[0][:_LONGEST_SHOWN].decode(errors="replace").rstrip("\r\n")


def _too_large(data: bytes, error: ExpansionError) -> RdfSyntaxError:
    return _at(data.decode(errors="replace")[: error.offset], data, error, "E305")


def _at(before: str, data: bytes, error: ValueError, code: str = "") -> RdfSyntaxError:
    """An error that stands behind a part of a document."""
    lines = _END.split(before)
    return RdfSyntaxError(str(error), len(lines), len(lines[-1]) + 1, _text(data, len(lines)), code)


class _OneByOne:
    """Bytes that are handed out line by line."""

    def __init__(self, text: bytes) -> None:
        self._lines = iter(text.splitlines(keepends=True))
        self._rest = b""
        self.taken = 0

    def read(self, size: int = -1) -> bytes:
        if not self._rest:
            self._rest = next(self._lines, b"")
            self.taken += bool(self._rest)
        size = len(self._rest) if size < 0 else size
        part, self._rest = self._rest[:size], self._rest[size:]
        return part


class _Terms(dict[Any, Any]):
    """The terms of a parser's nodes; most of them come again. The default graph is None."""

    def __init__(self, scope: str) -> None:
        self._scope = scope
        self._random: dict[str, str] = {}
        self._counted = 0
        self._left = _MOST

    def save(self) -> tuple[int, int]:
        return self._counted, self._left

    def load(self, counted: int, left: int) -> None:
        self._counted, self._left = counted, left

    def renewed(self) -> "_Terms":
        """Forgets what it has seen if that is much: documents may be endless."""
        if len(self) > _KEPT:
            self.clear()
        if len(self._random) > _KEPT:
            # A node without a label occurs in one statement only, so it is not needed again.
            self._random.clear()
        return self

    def allow(self, size: int) -> None:
        """Allows terms in proportion to the size of another piece of a document."""
        self._left += size * _MOST_PER_BYTE

    def __missing__(self, node: Any) -> str | None:
        self[node] = spelling = self._spelled(node)
        # The label of a blank node is ours, and no longer for being used often.
        self._left -= 0 if spelling is None or spelling[0] == "_" else len(spelling)
        if self._left < 0:
            raise ExpansionError(f"its terms have over {_MOST_PER_BYTE} times as many characters as the document", 0)
        return spelling

    def _spelled(self, node: Any) -> str | None:
        # By their names, because importing what is imported already costs more than all the rest.
        match type(node).__name__:
            case "NamedNode":
                return _resource(node.value)
            case "Literal":
                return _value(node.value, node.datatype.value) if not node.language else term(str(node))
            case "BlankNode":
                return blank(self._label(node.value), self._scope)
            case "DefaultGraph":
                return None
        raise ValueError("a triple as a term (RDF-star) is not supported")

    def _label(self, label: str) -> str:
        """Random labels are numbered instead: reading a document twice must give the same terms."""
        if not _RANDOM.match(label):
            return label
        if label not in self._random:
            self._random[label] = f" {self._counted}"
            self._counted += 1
        return self._random[label]


@lru_cache(maxsize=_KEPT)
def _resource(iri: str) -> str:
    if iri == _HERE:
        raise ValueError("`<>` is the document itself, and this one has no name")
    return named(_iri(_as_written(iri)))


@lru_cache(maxsize=_KEPT)
def _value(text: str, datatype: str) -> str:
    return literal(text, _as_written(datatype))


def _as_written(iri: str) -> str:
    """An IRI in its brackets, relative where nothing made it absolute."""
    return f"<{iri.removeprefix(_HERE).removeprefix('relative:') if iri.startswith('relative:') else iri}>"
