"""What decides a class, as a text: the axioms that can matter to it, and the data with the names in them.

A class that is asked for beside others has the same text as alone, so that it can be told whether it has changed.
"""

from collections.abc import Iterable
from functools import cached_property
from hashlib import sha256

from thalweg.kinds.definitions import Definition
from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl.axioms import Axiom, show
from thalweg.languages.owl.dl.abstraction_program import ASKED, AbstractionProgram, inhabited
from thalweg.languages.owl.dl.top_module import Modules
from thalweg.model.predicate import Predicate


class OntologyText:
    """Texts of what some names of a program depend on.

    >>> from thalweg.languages.owl.dl.abstraction_program import compile_abstraction
    >>> graph = ax.Ontology((ax.SubClassOf("<B>", "<A>"), ax.SubClassOf("<C>", "<D>"), ax.ClassAssertion("<B>", "<x>")))
    >>> one, both = (OntologyText(compile_abstraction("", graph, [(name, name) for name in names]))
    ...              for names in (["<A>"], ["<A>", "<D>"]))
    >>> one.about(["<A>"]) == both.about(["<A>"]), one.about(["<A>"]) == both.about(["<D>"])
    (True, False)
    """

    def __init__(self, program: AbstractionProgram) -> None:
        self._program = program
        axioms = program.axioms
        definitions = {axiom.datatype: axiom.range for axiom in axioms if isinstance(axiom, ax.DatatypeDefinition)}
        self._modules = Modules(axioms, inhabited(definitions, axioms))
        self._known: dict[frozenset[str], str] = {}

    def about(self, names: Iterable[str]) -> str:
        """A text that is the same where the same axioms and data can matter to some names."""
        wanted = frozenset(names)
        if wanted not in self._known:
            axioms, related = self._modules.of(wanted)
            own = sorted(show(axiom) for axiom in axioms if not _names_expression(axiom))
            data = [self._data[name] for name in sorted(related) if name in self._data]
            self._known[wanted] = digest(self._always, *own, *data)
        return self._known[wanted]

    def entailed(self, names: Iterable[str]) -> str:
        """The same for what follows about names that are looked up; no text where no axiom can matter to them."""
        wanted = frozenset(names)
        return self.about(wanted) if self._modules.always or self._modules.of(wanted)[0] else ""

    @cached_property
    def _always(self) -> str:
        """What can matter to all names."""
        program = self._program
        same = sorted(program.same.items())
        return digest(repr((program.reasoner, program.individuals, same)), *sorted(map(show, self._modules.always)))

    @cached_property
    def _data(self) -> dict[str, str]:
        """The facts of each name."""
        facts: dict[str, list[str]] = {}
        background = self._program.background
        for name, *terms in (*background.classes, *background.edges, *background.literals):
            facts.setdefault(name, []).append(repr(terms))
        return {name: digest(name, *sorted(texts)) for name, texts in facts.items()}


def _names_expression(axiom: Axiom) -> bool:
    """Whether an axiom gives a class expression the name by which it is asked for, which has its number."""
    return isinstance(axiom, ax.SubClassOf) and isinstance(axiom.sup, str) and axiom.sup.startswith(ASKED)


def digest(*texts: str) -> str:
    """One text for several."""
    return sha256("\0".join(texts).encode()).hexdigest()[:32]


def class_definitions(program: AbstractionProgram) -> tuple[Definition, ...]:
    """The classes that were asked for, each as a unit; none where all are, which are one."""
    if not program.chosen:
        return ()
    ontology = OntologyText(program)
    return tuple(
        Definition(
            f"the class `{wanted.label}`",
            digest(wanted.label, ontology.about([wanted.name])),
            frozenset({Predicate(wanted.label, 1)}),
            hears=True,
        )
        for wanted in program.asked
    )
