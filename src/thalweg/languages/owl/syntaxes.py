"""The syntaxes of OWL that are not RDF: functional (`.ofn`), Manchester (`.omn`) and OWL/XML (`.owx`).

    SubClassOf(:A ObjectSomeValuesFrom(:r :B))      Class: A SubClassOf: r some B

become the same axiom. The only door to py-horned-owl, which reads them; its constructs have the names and the order of
the structural specification, as ours have, so that one function turns all of them into ours.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from xml.parsers import expat

from thalweg.diagnostics import Diagnostic, RejectedError, Source, Span
from thalweg.languages.owl import axioms, expressions
from thalweg.languages.owl.axioms import Axiom, Declaration, HasKey, Ontology, SubObjectPropertyOf
from thalweg.languages.owl.expressions import ObjectInverseOf, ObjectPropertyChain
from thalweg.languages.owl.swrl import ATOMS, SWRLB, Argument, DLSafeRule, SwrlAtom, SwrlVariable
from thalweg.model import rdf
from thalweg.model.entities import ExpansionError, expand_entities
from thalweg.model.nesting import MOST_NESTED, TOO_DEEP, WAY_OUT
from thalweg.model.rdf import XSD
from thalweg.model.vocabulary import RDF, RDFS, Triple

_OURS: Final[dict[str, Callable[..., Any]]] = {
    name: kind
    for module in (axioms, expressions)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and hasattr(kind, "__match_args__")
}
_ATOMS: Final = {kind.__name__: kind for kind, _ in ATOMS.values()}
_ABOUT_ANNOTATIONS: Final = {
    "SubAnnotationPropertyOf": f"<{RDFS}subPropertyOf>",
    "AnnotationPropertyDomain": f"<{RDFS}domain>",
    "AnnotationPropertyRange": f"<{RDFS}range>",
}
# The library names two fields by words that Python keeps for itself.
_FIELDS: Final = {"from": "source", "to": "target"}
# What opens a level, what closes one, and what goes deeper until its expression ends. Strings, IRIs and comments may
# hold anything.
_OPAQUE: Final = r'"(?:[^"\\]|\\.)*"|<[^<>\s"]*>|#[^\n]*'
_LEVELS: Final = {
    "ofn": re.compile(rf"{_OPAQUE}|(?P<open>\()|(?P<close>\))", re.DOTALL),
    "omn": re.compile(
        rf"{_OPAQUE}|(?P<open>\()|(?P<close>\))|(?P<deeper>\b(?:some|only|not|min|max|exactly|inverse)\b)"
        r"|(?P<end>,|\b(?:and|or)\b|\b[A-Z]\w*:(?=\s))",
        re.DOTALL,
    ),
}
_CONVERT: Final = "convert the ontology to Turtle or RDF/XML, for example with `robot convert` or Protégé"


def read(text: str, syntax: str, name: str = "ontology", scope: str = "") -> Ontology:
    """The ontology in a text without its rules; `RejectedError` with the place of an error.

    The axioms come sorted by their text.

    >>> from thalweg.languages.owl.axioms import show
    >>> ontology = read("Prefix(:=<http://example.org/>) Ontology(SubClassOf(:A ObjectUnionOf(:B :C)))", "ofn")
    >>> print(*map(show, ontology.axioms))
    SubClassOf(<http://example.org/A> ObjectUnionOf(<http://example.org/B> <http://example.org/C>))
    """
    return read_with_rules(text, syntax, name, scope)[0]


def read_with_rules(text: str, syntax: str, name: str, scope: str = "") -> tuple[Ontology, list[DLSafeRule]]:
    """The ontology in a text, and its rules of SWRL, both sorted by their text."""
    text = _expanded(text, name) if syntax == "owx" else text
    converter = _Converter(scope, name, len(text))
    for annotated in _opened(text, syntax, name).get_components():
        converter.add(annotated.component)
    return converter.ontology(), sorted(converter.rules, key=repr)


def _expanded(text: str, name: str) -> str:
    """OWL/XML without references to entities, which the library does not know."""
    try:
        return expand_entities(text)
    except ExpansionError as error:
        raise RejectedError(
            [Diagnostic("E305", str(error), Span(Source(name, text), error.offset, error.offset + 1))]
        ) from None


def _opened(text: str, syntax: str, name: str) -> Any:
    try:
        import pyhornedowl
    except ImportError:
        help_ = f"`pip install 'thalweg[owl]'`, or {_CONVERT}"
        message = f"`{name}` needs py-horned-owl, which is not installed"
        raise RejectedError([Diagnostic("E406", message, help=help_)]) from None
    _check_depth(Source(name, text), syntax)
    try:
        return pyhornedowl.open_ontology_from_string(text, syntax)  # type: ignore[arg-type]
    except ValueError as error:
        raise RejectedError([_diagnostic(str(error), Source(name, text))]) from None
    except BaseException as error:
        # The library panics at surprises such as a cardinality of twenty digits, and that is not an `Exception`.
        if type(error).__name__ != "PanicException":
            raise
        raise RejectedError([_diagnostic(str(error), Source(name, text))]) from None


def _check_depth(source: Source, syntax: str) -> None:
    """Rejects what is nested so deeply that the library, or the stack, would not bear it."""
    for level, place in _element_levels(source) if syntax == "owx" else _levels(source.text, syntax):
        if level > MOST_NESTED:
            if syntax == "owx":
                # The parser of XML counts bytes.
                place = len(source.text.encode()[:place].decode(errors="ignore"))
            raise RejectedError([Diagnostic("E302", TOO_DEEP, Span(source, place, place + 1), WAY_OUT)])


def _levels(text: str, syntax: str) -> Iterator[tuple[int, int]]:
    """How deep a text is nested wherever that changes, and at which offset.

    >>> [level for level, _ in _levels("A and r some (not B)", "omn")]
    [0, 1, 2, 3, 1]
    """
    # The level at which each open bracket stands, and the level of what is read now.
    outer, level = [0], 0
    for mark in _LEVELS[syntax].finditer(text):
        match mark.lastgroup:
            case "open":
                outer.append(level)
                level += 1
            case "close":
                level = outer.pop() if len(outer) > 1 else 0
            case "deeper":
                level += 1
            case "end":
                level = outer[-1] + (len(outer) > 1)
        yield level, mark.start()


def _element_levels(source: Source) -> list[tuple[int, int]]:
    """The same for the elements of XML; one that has no end is rejected, for the library would wait for it for ever."""
    levels: list[tuple[int, int]] = []
    parser = expat.ParserCreate()

    def opened(*_: object) -> None:
        levels.append((levels[-1][0] + 1 if levels else 1, parser.CurrentByteIndex))

    def closed(*_: object) -> None:
        levels.append((levels[-1][0] - 1, parser.CurrentByteIndex))

    parser.StartElementHandler, parser.EndElementHandler = opened, closed
    data = source.text.encode()
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        place = len(data[: parser.ErrorByteIndex].decode(errors="ignore"))
        message = f"this is not XML: {expat.ErrorString(error.code)}"
        raise RejectedError(
            [Diagnostic("E101", message, Span(source, place, place + 1), help=f"correct it, or {_CONVERT}")]
        ) from None
    return levels


def _diagnostic(error: str, source: Source) -> Diagnostic:
    """The diagnostic for an error of the library, with the place that its text contains."""
    span = _place(error, source)
    quoted = re.search(r'Error\("((?:[^"\\]|\\.)*)"', error)
    expected = re.search(r"positives: \[([^\]]+)\]", error)
    if quoted:
        message = quoted.group(1)
    elif expected:
        message = f"expected {_wish(expected.group(1).split(', '))}"
    else:
        message = f"this is not valid in this syntax: {error.removeprefix('Failed to open ontology: ')}"
    return Diagnostic("E101", message, span, help=f"correct it, or {_CONVERT}")


def _wish(rules: list[str]) -> str:
    """The rules of the library's grammar in words; of a long list, only the first.

    >>> _wish(["EOI", "RFC3987_Iri", "OrKw", "ClassExpression", "Frame", "Misc"])
    'the end, an IRI, `or`, class expression, …'
    """
    words = list(dict.fromkeys(map(_word, rules)))
    return ", ".join([*words[:4], "…"]) if len(words) > 4 else " or ".join(words)


def _word(rule: str) -> str:
    if rule.startswith(("RFC3987", "SPARQL", "FullIRI", "IRI")):
        return "an IRI"
    if rule.endswith("Kw"):
        return f"`{rule.removesuffix('Kw').lower()}`"
    return "the end" if rule == "EOI" else re.sub(r"(?<=[a-z])(?=[A-Z])", " ", rule).lower()


def _place(error: str, source: Source) -> Span:
    line = re.search(r"line_col: Pos\(\((\d+), (\d+)\)\)", error)
    if line:
        number, column = map(int, line.groups())
        start = sum(len(text) for text in source.text.splitlines(keepends=True)[: number - 1]) + column - 1
        return Span(source, start, start + 1)
    span = re.search(r"ByteSpan\((\d+)\.\.(\d+)\)", error)
    start, end = map(int, span.groups()) if span else (0, 0)
    data = source.text.encode()
    return Span(source, len(data[:start].decode(errors="ignore")), len(data[:end].decode(errors="ignore")))


class _Converter:
    """Turns the library's constructs into ours, and sorts them into the parts of an ontology."""

    def __init__(self, scope: str, name: str, length: int) -> None:
        self.scope = scope
        self.name = name
        self.length = length
        self.axioms: list[Axiom] = []
        self.declarations: list[Declaration] = []
        self.annotations: list[Triple] = []
        self.imports: list[str] = []
        self.rules: list[DLSafeRule] = []
        self.used: dict[str, set[str]] = {"DataProperty": set(), "ObjectProperty": set()}

    def ontology(self) -> Ontology:
        """What has been added, in an order that does not depend on the library's."""
        return Ontology(
            tuple(sorted(self.axioms, key=axioms.show)),
            tuple(sorted([*self.declarations, *self.undeclared()], key=axioms.show)),
            tuple(sorted(self.annotations)),
            tuple(sorted(self.imports)),
        )

    def undeclared(self) -> Iterator[Declaration]:
        """Data properties without a declaration, which axioms in RDF do not tell from object properties."""
        declared = (
            {declaration.name for declaration in self.declarations}
            | self.used["ObjectProperty"]
            | expressions.UNIVERSAL
        )
        # Manchester syntax does not tell the built-ins of rules from data properties.
        used = {name for name in self.used["DataProperty"] if not name.startswith(f"<{SWRLB}")}
        return (Declaration("DataProperty", name) for name in used - declared - expressions.EMPTY)

    def add(self, component: Any) -> None:
        kind = type(component).__name__
        if kind.startswith("Declare"):
            self.declarations.append(Declaration(kind.removeprefix("Declare"), self.ours(component.first)))
        elif kind == "Import":
            self.imports.append(self.ours(component.first))
        elif kind in _ABOUT_ANNOTATIONS:
            first, second = self.parts(component)
            self.annotations.append((first, _ABOUT_ANNOTATIONS[kind], second))
        elif kind == "AnnotationAssertion":
            self.annotations.append(self.annotation(self.ours(component.subject), component.ann))
        elif kind in _OURS:
            self.axioms.append(self.ours(component))
        elif kind == "Rule":
            body, head = (tuple(map(self.atom, part)) for part in (component.body, component.head))
            self.rules.append(DLSafeRule(body, head))

    def atom(self, construct: Any) -> SwrlAtom:
        """An atom of a rule; the library has arguments in one field, in two, or in a list."""
        kind = type(construct).__name__
        names = type(construct).__match_args__
        predicate = self.ours(construct.pred) if "pred" in names else ""
        parts = [getattr(construct, name) for name in names if name != "pred"]
        arguments = [argument for part in parts for argument in (part if isinstance(part, list | tuple) else [part])]
        return _ATOMS[kind](predicate, tuple(map(self.argument, arguments)))

    def argument(self, construct: Any) -> Argument:
        return (
            SwrlVariable(self.ours(construct.first)) if type(construct).__name__ == "Variable" else self.ours(construct)
        )

    def annotation(self, subject: str, construct: Any) -> Triple:
        return subject, self.ours(construct.ap), self.ours(construct.av)

    def ours(self, construct: Any) -> Any:
        """Our construct for one of the library's."""
        kind = type(construct).__name__
        match kind:
            case "int":
                return construct
            case "list":
                return tuple(map(self.ours, construct))
            case "IRI":
                return f"<{construct}>"
            case "DataProperty" | "ObjectProperty":
                name = self.ours(construct.first)
                self.used[kind].add(name)
                return name
            case "AnonymousIndividual":
                return rdf.blank(construct.first.removeprefix("_:"), self.scope)
            case "SimpleLiteral":
                return rdf.literal(self.text(construct))
            case "LanguageLiteral":
                return rdf.literal(self.text(construct), f"@{construct.lang}")
            case "DatatypeLiteral":
                return rdf.literal(self.text(construct), self.ours(construct.datatype_iri))
            case "FacetRestriction":
                return _facet(str(construct.f)), self.ours(construct.l)
            case "InverseObjectProperty":
                return ObjectInverseOf(self.ours(construct.first))
            case "HasKey":
                return self.key(construct)
            case "SubObjectPropertyOf" if isinstance(construct.sub, list):
                return SubObjectPropertyOf(ObjectPropertyChain(self.ours(construct.sub)), self.ours(construct.sup))
        return _OURS[kind](*self.fillers(kind, self.parts(construct))) if kind in _OURS else self.ours(construct.first)

    def text(self, construct: Any) -> str:
        """The text of a literal. The library repeats elements of OWL/XML that it does not expect, again and again."""
        text = str(construct.literal)
        if len(text) > self.length:
            message = f"`{self.name}` has an element where a literal is expected"
            raise RejectedError([Diagnostic("E305", message, help=_CONVERT)])
        return text

    def parts(self, construct: Any) -> list[Any]:
        return [self.ours(getattr(construct, _FIELDS.get(name, name))) for name in type(construct).__match_args__]

    def fillers(self, kind: str, parts: list[Any]) -> list[Any]:
        """The library fills in `owl:Thing` where a cardinality has no filler."""
        if not kind.endswith("Cardinality"):
            return parts
        everything = expressions.THING if kind.startswith("Object") else expressions.LITERAL
        return [*parts[:2], expressions.unless(parts[2], everything)]

    def key(self, construct: Any) -> HasKey:
        data = tuple(self.ours(part) for part in construct.vpe if type(part).__name__ == "DataProperty")
        objects = tuple(self.ours(part) for part in construct.vpe if type(part).__name__ != "DataProperty")
        return HasKey(self.ours(construct.ce), objects, data)


def _facet(name: str) -> str:
    """The IRI of a facet.

    >>> _facet("Facet.MinInclusive"), _facet("Facet.LangRange")
    ('<http://www.w3.org/2001/XMLSchema#minInclusive>', '<http://www.w3.org/1999/02/22-rdf-syntax-ns#langRange>')
    """
    _, _, word = name.partition(".")
    namespace = RDF if word == "LangRange" else XSD
    return f"<{namespace}{word[0].lower()}{word[1:]}>"
