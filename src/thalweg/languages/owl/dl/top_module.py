"""The axioms that can matter to some classes: the module of top-locality.

    of { :A }        SubClassOf(:B :A)   yes, and then whatever can matter to :B        SubClassOf(:A :C)   no

An axiom is *local* if it says nothing once every name outside the module is taken for everything: for the class of all
individuals, for the property between any two. So any model of the module becomes a model of all axioms, and of all
assertions with names outside the module, by reading these names so. What the module does not entail of the classes
asked for, the whole ontology does not entail either; and it is consistent with data if the whole ontology is.
"""

from collections.abc import Callable, Iterable
from itertools import combinations

from thalweg.languages.owl import axioms as ax
from thalweg.languages.owl import expressions as ex
from thalweg.languages.owl.axioms import Axiom, within
from thalweg.languages.owl.expressions import EMPTY, LITERAL, NOTHING, THING, UNIVERSAL, ClassExpression, DataRange

IsInhabited = Callable[[DataRange], bool]


def top_module(
    axioms: Iterable[Axiom], names: Iterable[str], inhabited: IsInhabited
) -> tuple[list[Axiom], frozenset[str]]:
    """The axioms that can matter to these classes, and the names in them; `inhabited`: a value in a range is known.

    >>> axioms = [ax.SubClassOf("<B>", "<A>"), ax.SubClassOf("<A>", "<C>"), ax.ObjectPropertyDomain("<r>", "<B>")]
    >>> module, names = top_module(axioms, ["<A>"], lambda data_range: True)
    >>> [ax.show(axiom) for axiom in module], sorted(names)
    (['SubClassOf(<B> <A>)', 'ObjectPropertyDomain(<r> <B>)'], ['<A>', '<B>', '<r>'])
    """
    locality = _Locality(set(names), inhabited)
    remaining, module = list(enumerate(axioms)), list[tuple[int, Axiom]]()
    grown = True
    while grown:
        grown, left = False, list[tuple[int, Axiom]]()
        for place, axiom in remaining:
            if locality.is_local(axiom):
                left.append((place, axiom))
            else:
                module.append((place, axiom))
                before = len(locality.names)
                locality.names.update(_names(axiom))
                grown = grown or len(locality.names) > before
        remaining = left
    return [axiom for _, axiom in sorted(module, key=lambda pair: pair[0])], frozenset(locality.names)


class Modules:
    """The modules of many sets of names: what is the same for all of them is found once.

    >>> axioms = [ax.SubClassOf("<B>", "<A>"), ax.SubClassOf("<A>", "<C>"), ax.DisjointClasses(("<D>", "<E>"))]
    >>> modules = Modules(axioms, lambda data_range: True)
    >>> [ax.show(axiom) for axiom in modules.always], [ax.show(axiom) for axiom in modules.of(["<A>"])[0]]
    (['DisjointClasses(<D> <E>)'], ['SubClassOf(<B> <A>)'])
    """

    def __init__(self, axioms: Iterable[Axiom], inhabited: IsInhabited) -> None:
        self._axioms = list(axioms)
        self._inhabited = inhabited
        self.always, self._always_named = top_module(self._axioms, (), inhabited)
        self._naming: dict[str, list[int]] = {}
        in_all = set(map(id, self.always))
        for place, axiom in enumerate(self._axioms):
            for name in _names(axiom) if id(axiom) not in in_all else ():
                self._naming.setdefault(name, []).append(place)

    def of(self, names: Iterable[str]) -> tuple[list[Axiom], frozenset[str]]:
        """The axioms that can matter to some names, apart from those in all modules; and all names in the module."""
        locality = _Locality({*self._always_named, *names}, self._inhabited)
        # An axiom is local as long as none of its names is in the module.
        agenda, module = list(locality.names), set[int]()
        while agenda:
            for place in self._naming.get(agenda.pop(), ()):
                if place not in module and not locality.is_local(self._axioms[place]):
                    module.add(place)
                    new = _names(self._axioms[place]) - locality.names
                    locality.names |= new
                    agenda += new
        return [self._axioms[place] for place in sorted(module)], frozenset(locality.names)


def _names(axiom: Axiom) -> set[str]:
    return {part for part in within(axiom) if isinstance(part, str) and part[0] == "<"}


class _Locality:
    """Whether axioms say anything, where all names but these stand for everything."""

    def __init__(self, names: set[str], inhabited: IsInhabited) -> None:
        self.names = names
        self.inhabited = inhabited

    def is_local(self, axiom: Axiom) -> bool:
        match axiom:
            case ax.SubClassOf(sub, sup):
                return self.is_bottom(sub) or self.is_top(sup)
            case ax.EquivalentClasses(classes):
                return all(map(self.is_top, classes)) or all(map(self.is_bottom, classes))
            case ax.DisjointClasses(classes):
                return all(self.is_bottom(left) or self.is_bottom(other) for left, other in combinations(classes, 2))
            case ax.SubObjectPropertyOf(ex.ObjectPropertyChain(steps), sup):
                return self.is_all(sup) or any(map(_is_empty, steps))
            case ax.SubObjectPropertyOf(sub, sup) | ax.SubDataPropertyOf(sub, sup):
                return self.is_all(sup) or _is_empty(sub)
            case ax.EquivalentObjectProperties(properties) | ax.EquivalentDataProperties(properties):
                return all(map(self.is_all, properties))
            case ax.InverseObjectProperties(first, second):
                return self.is_all(first) and self.is_all(second)
            case ax.PropertyDomain(property, domain):
                return self.is_top(domain) or _is_empty(property)
            case ax.ObjectPropertyRange(property, range):
                return self.is_top(range) or _is_empty(property)
            case ax.DataPropertyRange(property, range):
                return range == LITERAL or _is_empty(property)
            case ax.ReflexiveObjectProperty(property) | ax.SymmetricObjectProperty(property):
                return self.is_all(property)
            case ax.TransitiveObjectProperty(property):
                return self.is_all(property)
            case ax.ClassAssertion(of, _):
                return self.is_top(of)
            case ax.ObjectPropertyAssertion(property, _, _) | ax.DataPropertyAssertion(property, _, _):
                return self.is_all(property)
            case ax.HasKey(of, _, _):
                return self.is_bottom(of)
            case ax.DatatypeDefinition(name, _):
                # Ranges are looked at with the definitions put into them; a reasoner needs those of the module.
                return name not in self.names
        return False

    def is_all(self, property: object) -> bool:
        """Whether a property relates everything."""
        name = property.property if isinstance(property, ex.ObjectInverseOf) else property
        return name in UNIVERSAL or (name not in self.names and name not in EMPTY)

    def is_top(self, expression: ClassExpression) -> bool:
        """Whether everything is in a class."""
        match expression:
            case str():
                return expression == THING or (expression not in self.names and expression != NOTHING)
            case ex.ObjectIntersectionOf(classes):
                return all(map(self.is_top, classes))
            case ex.ObjectUnionOf(classes):
                return any(map(self.is_top, classes))
            case ex.ObjectComplementOf(negated):
                return self.is_bottom(negated)
            case ex.ObjectSomeValuesFrom(property, filler):
                return self.is_all(property) and self.is_top(filler)
            case ex.ObjectAllValuesFrom(property, filler):
                return self.is_top(filler) or _is_empty(property)
            case ex.ObjectHasValue(property, _) | ex.ObjectHasSelf(property) | ex.DataHasValue(property, _):
                return self.is_all(property)
            case ex.ObjectMinCardinality(number, property, filler):
                return number == 0 or (number == 1 and self.is_all(property) and self.is_top(filler or THING))
            case ex.ObjectMaxCardinality(_, property, filler):
                return _is_empty(property) or self.is_bottom(filler or THING)
            case ex.DataSomeValuesFrom(property, range):
                return self.is_all(property) and self.inhabited(range)
            case ex.DataAllValuesFrom(property, range):
                return range == LITERAL or _is_empty(property)
            case ex.DataMinCardinality(number, property, range):
                return number == 0 or (number == 1 and self.is_all(property) and self.inhabited(range or LITERAL))
            case ex.DataMaxCardinality(_, property, _):
                return _is_empty(property)
        return False

    def is_bottom(self, expression: ClassExpression) -> bool:
        """Whether nothing is in a class; in doubt it is not said so, and the axiom is kept."""
        match expression:
            case str():
                return expression == NOTHING
            case ex.ObjectIntersectionOf(classes):
                return any(map(self.is_bottom, classes))
            case ex.ObjectUnionOf(classes):
                return all(map(self.is_bottom, classes))
            case ex.ObjectComplementOf(negated):
                return self.is_top(negated)
            case ex.ObjectSomeValuesFrom(property, filler):
                return _is_empty(property) or self.is_bottom(filler)
            case ex.ObjectAllValuesFrom(property, filler):
                return self.is_all(property) and self.is_bottom(filler)
            case ex.ObjectMinCardinality(number, property, filler):
                return number > 0 and (_is_empty(property) or self.is_bottom(filler or THING))
            case ex.ObjectMaxCardinality(number, property, filler):
                return number == 0 and self.is_all(property) and self.is_top(filler or THING)
            case ex.DataSomeValuesFrom(property, _) | ex.DataHasValue(property, _):
                return _is_empty(property)
        return False


def _is_empty(property: object) -> bool:
    return (property.property if isinstance(property, ex.ObjectInverseOf) else property) in EMPTY
