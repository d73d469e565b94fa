"""An ontology that goes on being asked for classes, and for what follows about names, while a program runs.

It is read and prepared once; each question costs as much as the axioms and the data that can matter to it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from thalweg.languages.owl import structure
from thalweg.languages.owl.axioms import Ontology
from thalweg.languages.owl.compiling import inside
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, GrowingProgram, PreparedOntology
from thalweg.languages.owl.dl.manchester import Vocabulary
from thalweg.languages.owl.dl.subscribe import declaring, lookup_program
from thalweg.languages.owl.expressions import ClassExpression
from thalweg.model.predicate import Predicate
from thalweg.model.vocabulary import Triple


class AskableOntology:
    """The ontology of some triples, or that of an earlier program; classes may also use what is `concluded` beside it.

    >>> ontology = AskableOntology([("<x>", "<p>", "<y>")], None)
    >>> [wanted.label for wanted in ontology.program(["<A>"]).asked]
    ['<A>']
    """

    def __init__(
        self, triples: Sequence[Triple], earlier: AbstractionProgram | None, concluded: Iterable[Predicate] = ()
    ) -> None:
        self._triples = triples
        self._earlier = earlier
        self._concluded = tuple(concluded)
        self._read: dict[str, ClassExpression] = {}

    @cached_property
    def _ontology(self) -> Ontology:
        ontology = structure.read(self._triples)
        profile = None if self._earlier is None else self._earlier.profile
        return ontology if profile in (None, "dl") else inside(ontology, profile)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        is_open = self._earlier is None
        return Vocabulary(declaring(self._ontology, self._concluded), is_open)

    @cached_property
    def _prepared(self) -> PreparedOntology:
        return PreparedOntology(self._ontology)

    def read(self, text: str) -> ClassExpression:
        """The class that an expression stands for, its names written as IRIs; `RejectedError` where it is none."""
        if text not in self._read:
            self._read[text] = self._vocabulary.read(text, {})
        return self._read[text]

    def forget(self, text: str) -> None:
        """An expression is not needed any more."""
        self._read.pop(text, None)

    def program(self, texts: Iterable[str]) -> AbstractionProgram:
        """What classifies events by some classes, whose labels are the expressions."""
        return self.growing(texts).program

    def growing(self, texts: Iterable[str]) -> GrowingProgram:
        """The same, as a program to which classes can be added."""
        growing = self._prepared.growing("", [(text, self.read(text)) for text in texts])
        # A selection of events would be made anew for each class that is added.
        growing.program = replace(self._like_earlier(growing.program), chosen=False)
        return growing

    def lookup(self, names: Iterable[Predicate] | None) -> AbstractionProgram | None:
        """What finds all that follows about some names, or about all; None where nothing follows."""
        if self._earlier is None:
            return None
        program = lookup_program("", self._ontology, None if names is None else sorted(names))
        return None if program is None else replace(self._like_earlier(program), triples=tuple(self._triples))

    def _like_earlier(self, program: AbstractionProgram) -> AbstractionProgram:
        earlier = self._earlier
        if earlier is None:
            return program
        return replace(program, reasoner=earlier.reasoner, individuals=earlier.individuals, profile=earlier.profile)
