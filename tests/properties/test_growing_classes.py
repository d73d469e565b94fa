"""*Classes that are added one by one = the same compiled together*: random ontologies, backgrounds and events."""

from collections import Counter
from collections.abc import Sequence

import pytest
from test_abstraction import given

from random_knowledge import CLASSES, KINDS, random_case, random_classes
from thalweg.kinds.classes.classifier import Classifier
from thalweg.kinds.classes.ladder import Ladder
from thalweg.languages.owl.axioms import Axiom, Ontology
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, PreparedOntology
from thalweg.languages.owl.expressions import ClassExpression
from thalweg.model.dictionary import Dictionary


def classifier(program: AbstractionProgram, words: Dictionary) -> Classifier:
    return Classifier(Ladder(program, "none"), lambda diagnostic: None, words)


def classified(found: Classifier, event: tuple[Axiom, ...]) -> tuple[str, set[tuple[str, str]]]:
    """Why an event has no classes, and the classes of its individuals."""
    code = found.dictionary.code
    facts = [(name, tuple(code(str(term)) for term in terms)) for name, terms in given(event)]
    event_found = found.classify("", facts)
    return event_found.rejected, {*event_found.classes}


def labelled(expressions: Sequence[ClassExpression]) -> list[tuple[str, ClassExpression]]:
    return [(f"asked {number}", expression) for number, expression in enumerate(expressions)]


@pytest.mark.parametrize("kind", KINDS)
def test_classes_that_are_added_are_decided_as_if_they_had_been_there(kind: str) -> None:
    counts: Counter[str] = Counter()
    for seed in range(60):
        case, words = random_case(seed, kind), Dictionary()
        ontology = PreparedOntology(Ontology((*case.schema, *case.background)))
        first, *others = labelled([*CLASSES[:2], *random_classes(seed, kind, 6)])
        growing = ontology.growing("", [first, *others[:1]])
        if not Ladder(growing.program, "none").consistent:
            continue
        grown, taken = classifier(growing.program, words), [first, *others[:1]]
        for event in case.events:
            classified(grown, event)
        for label, expression in others[1:]:
            growth = growing.add(label, expression)
            if growth is not None:
                grown.grow(growing.program, growth)
                taken.append((label, expression))
            counts["taken" if growth is not None else "not taken"] += 1
        whole = classifier(ontology.program("", taken), words)
        for event in case.events:
            both = classified(grown, event), classified(whole, event)
            if "undecided" in (both[0][0], both[1][0]):
                counts["undecided"] += 1
            else:
                assert both[0] == both[1], (seed, event)
                counts["members" if both[0][1] else both[0][0] or "none"] += 1
    assert counts["taken"] > 20
    assert counts["members"] > 20
