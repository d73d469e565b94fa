"""Graph patterns as rules.

    { A B }                    literals of both: join
    { A } UNION { B }          alternatives of both
    A OPTIONAL { B }           alternatives of A with B, and A with `not` B
    A MINUS { B }              A with `not` B, for alternatives that share a variable
    FILTER (NOT) EXISTS { B }  A with (`not`) B
    FILTER(?v > 30)            a condition of the input that binds ?v
    FILTER(?v > ?w)            a step on the solutions; where rules must know it, a sieve
    BIND(?v + 1 AS ?w)         the same
    { SELECT DISTINCT ?s … }   a rule whose head has only ?s

What is not exact as rules is noted as an obstacle, and the rest is looked at all the same.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

from thalweg.ir.nodes import Atom, Constant, Literal, Not, Now, Variable
from thalweg.languages.rspql.alternative import Alternative, joined, renamed
from thalweg.languages.rspql.lower_expression import (
    UnsteadyError,
    asked,
    conjuncts,
    has_pattern,
    kind,
    pattern_variables,
    term_of,
    variables,
)
from thalweg.languages.rspql.lower_groups import aggregates_of, certain_names, grouped
from thalweg.languages.rspql.lower_triple import Alternatives, TripleRules
from thalweg.languages.rspql.lowered import Answer, Asked, Graph, Sieve, Step
from thalweg.model.fact import Fact
from thalweg.model.predicate import interned
from thalweg.model.rdf import named

_MOST: Final = 64
"""Alternatives of one pattern: each OPTIONAL may double them."""
_MOST_MADE: Final = 3
_PLAIN_PATTERNS: Final = ("BGP", "Join", "Union", "Graph", "ToMultiSet", "values")


class PatternRules(TripleRules):
    """Collects inputs, rules, facts and sieves while patterns are looked at."""

    def __init__(self, windows: Sequence[str], graphs: Sequence[str], obstacle: Callable[[str, str], None]) -> None:
        """`windows` are the names of the windows, `graphs` those of the background that the query may see.

        `obstacle` takes a sentence, and the keyword that it is about.
        """
        super().__init__(obstacle)
        self._windows = {named(name): number for number, name in enumerate(windows)}
        self._graphs = tuple(map(named, graphs))
        self.facts: list[Fact] = []
        self.sieves: list[Sieve] = []

    # Patterns -------------------------------------------------------------------------------------------------------

    def pattern(self, node: Any, graph: Graph) -> Alternatives:
        """The alternatives of a pattern in a graph."""
        found = self._pattern(node, graph)
        if len(found) > _MOST:
            self._obstacle(f"the pattern has {len(found)} alternatives; the limit is {_MOST}", "OPTIONAL")
            return found[:1]
        return found

    def _pattern(self, node: Any, graph: Graph) -> Alternatives:
        match kind(node):
            case "BGP":
                found = [Alternative()]
                for subject, predicate, thing in node.triples:
                    found = self.join(found, self.triple(subject, predicate, thing, graph))
                return found
            case "Join":
                return self.join(self.pattern(node.p1, graph), self.pattern(node.p2, graph))
            case "Union":
                return self.pattern(node.p1, graph) + self.pattern(node.p2, graph)
            case "Graph":
                return self._in_graph(node)
            case "Filter":
                return self._filtered(node.p, list(conjuncts(node.expr)), graph)
            case "LeftJoin" | "Minus":
                return self._filtered(node, [], graph)
            case "Extend":
                return self.extend(self.pattern(node.p, graph), node.expr, str(node.var))
            case "ToMultiSet":
                return self._values(node.p.res) if kind(node.p) == "values" else self._selection(node.p, graph)
        called, keyword = _CALLED.get(kind(node), (kind(node), ""))
        self._obstacle(f"{called} cannot be written as rules", keyword)
        return []

    def _in_graph(self, node: Any) -> Alternatives:
        if kind(node.term) != "Variable":
            name = term_of(node.term)
            return self.pattern(node.p, self._windows.get(name, name))
        found: Alternatives = []
        if kind(node.p) == "BGP" and not node.p.triples:
            self._obstacle("an empty pattern in every graph cannot be written as rules", "GRAPH")
        for name in (*self._windows, *self._graphs):
            known = [Alternative(constants={str(node.term): name})]
            found += self.join(known, self.pattern(node.p, self._windows.get(name, name)))
        return found

    def join(self, left: Alternatives, right: Alternatives) -> Alternatives:
        """Every pair that agrees."""
        found = []
        for one, other in ((a, b) for a in left for b in right):
            shared = one.bound & other.bound
            ones = self._settled(one) if one.made & shared else [one]
            others = self._settled(other) if other.made & shared else [other]
            found += [both for a in ones for b in others if (both := joined(a, b)) is not None]
        return found

    def extend(self, found: Alternatives, expression: Any, name: str) -> Alternatives:
        """BIND: a step; a variable or a constant is known at once."""
        if not found:
            # What is wrong with the expression is said all the same.
            self._asked(expression, Alternative())
        return [self._extended(each, expression, name) for each in found]

    def _extended(self, each: Alternative, expression: Any, name: str) -> Alternative:
        if kind(expression) in ("URIRef", "Literal"):
            return replace(each, constants={**each.constants, name: term_of(expression)})
        if kind(expression) == "Variable" and str(expression) in each.constants:
            return replace(each, constants={**each.constants, name: each.constants[str(expression)]})
        condition = self._asked(expression, each)
        if condition is None:
            return each
        return replace(each, steps=(*each.steps, Step(condition, name)), made=each.made | {name})

    def _asked(self, expression: Any, each: Alternative) -> Asked | None:
        """An expression over the variables of an alternative; None where it cannot be asked."""
        if has_pattern(expression):
            self._obstacle("EXISTS inside another expression cannot be written as rules", "EXISTS")
            return None
        try:
            return asked(expression, each.bound)
        except UnsteadyError as unsteady:
            self._obstacle(f"{unsteady} is not decided by its arguments alone", str(unsteady))
            return None

    # Conditions -----------------------------------------------------------------------------------------------------

    def _filtered(self, node: Any, conditions: list[Any], graph: Graph) -> Alternatives:
        """A pattern with conditions; those on the left side of OPTIONAL or MINUS alone come first."""
        if kind(node) not in ("LeftJoin", "Minus"):
            return self._all_restricted(self.pattern(node, graph), conditions, graph)
        left = self.pattern(node.p1, graph)
        certain = frozenset.intersection(*(each.certain for each in left)) if left else frozenset()
        first = [each for each in conditions if not has_pattern(each) and variables(each) <= certain]
        left = self._all_restricted(left, first, graph)
        right = self.pattern(node.p2, graph)
        if kind(node) == "Minus":
            found = self._minus(left, right)
        else:
            found = self._optional(left, right, list(conjuncts(node.expr)), graph)
        return self._all_restricted(found, [each for each in conditions if each not in first], graph)

    def _all_restricted(self, found: Alternatives, conditions: Iterable[Any], graph: Graph) -> Alternatives:
        """FILTER: what must all be true, one after the other."""
        for condition in conditions:
            found = [kept for each in found for kept in self._restricted(each, condition, graph)]
        return found

    def _restricted(self, each: Alternative, condition: Any, graph: Graph) -> Alternatives:
        positive, inner = _as_exists(condition)
        if inner is not None:
            return self._exists(each, inner, positive, graph)
        if (decided := _decided(condition, each)) is not None:
            return [each] if decided else []
        test = self._asked(condition, each)
        if test is None:
            return [each]
        if len(test.known) == 1 and test.known[0] in each.names and (pushed := self._pushed(each, test)) is not None:
            return [pushed]
        return [replace(each, steps=(*each.steps, Step(test)))]

    def _pushed(self, each: Alternative, test: Asked) -> Alternative | None:
        """A condition on one variable is one on the input that binds it, where it is an object if possible."""
        places = [
            (column, place, known)
            for place, literal in enumerate(each.body)
            if isinstance(literal, Now) and (known := self._input_of(literal.atom)) is not None
            for column, arg in enumerate(literal.atom.args)
            if arg == Variable(test.known[0])
        ]
        if not places:
            return None
        column, place, known = max(places, key=lambda one: one[:1])
        conditions = tuple(sorted({*known.conditions, (column, test)}, key=repr))
        narrow = self._input(known.graph, known.takes, known.signature.arity, conditions)
        literal = each.body[place]
        assert isinstance(literal, Now)
        changed = Now(Atom(narrow.name, literal.atom.args))
        return replace(each, body=(*each.body[:place], changed, *each.body[place + 1 :]))

    def _exists(self, each: Alternative, pattern: Any, positive: bool, graph: Graph) -> Alternatives:
        """A with, or without, a solution of a pattern in which the variables of A have their values."""
        conditions: list[Any] = []
        if kind(pattern) == "Filter":
            conditions, pattern = list(conjuncts(pattern.expr)), pattern.p
        if not _is_plain(pattern):
            self._obstacle("only joins, UNION and FILTER inside of EXISTS can be written as rules", "EXISTS")
            return [each]
        others = self._partners(self.pattern(pattern, graph), conditions, graph)
        shared = each.made & pattern_variables([pattern, conditions])
        found = []
        for one in self._settled(each) if shared else [each]:
            pairs = [self._paired(one, other, across, graph) for other, across in others]
            atoms = [atom for partners in pairs for partner in partners for atom in self._present(one, partner)]
            if not positive:
                found.append(one.also(*map(Not, atoms)))
            elif len(atoms) == 1:
                found.append(one.also(*atoms))
            elif atoms:
                name, args = self._fresh("some"), tuple(map(Variable, sorted(one.names)))
                for atom in atoms:
                    self._rule(name, args, (*one.body, atom))
                found.append(one.also(Now(Atom(name, args))))
        return found

    def _optional(self, left: Alternatives, right: Alternatives, conditions: list[Any], graph: Graph) -> Alternatives:
        others = self._partners(right, conditions, graph)
        names = frozenset().union(*(other.bound for other, _ in others))
        found: Alternatives = []
        for one in (each for some in left for each in (self._settled(some) if some.made & names else [some])):
            missing: list[Literal] = []
            for other, across in others:
                for partner in self._paired(one, other, across, graph):
                    both = joined(one, partner) if not across else replace(partner, steps=one.steps, made=one.made)
                    if both is not None:
                        found.append(both)
                    missing += map(Not, self._present(one, partner))
            found.append(one.also(*missing))
        return found

    def _partners(
        self, found: Alternatives, conditions: list[Any], graph: Graph
    ) -> list[tuple[Alternative, list[Any]]]:
        """Alternatives that stand under a negation, without steps, and the conditions that look at others too."""
        partners = []
        for each in found:
            inside = [one for one in conditions if not has_pattern(one) and variables(one) <= each.bound]
            across = [one for one in conditions if one not in inside]
            partners += [
                (settled, across)
                for kept in self._all_restricted([each], inside, graph)
                for settled in self._settled(kept)
            ]
        return partners

    def _paired(self, one: Alternative, other: Alternative, across: list[Any], graph: Graph) -> Alternatives:
        """A partner as it is, or together with its first half where conditions look at both."""
        if not across:
            return [other]
        both = joined(replace(one, steps=(), made=frozenset()), other)
        if both is None:
            return []
        if one.made & frozenset().union(*map(variables, across)):
            self._obstacle("a condition in OPTIONAL or EXISTS looks at a variable of BIND", "BIND")
            return []
        return [each for some in self._all_restricted([both], across, graph) for each in self._settled(some)]

    def _present(self, one: Alternative, other: Alternative) -> list[Now]:
        """An atom that holds where there is a solution of another alternative that agrees; none where none can."""
        if any(other.constants.get(name, value) != value for name, value in one.constants.items()):
            return []
        other = other.given(one.constants)
        shared = sorted(one.names & other.certain)
        name = self._fresh("some")
        head = tuple(Constant(other.constants[each]) if each in other.constants else Variable(each) for each in shared)
        self._rule(name, head, other.body)
        return [Now(Atom(name, tuple(map(Variable, shared))))]

    def _minus(self, left: Alternatives, right: Alternatives) -> Alternatives:
        found: Alternatives = []
        rights = [each for some in right for each in self._settled(some)]
        for one in left:
            shared = one.made & frozenset().union(*(each.bound for each in rights))
            for each in self._settled(one) if shared else [one]:
                # Without a variable in common nothing is taken away.
                others = [other for other in rights if each.certain & other.certain]
                found.append(each.also(*(Not(atom) for other in others for atom in self._present(each, other))))
        return found

    # Rows that rules must know ----------------------------------------------------------------------------------------

    def _settled(self, each: Alternative) -> Alternatives:
        """The same without steps: the rows that remain after them are facts."""
        if not each.steps:
            return [each]
        made = sorted(each.made)
        if len(made) > _MOST_MADE:
            self._obstacle(f"more than {_MOST_MADE} variables of BIND are used together", "BIND")
            return []
        answers = (self.answer(each),)
        targets, found = [], []
        for some in _subsets(made):
            columns = (*each.columns, *some)
            name = self._fresh("sieved")
            targets.append((interned(name, len(columns)), columns))
            atom = Now(Atom(name, tuple(map(Variable, columns))))
            found.append(Alternative((atom,), each.names.union(some), each.witnesses, each.constants))
        self.sieves.append(Sieve(answers, tuple(targets), tuple(made)))
        return found

    def answer(self, each: Alternative, columns: tuple[str, ...] | None = None, name: str | None = None) -> Answer:
        """A rule for an alternative, with all that is bound in its head, or only some of it."""
        if columns is None and (known := self._derived_as(each)) is not None:
            return known
        shown = each.columns if columns is None else columns
        name = name or self._fresh("rows")
        self._rule(name, tuple(map(Variable, shown)), each.body)
        return Answer(interned(name, len(shown)), shown, tuple(sorted(each.constants.items())), each.steps)

    def _derived_as(self, each: Alternative) -> Answer | None:
        """An answer without a rule of its own, where an alternative is just what a rule derives."""
        match each.body:
            case (Now(atom),) if any(rule.head.signature == atom.signature for rule in self.rules):
                columns = tuple(arg.name for arg in atom.args if isinstance(arg, Variable))
                if len(columns) == len({*columns}) == len(atom.args):
                    return Answer(atom.signature, columns, tuple(sorted(each.constants.items())), each.steps)
        return None

    # Sub-selects and values -------------------------------------------------------------------------------------------

    def _selection(self, node: Any, graph: Graph) -> Alternatives:
        distinct = kind(node) == "Distinct"
        inside = node.p if distinct else node
        while kind(inside) == "OrderBy":
            inside = inside.p
        if kind(inside) != "Project" or kind(inside.p) == "OrderBy":
            self._obstacle("a sub-select with LIMIT, OFFSET or REDUCED cannot be written as rules", "LIMIT")
            return []
        kept = frozenset(map(str, inside.PV))
        if aggregates_of(inside.p) is not None:
            found = self._grouped(inside.p, kept, graph)
        else:
            found = []
            for each in (one for some in self.pattern(inside.p, graph) for one in self._settled(some)):
                others = {name: self._variable() for name in (each.names | each.witnesses) - kept}
                found.append(renamed(each, others, kept))
        return self.distinct([renamed(each, {}, kept) for each in found]) if distinct else found

    def _grouped(self, node: Any, kept: frozenset[str], graph: Graph) -> Alternatives:
        """The groups of a sub-select; keys that it does not select count."""
        solved = self.pattern(aggregates_of(node).p.p, graph)
        solved, groups = grouped(node, solved, self.extend, self._obstacle)
        certain = certain_names(groups, solved)
        made = *(one.into for one in groups.aggregations), *(step.into for step in groups.steps)
        bound = {*groups.keys, *filter(None, made)}
        loose = sorted((kept & bound) - certain)
        if len(loose) > _MOST_MADE:
            self._obstacle(f"more than {_MOST_MADE} variables of a sub-select may be unbound", "GROUP")
            return []
        hidden = [key for key in groups.keys if key not in kept]
        targets, found = [], []
        for some in _subsets(loose):
            shown = (*sorted(kept & certain), *some)
            name, witnesses = self._fresh("sieved"), [self._variable() for _ in hidden]
            targets.append((interned(name, len(shown) + len(hidden)), (*shown, *hidden)))
            atom = Now(Atom(name, tuple(map(Variable, (*shown, *witnesses)))))
            found.append(Alternative((atom,), frozenset(shown), frozenset(witnesses)))
        self.sieves.append(Sieve(tuple(map(self.answer, solved)), tuple(targets), tuple(loose), groups))
        return found

    def distinct(self, found: Alternatives) -> Alternatives:
        """One predicate for all alternatives that bind the same variables."""
        names: dict[tuple[Any, ...], tuple[str, Alternative]] = {}
        for each in found:
            columns = tuple(sorted(each.names))
            key = columns, tuple(sorted(each.constants.items()))
            if key not in names:
                name = self._fresh("distinct")
                atom = Now(Atom(name, tuple(map(Variable, columns))))
                names[key] = name, Alternative((atom,), each.names, frozenset(), each.constants)
            self.answer(each, columns, names[key][0])
        return [each for _, each in names.values()]

    def _values(self, rows: Iterable[Any]) -> Alternatives:
        """VALUES: constants, or facts with the number of their row where there are several."""
        groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for row in rows:
            known = {str(name): term_of(value) for name, value in row.items() if kind(value) in ("URIRef", "Literal")}
            columns = tuple(sorted(known))
            groups.setdefault(columns, []).append(tuple(known[name] for name in columns))
        found = []
        for columns, group in groups.items():
            if len(group) == 1 or not columns:
                found += [Alternative(constants=dict(zip(columns, row, strict=True))) for row in group]
                continue
            name, witness = self._fresh("values"), self._variable()
            self.facts += [Fact(name, (*row, str(number))) for number, row in enumerate(group)]
            atom = Now(Atom(name, (*map(Variable, columns), Variable(witness))))
            found.append(Alternative((atom,), frozenset(columns), frozenset((witness,))))
        return found


def _subsets(names: list[str]) -> list[tuple[str, ...]]:
    """All sets of some names, the largest first.

    >>> _subsets(["a", "b"])
    [('a', 'b'), ('a',), ('b',), ()]
    """
    return [some for size in range(len(names), -1, -1) for some in combinations(names, size)]


def _as_exists(condition: Any) -> tuple[bool, Any]:
    """Whether a pattern must exist, and which; None where the condition is about values."""
    positive = True
    while kind(condition) == "UnaryNot":
        positive, condition = not positive, condition.expr
    if kind(condition) == "Builtin_EXISTS":
        return positive, condition.graph
    if kind(condition) == "Builtin_NOTEXISTS":
        return not positive, condition.graph
    return True, None


def _decided(condition: Any, each: Alternative) -> bool | None:
    """Whether `?g NOT IN (:w, …)` holds of an IRI that is known; None where it is another condition."""
    if kind(condition) != "RelationalExpression" or condition.op not in ("IN", "NOT IN"):
        return None
    value = each.constants.get(str(condition.expr)) if kind(condition.expr) == "Variable" else None
    if value is None or not isinstance(condition.other, list) or any(kind(one) != "URIRef" for one in condition.other):
        return None
    is_in = value in map(term_of, condition.other)
    return is_in if condition.op == "IN" else not is_in


def _is_plain(node: Any) -> bool:
    """Whether a pattern consists of joins and unions only."""
    parts = [node[name] for name in ("p", "p1", "p2") if name in node]
    return kind(node) in _PLAIN_PATTERNS and all(map(_is_plain, parts))


_CALLED: Final = {
    "ServiceGraphPattern": ("SERVICE", "SERVICE"),
    "Slice": ("LIMIT", "LIMIT"),
}
