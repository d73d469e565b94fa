"""Which topology is best for a stream: what each way to check is expected to cost.

ntm     a tuple is kept, and looked for in every class that its own is disjoint with
ltm     the same among fewer classes, but it is made a member of others on its way, and kept again
sides   a tuple is kept with the kind of its class, and everything known of the individual is looked at once
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from thalweg.planning.topology import (
    Taxonomy,
    Topology,
    assigned,
    best_sizes,
    bits,
    in_order,
    ltm,
    ntm,
    pairs_in,
)


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of the steps for one tuple: looking for a partner, keeping it, inferring another, passing it on.

    In microseconds, as our engine needs them for the ontology of NPD; where bolts share a process, nothing is moved.
    Between two stages on Spark a tuple is packed, shuffled and unpacked.
    """

    conjunction: float = 0.14
    caching: float = 0.7
    inference: float = 0.35
    shuffle: float = 0.0


USUAL: Final = Costs()


def moved() -> Costs:
    """The costs of the steps where each bolt is a stage on Spark."""
    return replace(USUAL, shuffle=_SHUFFLE)


# Measured for packed batches of 400,000 rows, on two cores.
_SHUFFLE: Final = 3.2


@dataclass(frozen=True, slots=True)
class Choice:
    """A way to check, and what a tuple is expected to cost. `topology` is None where there are no bolts.

    That is `sides`: of a class nothing is kept but the sides of disjointness axioms that it is on, and one look at what
    is known of an individual finds two that do not go together.
    """

    method: str
    topology: Topology | None
    cost: float


def lay_out(
    taxonomy: Taxonomy,
    name: str,
    bolts: int | None = None,
    frequencies: Mapping[str, float] | None = None,
    costs: Costs = USUAL,
) -> Choice:
    """The topology of a name: `ntm`, `ltm` on a number of bolts (by default the best), or `auto`, the cheapest.

    >>> from thalweg.planning.topology import taxonomy
    >>> staff = taxonomy([("Student", "Person")], [("Person", "Work"), ("Student", "Employee")])
    >>> [lay_out(staff, name).method for name in TOPOLOGIES]
    ['ntm', 'ltm', 'ntm']
    """
    rates = evenly(taxonomy) if frequencies is None else frequencies
    if name == "auto":
        return choose(taxonomy, rates, costs, bolts or AT_MOST)
    taxonomy = taxonomy.in_pairs()
    if name == "ltm" and bolts is None:
        return min(
            pipelines(taxonomy, rates, costs, AT_MOST), key=_cost, default=lay_out(taxonomy, "ltm", 1, rates, costs)
        )
    topology = ntm(taxonomy) if name == "ntm" else ltm(taxonomy, bolts or 1)
    return Choice(name, topology, cost_of(topology, rates, costs))


def evenly(taxonomy: Taxonomy) -> dict[str, float]:
    """Equal frequencies for all classes, where no stream has been measured."""
    return dict.fromkeys(taxonomy.classes, 1 / max(1, len(taxonomy.classes)))


TOPOLOGIES: Final = ("ntm", "ltm", "auto")
# Longer pipelines are not looked at unless they are asked for.
AT_MOST: Final = 8


def choose(taxonomy: Taxonomy, frequencies: Mapping[str, float], costs: Costs = USUAL, bolts: int = 1) -> Choice:
    """The cheapest way to check a stream in which classes are so frequent; one that is not mentioned, not at all.

    >>> from thalweg.planning.topology import taxonomy
    >>> staff = taxonomy([("Student", "Person")], [("Person", "Work"), ("Student", "Employee")])
    >>> choose(staff, {"Student": 0.5, "Work": 0.5}).method, choose(staff, {"Employee": 1.0}).method
    ('sides', 'ntm')
    """
    return min(choices(taxonomy, frequencies, costs, bolts), key=_cost)


def _cost(choice: Choice) -> float:
    return choice.cost


def choices(taxonomy: Taxonomy, frequencies: Mapping[str, float], costs: Costs, bolts: int) -> Iterator[Choice]:
    """Every way to check, with its expected cost: NTM, the best LTM of each length, and by sides."""
    yield Choice("sides", None, cost_of_sides(taxonomy, frequencies, costs))
    if not taxonomy.large and pairs_in(taxonomy) <= _TOO_MANY:
        yield Choice("ntm", ntm(taxonomy), cost_of(ntm(taxonomy), frequencies, costs))
        yield from pipelines(taxonomy, frequencies, costs, bolts)


def pipelines(taxonomy: Taxonomy, frequencies: Mapping[str, float], costs: Costs, bolts: int) -> Iterator[Choice]:
    """The best LTM on two bolts, on three, and so on."""
    for sizes in best_sizes(taxonomy, in_order(taxonomy), bolts)[1:]:
        topology = assigned(taxonomy, sizes)
        yield Choice("ltm", topology, cost_of(topology, frequencies, costs))


# With more pairs than this, a rule for each would be too many.
_TOO_MANY: Final = 100_000


def cost_of(topology: Topology, frequencies: Mapping[str, float], costs: Costs = USUAL) -> float:
    """What a tuple costs on its way through the bolts.

    >>> from thalweg.planning.topology import taxonomy
    >>> bolts = ltm(taxonomy([("Student", "Person")], [("Person", "Work"), ("Student", "Employee")]), bolts=2)
    >>> cost_of(bolts, {"Student": 1.0}, Costs(conjunction=1, caching=2, inference=3, shuffle=10))
    19.0
    """
    rates, total = dict(frequencies), 0.0
    for bolt in topology:
        partners: dict[str, int] = {}
        for name in (name for pair in bolt.conjunctions for name in pair):
            partners[name] = partners.get(name, 0) + 1
        total += sum(rates.get(name, 0) * (costs.caching + n * costs.conjunction) for name, n in partners.items())
        moved = {name: rates[name] for name in bolt.forwards if name in rates}
        for sub, sup in bolt.inferences:
            total += rates.get(sub, 0) * costs.inference
            moved[sup] = moved.get(sup, 0) + rates.get(sub, 0)
        total += sum(moved.values()) * costs.shuffle
        rates = moved
    return total


def cost_of_sides(taxonomy: Taxonomy, frequencies: Mapping[str, float], costs: Costs = USUAL) -> float:
    """What a tuple costs when it is kept as the kind of its class, and looks around from both ends."""
    rate = sum(frequencies.get(taxonomy.classes[n], 0) for n in bits(taxonomy.sided))
    return rate * (costs.caching + 2 * costs.conjunction)
