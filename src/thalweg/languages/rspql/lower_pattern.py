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
    conjuncts,
    has_pattern,
    kind,
    pattern_variables,
    question,
    term_of,
    variables,
)
from thalweg.languages.rspql.lower_groups import aggregates_of, certain_names, grouped
from thalweg.languages.rspql.lower_triple import Alternatives, TripleRules
from thalweg.languages.rspql.lowered import Graph, Sieve, SolutionRows, SparqlExpression, Step
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
        alternatives = self._pattern(node, graph)
        if len(alternatives) > _MOST:
            self._obstacle(f"the pattern has {len(alternatives)} alternatives; the limit is {_MOST}", "OPTIONAL")
            return alternatives[:1]
        return alternatives

    def _pattern(self, node: Any, graph: Graph) -> Alternatives:
        match kind(node):
            case "BGP":
                alternatives = [Alternative()]
                for subject, predicate, object_ in node.triples:
                    alternatives = self.join(alternatives, self.triple(subject, predicate, object_, graph))
                return alternatives
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
        alternatives: Alternatives = []
        if kind(node.p) == "BGP" and not node.p.triples:
            self._obstacle("an empty pattern in every graph cannot be written as rules", "GRAPH")
        for name in (*self._windows, *self._graphs):
            graph_name = [Alternative(constants={str(node.term): name})]
            alternatives += self.join(graph_name, self.pattern(node.p, self._windows.get(name, name)))
        return alternatives

    def join(self, left: Alternatives, right: Alternatives) -> Alternatives:
        """The joined alternatives of every pair that agrees."""
        pairs = []
        for first, other in ((a, b) for a in left for b in right):
            shared = first.bound & other.bound
            ones = self._settled(first) if first.made & shared else [first]
            seconds = self._settled(other) if other.made & shared else [other]
            pairs += [pair for a in ones for b in seconds if (pair := joined(a, b)) is not None]
        return pairs

    def extend(self, alternatives: Alternatives, expression: Any, name: str) -> Alternatives:
        """BIND: a step; a variable or a constant is known at once."""
        if not alternatives:
            # What is wrong with the expression is said all the same.
            self._asked(expression, Alternative())
        return [self._extended(alternative, expression, name) for alternative in alternatives]

    def _extended(self, alternative: Alternative, expression: Any, name: str) -> Alternative:
        if kind(expression) in ("URIRef", "Literal"):
            return replace(alternative, constants={**alternative.constants, name: term_of(expression)})
        if kind(expression) == "Variable" and str(expression) in alternative.constants:
            return replace(
                alternative, constants={**alternative.constants, name: alternative.constants[str(expression)]}
            )
        condition = self._asked(expression, alternative)
        if condition is None:
            return alternative
        return replace(alternative, steps=(*alternative.steps, Step(condition, name)), made=alternative.made | {name})

    def _asked(self, expression: Any, alternative: Alternative) -> SparqlExpression | None:
        """An expression over the variables of an alternative; None where it cannot be asked."""
        if has_pattern(expression):
            self._obstacle("EXISTS inside another expression cannot be written as rules", "EXISTS")
            return None
        try:
            return question(expression, alternative.bound)
        except UnsteadyError as unsteady:
            self._obstacle(f"{unsteady} is not decided by its arguments alone", str(unsteady))
            return None

    # Conditions -----------------------------------------------------------------------------------------------------

    def _filtered(self, node: Any, conditions: list[Any], graph: Graph) -> Alternatives:
        """A pattern with conditions; those on the left side of OPTIONAL or MINUS alone come first."""
        if kind(node) not in ("LeftJoin", "Minus"):
            return self._all_restricted(self.pattern(node, graph), conditions, graph)
        left = self.pattern(node.p1, graph)
        certain = frozenset.intersection(*(alternative.certain for alternative in left)) if left else frozenset()
        first = [
            condition for condition in conditions if not has_pattern(condition) and variables(condition) <= certain
        ]
        left = self._all_restricted(left, first, graph)
        right = self.pattern(node.p2, graph)
        if kind(node) == "Minus":
            alternatives = self._minus(left, right)
        else:
            alternatives = self._optional(left, right, list(conjuncts(node.expr)), graph)
        return self._all_restricted(
            alternatives, [condition for condition in conditions if condition not in first], graph
        )

    def _all_restricted(self, alternatives: Alternatives, conditions: Iterable[Any], graph: Graph) -> Alternatives:
        """The alternatives after FILTER by each condition in turn."""
        for condition in conditions:
            alternatives = [
                kept for alternative in alternatives for kept in self._restricted(alternative, condition, graph)
            ]
        return alternatives

    def _restricted(self, alternative: Alternative, condition: Any, graph: Graph) -> Alternatives:
        positive, inner = _as_exists(condition)
        if inner is not None:
            return self._exists(alternative, inner, positive, graph)
        if (decided := _decided(condition, alternative)) is not None:
            return [alternative] if decided else []
        test = self._asked(condition, alternative)
        if test is None:
            return [alternative]
        if (
            len(test.known) == 1
            and test.known[0] in alternative.names
            and (pushed := self._pushed(alternative, test)) is not None
        ):
            return [pushed]
        return [replace(alternative, steps=(*alternative.steps, Step(test)))]

    def _pushed(self, alternative: Alternative, test: SparqlExpression) -> Alternative | None:
        """The alternative with a test moved to an input that binds its variable; None where no input does.

        An input that binds it as an object is preferred.
        """
        places = [
            (column, place, relation)
            for place, literal in enumerate(alternative.body)
            if isinstance(literal, Now) and (relation := self._input_of(literal.atom)) is not None
            for column, arg in enumerate(literal.atom.args)
            if arg == Variable(test.known[0])
        ]
        if not places:
            return None
        column, place, relation = max(places, key=lambda entry: entry[:1])
        conditions = tuple(sorted({*relation.conditions, (column, test)}, key=repr))
        narrow = self._input(relation.graph, relation.takes, relation.signature.arity, conditions)
        literal = alternative.body[place]
        assert isinstance(literal, Now)
        changed = Now(Atom(narrow.name, literal.atom.args))
        return replace(alternative, body=(*alternative.body[:place], changed, *alternative.body[place + 1 :]))

    def _exists(self, alternative: Alternative, pattern: Any, positive: bool, graph: Graph) -> Alternatives:
        """The alternative where a pattern has, or has not, a solution that agrees with it."""
        conditions: list[Any] = []
        if kind(pattern) == "Filter":
            conditions, pattern = list(conjuncts(pattern.expr)), pattern.p
        if not _is_plain(pattern):
            self._obstacle("only joins, UNION and FILTER inside of EXISTS can be written as rules", "EXISTS")
            return [alternative]
        candidates = self._partners(self.pattern(pattern, graph), conditions, graph)
        shared = alternative.made & pattern_variables([pattern, conditions])
        alternatives = []
        for settled in self._settled(alternative) if shared else [alternative]:
            pairs = [self._paired(settled, other, across, graph) for other, across in candidates]
            atoms = [atom for partners in pairs for partner in partners for atom in self._present(settled, partner)]
            if not positive:
                alternatives.append(settled.also(*map(Not, atoms)))
            elif len(atoms) == 1:
                alternatives.append(settled.also(*atoms))
            elif atoms:
                name, args = self._fresh("some"), tuple(map(Variable, sorted(settled.names)))
                for atom in atoms:
                    self._rule(name, args, (*settled.body, atom))
                alternatives.append(settled.also(Now(Atom(name, args))))
        return alternatives

    def _optional(self, left: Alternatives, right: Alternatives, conditions: list[Any], graph: Graph) -> Alternatives:
        partners = self._partners(right, conditions, graph)
        names = frozenset().union(*(other.bound for other, _ in partners))
        alternatives: Alternatives = []
        for first in (
            settled
            for alternative in left
            for settled in (self._settled(alternative) if alternative.made & names else [alternative])
        ):
            missing: list[Literal] = []
            for other, across in partners:
                for partner in self._paired(first, other, across, graph):
                    pair = (
                        joined(first, partner) if not across else replace(partner, steps=first.steps, made=first.made)
                    )
                    if pair is not None:
                        alternatives.append(pair)
                    missing += map(Not, self._present(first, partner))
            alternatives.append(first.also(*missing))
        return alternatives

    def _partners(
        self, alternatives: Alternatives, conditions: list[Any], graph: Graph
    ) -> list[tuple[Alternative, list[Any]]]:
        """Alternatives that stand under a negation, without steps, and the conditions that look at others too."""
        partners = []
        for alternative in alternatives:
            inside = [
                condition
                for condition in conditions
                if not has_pattern(condition) and variables(condition) <= alternative.bound
            ]
            across = [condition for condition in conditions if condition not in inside]
            partners += [
                (settled, across)
                for kept in self._all_restricted([alternative], inside, graph)
                for settled in self._settled(kept)
            ]
        return partners

    def _paired(self, first: Alternative, other: Alternative, across: list[Any], graph: Graph) -> Alternatives:
        """A partner as it is, or together with its first half where conditions look at both."""
        if not across:
            return [other]
        pair = joined(replace(first, steps=(), made=frozenset()), other)
        if pair is None:
            return []
        if first.made & frozenset().union(*map(variables, across)):
            self._obstacle("a condition in OPTIONAL or EXISTS looks at a variable of BIND", "BIND")
            return []
        return [
            settled
            for restricted in self._all_restricted([pair], across, graph)
            for settled in self._settled(restricted)
        ]

    def _present(self, first: Alternative, other: Alternative) -> list[Now]:
        """An atom that holds where there is a solution of another alternative that agrees; none where none can."""
        if any(other.constants.get(name, value) != value for name, value in first.constants.items()):
            return []
        other = other.given(first.constants)
        shared = sorted(first.names & other.certain)
        name = self._fresh("some")
        head = tuple(
            Constant(other.constants[variable]) if variable in other.constants else Variable(variable)
            for variable in shared
        )
        self._rule(name, head, other.body)
        return [Now(Atom(name, tuple(map(Variable, shared))))]

    def _minus(self, left: Alternatives, right: Alternatives) -> Alternatives:
        alternatives: Alternatives = []
        rights = [settled for alternative in right for settled in self._settled(alternative)]
        for first in left:
            shared = first.made & frozenset().union(*(alternative.bound for alternative in rights))
            for settled in self._settled(first) if shared else [first]:
                # Without a variable in common nothing is taken away.
                partners = [other for other in rights if settled.certain & other.certain]
                alternatives.append(
                    settled.also(*(Not(atom) for other in partners for atom in self._present(settled, other)))
                )
        return alternatives

    # Rows that rules must know ----------------------------------------------------------------------------------------

    def _settled(self, alternative: Alternative) -> Alternatives:
        """The alternative as ones without steps: a sieve makes facts of the rows that remain after the steps."""
        if not alternative.steps:
            return [alternative]
        computed = sorted(alternative.made)
        if len(computed) > _MOST_MADE:
            self._obstacle(f"more than {_MOST_MADE} variables of BIND are used together", "BIND")
            return []
        answers = (self.answer(alternative),)
        targets, alternatives = [], []
        for subset in _subsets(computed):
            columns = (*alternative.columns, *subset)
            name = self._fresh("sieved")
            targets.append((interned(name, len(columns)), columns))
            atom = Now(Atom(name, tuple(map(Variable, columns))))
            alternatives.append(
                Alternative((atom,), alternative.names.union(subset), alternative.witnesses, alternative.constants)
            )
        self.sieves.append(Sieve(answers, tuple(targets), tuple(computed)))
        return alternatives

    def answer(
        self, alternative: Alternative, columns: tuple[str, ...] | None = None, name: str | None = None
    ) -> SolutionRows:
        """A rule for an alternative, with all that is bound in its head, or only some of it."""
        if columns is None and (derived := self._derived_as(alternative)) is not None:
            return derived
        shown = alternative.columns if columns is None else columns
        name = name or self._fresh("rows")
        self._rule(name, tuple(map(Variable, shown)), alternative.body)
        return SolutionRows(
            interned(name, len(shown)), shown, tuple(sorted(alternative.constants.items())), alternative.steps
        )

    def _derived_as(self, alternative: Alternative) -> SolutionRows | None:
        """An answer without a rule of its own, where an alternative is just what a rule derives."""
        match alternative.body:
            case (Now(atom),) if any(rule.head.signature == atom.signature for rule in self.rules):
                columns = tuple(arg.name for arg in atom.args if isinstance(arg, Variable))
                if len(columns) == len({*columns}) == len(atom.args):
                    return SolutionRows(
                        atom.signature, columns, tuple(sorted(alternative.constants.items())), alternative.steps
                    )
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
            alternatives = self._grouped(inside.p, kept, graph)
        else:
            alternatives = []
            for alternative in (
                settled for unsettled in self.pattern(inside.p, graph) for settled in self._settled(unsettled)
            ):
                replacements = {name: self._variable() for name in (alternative.names | alternative.witnesses) - kept}
                alternatives.append(renamed(alternative, replacements, kept))
        return (
            self.distinct([renamed(alternative, {}, kept) for alternative in alternatives])
            if distinct
            else alternatives
        )

    def _grouped(self, node: Any, kept: frozenset[str], graph: Graph) -> Alternatives:
        """The groups of a sub-select; keys that it does not select count."""
        solved = self.pattern(aggregates_of(node).p.p, graph)
        solved, groups = grouped(node, solved, self.extend, self._obstacle)
        certain = certain_names(groups, solved)
        computed = *(aggregation.into for aggregation in groups.aggregations), *(step.into for step in groups.steps)
        bound = {*groups.keys, *filter(None, computed)}
        loose = sorted((kept & bound) - certain)
        if len(loose) > _MOST_MADE:
            self._obstacle(f"more than {_MOST_MADE} variables of a sub-select may be unbound", "GROUP")
            return []
        hidden = [key for key in groups.keys if key not in kept]
        targets, alternatives = [], []
        for subset in _subsets(loose):
            shown = (*sorted(kept & certain), *subset)
            name, witnesses = self._fresh("sieved"), [self._variable() for _ in hidden]
            targets.append((interned(name, len(shown) + len(hidden)), (*shown, *hidden)))
            atom = Now(Atom(name, tuple(map(Variable, (*shown, *witnesses)))))
            alternatives.append(Alternative((atom,), frozenset(shown), frozenset(witnesses)))
        self.sieves.append(Sieve(tuple(map(self.answer, solved)), tuple(targets), tuple(loose), groups))
        return alternatives

    def distinct(self, alternatives: Alternatives) -> Alternatives:
        """One predicate for all alternatives that bind the same variables."""
        names: dict[tuple[Any, ...], tuple[str, Alternative]] = {}
        for alternative in alternatives:
            columns = tuple(sorted(alternative.names))
            key = columns, tuple(sorted(alternative.constants.items()))
            if key not in names:
                name = self._fresh("distinct")
                atom = Now(Atom(name, tuple(map(Variable, columns))))
                names[key] = name, Alternative((atom,), alternative.names, frozenset(), alternative.constants)
            self.answer(alternative, columns, names[key][0])
        return [alternative for _, alternative in names.values()]

    def _values(self, rows: Iterable[Any]) -> Alternatives:
        """VALUES: constants, or facts with the number of their row where there are several."""
        groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for row in rows:
            terms = {str(name): term_of(value) for name, value in row.items() if kind(value) in ("URIRef", "Literal")}
            columns = tuple(sorted(terms))
            groups.setdefault(columns, []).append(tuple(terms[name] for name in columns))
        alternatives = []
        for columns, group in groups.items():
            if len(group) == 1 or not columns:
                alternatives += [Alternative(constants=dict(zip(columns, row, strict=True))) for row in group]
                continue
            name, witness = self._fresh("values"), self._variable()
            self.facts += [Fact(name, (*row, str(number))) for number, row in enumerate(group)]
            atom = Now(Atom(name, (*map(Variable, columns), Variable(witness))))
            alternatives.append(Alternative((atom,), frozenset(columns), frozenset((witness,))))
        return alternatives


def _subsets(names: list[str]) -> list[tuple[str, ...]]:
    """All sets of some names, the largest first.

    >>> _subsets(["a", "b"])
    [('a', 'b'), ('a',), ('b',), ()]
    """
    return [subset for size in range(len(names), -1, -1) for subset in combinations(names, size)]


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


def _decided(condition: Any, alternative: Alternative) -> bool | None:
    """Whether `?g NOT IN (:w, …)` holds of an IRI that is known; None where it is another condition."""
    if kind(condition) != "RelationalExpression" or condition.op not in ("IN", "NOT IN"):
        return None
    value = alternative.constants.get(str(condition.expr)) if kind(condition.expr) == "Variable" else None
    if (
        value is None
        or not isinstance(condition.other, list)
        or any(kind(member) != "URIRef" for member in condition.other)
    ):
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
