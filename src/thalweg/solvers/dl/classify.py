"""Subsumptions of single classes that the rules do not derive, added as rules.

    A SubClassOf B or C,  B SubClassOf D,  C SubClassOf D      gives      ClassClause((A,), (D,))

An individual is put into a class, and whatever a first model says of it is tried to be avoided: what cannot be is a
subsumption. Each event that meets the class is then decided by rules, and not by cases again and again.
"""

from dataclasses import replace
from typing import Final

from thalweg.solvers.dl.least_model import Model, RuleIndex
from thalweg.solvers.dl.model_search import Outcome, find_model
from thalweg.solvers.dl.normal_form import ClassClause, NormalForm

_ONE: Final = "_:one"
_STEPS: Final = 60
_MOST: Final = 2_000


def with_subsumptions(form: NormalForm) -> NormalForm:
    """The normal form with the subsumptions of single classes as further clauses.

    >>> clauses = [ClassClause((1,), (2, 3)), ClassClause((2,), (4,)), ClassClause((3,), (4,))]
    >>> form = NormalForm(class_count=5, clauses=clauses)
    >>> with_subsumptions(form).clauses[-1]
    ClassClause(body=(1,), heads=(4,))
    """
    if form.is_horn or form.unsupported:
        return form
    model = Model(RuleIndex(form))
    if not model.close():
        return form
    model.forget_trail()
    subsumptions = [
        ClassClause((of,), (head,)) for of in range(1, min(form.class_count, _MOST)) for head in _above(model, of)
    ]
    return replace(form, clauses=[*form.clauses, *subsumptions]) if subsumptions else form


def _above(model: Model, of: int) -> list[int]:
    """The classes that follow of one, and that rules do not derive."""
    mark = model.mark()
    model.add_class(of, _ONE)
    if not model.close() or not model.violations(mark[1]):
        model.undo(mark)
        return []
    lower = set(model.types[_ONE])
    here = model.mark()
    if find_model(model, (), mark[1], _STEPS) is not Outcome.MODEL:
        model.undo(mark)
        return []
    open_, classes = model.types[_ONE] - lower, list[int]()
    model.undo(here)
    for candidate in sorted(open_):
        if candidate in open_:
            outcome = find_model(model, [(candidate, _ONE)], mark[1], _STEPS)
            if outcome is Outcome.MODEL:
                open_ &= model.types[_ONE]
            elif outcome is Outcome.CLOSED:
                classes.append(candidate)
            model.undo(here)
    model.undo(mark)
    return classes
