"""The values of aggregates over bags of terms, as SPARQL has them: of many groups at once."""

from collections import Counter
from collections.abc import Sequence

from thalweg.languages.rspql.lowered import Aggregation
from thalweg.parts.queries.asking import Asking

Key = tuple[int, ...]


def group_values(
    aggregations: Sequence[Aggregation],
    names: Sequence[str],
    bags: Sequence[Counter[Key]],
    asking: Asking,
) -> list[Key]:
    """For each bag the words of its aggregates, `UNBOUND` where there is no value.

    >>> from thalweg.model.dictionary import Dictionary
    >>> count = Aggregation("COUNT", "*", (), False, "n")
    >>> group_values([count], (), [Counter({(): 3})], Asking(Dictionary()))
    [(13,)]
    """
    columns = []
    for each in aggregations:
        if each.argument == "*":
            columns.append([sum(bag.values()) << 2 | 1 for bag in bags])
        else:
            columns.append(asking.aggregated(each, names, bags))
    return [tuple(column[place] for column in columns) for place in range(len(bags))]
