"""Facts as tables have them: texts without quotes."""

from thalweg.answers.answer_columns import cell
from thalweg.model.fact import Fact


def plain(fact: Fact) -> str:
    """A fact with its arguments as tables write them."""
    return f"{fact.predicate}({','.join(str(cell(term)) for term in fact.terms)})" if fact.terms else fact.predicate
