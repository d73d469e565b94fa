"""Class expressions as users write them, in Manchester syntax, with the names that an ontology gives them.

    :Observation and (:hasValue some xsd:double[> 0.03])

An expression is read as a part of a small document that declares the names of the ontology, so that each word is taken
for what it is there: a class, a property of individuals or of literals, an individual, a datatype.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from thalweg.diagnostics import Diagnostic, RejectedError, Source, Span
from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl import syntaxes
from thalweg.languages.owl.axioms import Ontology, within
from thalweg.languages.owl.dl.class_syntax import first_mistake
from thalweg.languages.owl.expressions import NOTHING, THING, ClassExpression
from thalweg.languages.owl.kinds import is_reserved
from thalweg.languages.rspql.lexer import tokens
from thalweg.model.literals import DATATYPES, parts, value_of
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import OWN, XSD
from thalweg.model.similar import nearest
from thalweg.model.term import is_literal

_NAME: Final = f"{OWN}asked>"
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>\s]*>|[\[({]|[\])}]|,')
_FRAMES: Final = ("Class", "ObjectProperty", "DataProperty", "Individual", "Datatype")
_SIMPLE: Final = re.compile(r"<[^<>\s]+>\Z")


_IRI: Final = re.compile(r"<[^<>\s]+>")
_WORD: Final = re.compile(r"[^\s(){}\[\],<>\"^]+")
_NAMED: Final = r"(?:[\w-]*:[\w-]+|<[^<>\s]+>|[\w-]+)"
_RANGE: Final = re.compile(
    rf'(?P<text>"(?:[^"\\]|\\.)*")|(?P<left>{_NAMED}\s+(?:some|only|(?:min|max|exactly)\s+[0-9]+)\s+'
    rf"(?:xsd:\w+|<{XSD}\w+>)(?:\s*\[[^\]]*\])?)(?=\s+(?:and|or)\b)"
)


def _bracketed(text: str) -> str:
    """An expression in which a range ends where Manchester syntax says so; py-horned-owl lets it go on with `and`.

    >>> _bracketed(":w some xsd:double[> 3.0] and :C")
    '(:w some xsd:double[> 3.0]) and :C'
    """
    return _RANGE.sub(lambda match: match.group() if match.group("text") else f"({match.group()})", text)


def split_classes(text: str) -> list[str]:
    """The expressions of a list; commas inside of brackets, texts and IRIs do not separate.

    >>> split_classes(":A, :w some xsd:integer[> 1, < 5], {:a, :b}")
    [':A', ':w some xsd:integer[> 1, < 5]', '{:a, :b}']
    """
    pieces, depth, start = list[str](), 0, 0
    for token in _TOKEN.finditer(text):
        depth += (token.group() in "[({") - (token.group() in "])}")
        if token.group() == "," and depth <= 0:
            pieces.append(text[start : token.start()])
            start = token.end()
    return [piece.strip() for piece in (*pieces, text[start:]) if piece.strip()]


def _mentioned(text: str, prefixes: Mapping[str, str]) -> set[str]:
    """The IRIs that an expression may mention: those of its words by the prefixes, the default one included.

    >>> sorted(_mentioned(":A and <http://b/C>", {"": "http://a/"}))
    ['<http://a/A>', '<http://a/and>', '<http://b/C>']
    """
    names = {match.group() for match in _IRI.finditer(text)}
    for word in _WORD.findall(text):
        space, colon, local = word.partition(":")
        space, local = (space, local) if colon else ("", word)
        if space in prefixes:
            names.add(f"<{prefixes[space]}{local}>")
    return names


class Vocabulary:
    """The names of an ontology by what they name; where it `is_open`, other names may be used, too."""

    def __init__(self, ontology: Ontology, is_open: bool = False) -> None:
        self._is_open = is_open
        self.kinds: dict[str, set[str]] = {frame: set() for frame in _FRAMES}
        self._declared: dict[str, str] = {}
        for declared in ontology.declarations:
            frame = "Individual" if declared.kind == "NamedIndividual" else declared.kind
            self.kinds.get(frame, set()).add(declared.name)
            self._declared.setdefault(declared.name, frame)
        for axiom in ontology.axioms:
            for part in within(axiom):
                for frame, name in _uses(part) if not isinstance(part, str) else ():
                    if name[0] == "<" and not is_reserved(name):
                        self.kinds[frame].add(name)

    def read(self, text: str, prefixes: Mapping[str, str], source: str = "--classes") -> ClassExpression:
        """The class that an expression stands for; `RejectedError` with its place where it is none.

        >>> vocabulary = Vocabulary(Ontology((ax.DataPropertyDomain("<http://a/w>", "<http://a/C>"),)))
        >>> ax.show(vocabulary.read(":w some xsd:integer[> 3] and :C", {"": "http://a/", "xsd": XSD}))
        'ObjectIntersectionOf(DataSomeValuesFrom(<http://a/w> DatatypeRestriction(<...integer> ...)) <http://a/C>)'
        """
        if _SIMPLE.match(text):
            return self._checked(text, text, source, prefixes)
        head = "".join(f"Prefix: {name}: <{space}>\n" for name, space in sorted(prefixes.items()))
        head += f"Ontology: {OWN}document>\n"
        # A property that is of both kinds is taken for one of literals where it has a range. Individuals are told by
        # where they stand.
        mentioned = sorted(_mentioned(text, prefixes))
        frames = (frame for frame in _FRAMES if frame != "Individual")
        head += "".join(f"{frame}: {name}\n" for frame in frames for name in mentioned if name in self.kinds[frame])
        head += f"Class: {_NAME}\n EquivalentTo:\n"
        try:
            document = syntaxes.read(f"{head} {_bracketed(text)}\n", "omn", source)
        except RejectedError as error:
            if any(diagnostic.code == "E406" for diagnostic in error.diagnostics):
                raise RejectedError([_NOT_INSTALLED]) from None
            raise RejectedError(_explained(error.diagnostics, text, len(head) + 1, source)) from None
        for axiom in document.axioms:
            if isinstance(axiom, ax.EquivalentClasses) and _NAME in axiom.classes:
                found_class = next(expression for expression in axiom.classes if expression != _NAME)
                return self._checked(found_class, text, source, prefixes)
        raise RejectedError([_wrong(f"`{text}` is not a class", text, source)])

    def _checked(
        self, expression: ClassExpression, text: str, source: str, prefixes: Mapping[str, str]
    ) -> ClassExpression:
        """A class, if the ontology has all its names, and each as what it is used for."""
        wrong = {name: problem for name in ax.mentioned(expression) if (problem := self._unknown(name)) is not None}
        for part in within(expression):
            for frame, name in (
                (("Class", part),) if part is expression and isinstance(part, str) else _uses_inside(part)
            ):
                if name not in wrong and (problem := self._misused(frame, name)) is not None:
                    wrong[name] = problem
            if isinstance(part, ex.DatatypeRestriction):
                wrong |= _unusable(part)
        if wrong:
            places = _places(text, source, prefixes)
            span = Span(Source(source, text), 0, len(text))
            raise RejectedError(
                Diagnostic("E702", message, places.get(name, span), help_) for name, (message, help_) in wrong.items()
            )
        return expression

    def _unknown(self, name: str) -> tuple[str, str] | None:
        """What is wrong with a name that the ontology does not have, and the way out."""
        if name[0] != "<" or is_literal(name) or is_reserved(name) or name in (THING, NOTHING):
            return None
        if name.startswith(_XSD):
            close = _similar_datatype(name)
            return None if close is None else (f"unknown datatype `{name}`", f"did you mean `{close}`?")
        if self._is_open or any(name in names for names in self.kinds.values()):
            return None
        vocabulary = {entry for names in self.kinds.values() for entry in names}
        meant = nearest(Predicate(name, 1), (Predicate(entry, 1) for entry in sorted(vocabulary)))
        return f"the ontology does not have the name `{name}`", f"there is `{meant.name}`" if meant else _WAY_OUT

    def _misused(self, frame: str, name: str) -> tuple[str, str] | None:
        """What is wrong with a name that is declared as something else in the ontology, and the way out."""
        declared = _TITLES.get(self._declared.get(name, ""))
        if name in self.kinds[frame] or declared is None:
            return None
        return f"`{name}` is {declared} in the ontology, and {_TITLES[frame]} here", _USES[frame]


_XSD: Final = f"<{XSD}"
_CLOSE: Final = 0.9
_NOT_INSTALLED: Final = Diagnostic(
    "E406",
    "class expressions are read by py-horned-owl, which is not installed",
    help="install it with `pip install 'thalweg[owl]'`, or name the class in the ontology, and use its name",
)
_TITLES: Final = {
    "Class": "a class",
    "ObjectProperty": "an object property",
    "DataProperty": "a data property",
    "Individual": "an individual",
    "Datatype": "a datatype",
}
_USES: Final = {
    "Class": "use a class, or say what the property leads to, as in `:r some :C`",
    "ObjectProperty": "an object property leads to individuals of a class, as in `:r some :C`",
    "DataProperty": "a data property leads to values of a datatype, as in `:p some xsd:double[> 3.0]`",
    "Datatype": "a data property leads to values of a datatype, as in `:p some xsd:double[> 3.0]`",
}


@lru_cache(maxsize=256)
def _similar_datatype(name: str) -> str | None:
    """The datatype that a name which is none may have been meant for."""
    close = get_close_matches(name, DATATYPES, 1, _CLOSE) if name not in DATATYPES else ()
    return close[0] if close else None


def _unusable(range: ex.DatatypeRestriction) -> dict[str, tuple[str, str]]:
    """What is wrong with a range whose bounds are not values of its datatype."""
    kinds = [datatype for datatype in (range.datatype, f"<{XSD}double>") if datatype in DATATYPES]
    for facet, literal in range.facets:
        text = parts(literal)[0]
        if facet.endswith("clusive>") and not any(value_of(text, kind) for kind in kinds):
            message = f"`{literal}` is not a value of `{range.datatype}`"
            return {range.datatype: (message, "write a value of this datatype, as in `xsd:double[> 3.0]`")}
    return {}


def _uses_inside(part: object) -> Iterator[tuple[str, str]]:
    """What the names directly inside a part of an expression are used as; individuals may have any name."""
    if isinstance(part, ex.DataQuantifier | ex.DataCardinality) and isinstance(part.filler, str):
        yield "Datatype", part.filler
    if isinstance(part, ex.DatatypeRestriction):
        yield "Datatype", part.datatype
    yield from ((frame, name) for frame, name in _uses(part) if frame != "Individual")


def _places(text: str, source: str, prefixes: Mapping[str, str]) -> dict[str, Span]:
    """Where each name of an expression stands first."""
    places: dict[str, Span] = {}
    for token in tokens(text):
        space, _, local = token.text.partition(":")
        name = token.text if token.kind == "iri" else f"<{prefixes.get(space, '')}{local}>"
        places.setdefault(name, Span(Source(source, text), token.start, token.end))
    return places


def _uses(part: object) -> Iterator[tuple[str, str]]:
    """What the names directly inside a construct name."""
    match part:
        case ax.SubClassOf() | ax.ClassesAxiom() | ax.DisjointUnion() | ex.ObjectClasses() | ex.ObjectComplementOf():
            yield from (("Class", name) for name in _names(ax.parts(part)))
        case ex.ObjectQuantifier(property, filler) | ex.ObjectCardinality(_, property, filler):
            yield from (("ObjectProperty", name) for name in _names((property,)))
            yield from (("Class", name) for name in _names((filler,)))
        case ax.ObjectPropertyDomain(property, expression) | ax.ObjectPropertyRange(property, expression):
            yield from (("ObjectProperty", name) for name in _names((property,)))
            yield from (("Class", name) for name in _names((expression,)))
        case ax.DataPropertyDomain(property, expression):
            yield from (("DataProperty", name) for name in _names((property,)))
            yield from (("Class", name) for name in _names((expression,)))
        case ax.DataPropertyRange(name, _) | ex.DataQuantifier(name, _) | ex.DataCardinality(_, name, _):
            yield "DataProperty", name
        case ax.FunctionalDataProperty(name) | ex.DataHasValue(name, _):
            yield "DataProperty", str(name)
        case ax.SubDataPropertyOf(sub, other):
            yield from (("DataProperty", name) for name in (sub, other))
        case ax.EquivalentDataProperties(properties) | ax.DisjointDataProperties(properties):
            yield from (("DataProperty", name) for name in _names(properties))
        case ax.Characteristic(property) | ex.ObjectHasSelf(property):
            yield from (("ObjectProperty", name) for name in _names((property,)))
        case ax.SubObjectPropertyOf() | ax.PropertiesAxiom() | ax.InverseObjectProperties() | ex.ObjectPropertyChain():
            yield from (("ObjectProperty", name) for name in _names(ax.parts(part)))
        case ex.ObjectInverseOf(name):
            yield "ObjectProperty", name
        case _:
            yield from _uses_of_individuals(part)


def _uses_of_individuals(part: object) -> Iterator[tuple[str, str]]:
    match part:
        case ax.ClassAssertion(of, individual):
            yield from (("Class", name) for name in _names((of,)))
            yield "Individual", individual
        case ax.ObjectPropertyAssertion(property) | ax.NegativeObjectPropertyAssertion(property):
            yield from (("ObjectProperty", name) for name in _names((property,)))
        case ax.DataPropertyAssertion(property) | ax.NegativeDataPropertyAssertion(property):
            yield from (("DataProperty", name) for name in _names((property,)))
        case ex.ObjectOneOf(individuals) | ax.IndividualsAxiom(individuals):
            yield from (("Individual", name) for name in individuals)
        case ex.ObjectHasValue(property, individual):
            yield from (("ObjectProperty", name) for name in _names((property,)))
            yield "Individual", individual
        case ax.DatatypeDefinition(name, _):
            yield "Datatype", name


def _names(parts: Iterable[object]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, tuple):
            yield from _names(part)
        elif isinstance(part, str) and not is_literal(part):
            yield part


def _explained(diagnostics: Sequence[Diagnostic], text: str, offset: int, source: str) -> list[Diagnostic]:
    """What is wrong with the document as what is wrong with the expression: in plain words, where these are known."""
    wrong = first_mistake(tokens(text))
    if wrong is not None:
        place = Span(Source(source, text), wrong.start, wrong.end)
        return [Diagnostic("E101", wrong.message, place, wrong.help)]
    starts = [min(max(diagnostic.span.start - offset, 0), max(len(text) - 1, 0)) for diagnostic in diagnostics]
    places = [Span(Source(source, text), start, start + 1) for start in starts]
    return [
        Diagnostic("E101", diagnostic.message, place, _WAY_OUT)
        for diagnostic, place in zip(diagnostics, places, strict=True)
    ]


_WAY_OUT: Final = "write a class of the ontology, or an expression such as `:A and (:r some :B)`, with known prefixes"


def _wrong(message: str, text: str, source: str, code: str = "E101", way_out: str = _WAY_OUT) -> Diagnostic:
    return Diagnostic(code, message, Span(Source(source, text), 0, len(text)), way_out)


def read_classes(
    texts: Sequence[str], ontology: Ontology, prefixes: Mapping[str, str]
) -> list[tuple[str, ClassExpression]]:
    """The classes of some expressions, each with its label: the IRI of a name, else the expression as it was written.

    All that is wrong with them is in one `RejectedError`.
    """
    vocabulary, classes, wrong = Vocabulary(ontology), list[tuple[str, ClassExpression]](), list[Diagnostic]()
    for text in texts:
        try:
            expression = vocabulary.read(text, prefixes)
        except RejectedError as error:
            wrong += error.diagnostics
        else:
            classes.append((expression if isinstance(expression, str) else text, expression))
    if wrong:
        raise RejectedError(wrong)
    return classes
