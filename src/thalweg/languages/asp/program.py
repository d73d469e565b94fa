"""What clingo's parser read becomes a program: outlines, inputs, what is shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from thalweg.diagnostics import Diagnostic, Source
from thalweg.ir.nodes import Atom, Now, Program, Rule, Variable
from thalweg.ir.outline import Outline
from thalweg.languages.asp.directives import Directives, OwnWindow
from thalweg.languages.asp.lower import Obstacle, lower
from thalweg.languages.asp.outlines import EVERYWHERE, outlines_of, reckons, signatures, statement, type_of, within
from thalweg.languages.asp.places import Places
from thalweg.languages.asp.terms import Names
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, interned


@dataclass(frozen=True)
class AspProgram:
    """An answer set program.

    `outlines` are its statements that derive or forbid something, each with its text; `everywhere` the others, which
    belong to every part that is solved. `inputs` are the signatures that streams bring; unless they are `declared`, all
    others that the program mentions are inputs as soon as a stream brings them. `shown` are those that answers contain.
    `window` is what the program itself says about it. `nodes` are the statements as clingo's parser read them.
    `known` are the names and terms of background facts that are facts of the program.
    """

    source: Source
    outlines: tuple[Outline, ...]
    everywhere: tuple[str, ...]
    inputs: tuple[Predicate, ...]
    shown: frozenset[Predicate]
    names: Names
    window: OwnWindow | None = None
    nodes: tuple[Any, ...] = field(default=(), repr=False, compare=False)
    known: tuple[tuple[str, tuple[str, ...]], ...] = field(default=(), repr=False)
    declared: bool = False

    @property
    def prefixes(self) -> dict[str, str]:
        return dict(self.names.prefixes)

    @cached_property
    def mentioned(self) -> frozenset[Predicate]:
        """The signatures that the program mentions."""
        return self.shown.union(self.inputs, *(outline.predicates for outline in self.outlines))

    @cached_property
    def _names_of_all(self) -> Names:
        return replace(self.names, signatures=self.mentioned)

    def reads(self, predicate: Predicate) -> bool:
        """Whether facts of a predicate are input, under one of the names that the program has for it."""
        return not self._names_of_all.known_as(predicate).isdisjoint(self.inputs)

    def taking(self, predicates: Iterable[Predicate]) -> "AspProgram":
        """The program with the inputs that it has besides where streams bring facts of some predicates.

        >>> from thalweg.languages.asp.reader import read_program
        >>> program, _ = read_program(Source("x.lp", "r(X,Y) :- e(X,Y).  r(X,Z) :- r(X,Y), e(Y,Z)."))
        >>> program.taking([Predicate("r", 2), Predicate("s", 1)]).inputs
        ('e/2', 'r/2')
        """
        if self.declared:
            return self
        names = {name for predicate in predicates for name in self._names_of_all.known_as(predicate)}
        inputs = tuple(sorted(names.union(self.inputs)))
        return replace(self, inputs=inputs, names=replace(self.names, signatures=frozenset(inputs)))

    def writes(self, predicate: Predicate) -> bool:
        """Whether answers can hold facts of a predicate."""
        return not self._names_of_all.known_as(predicate).isdisjoint(self.shown)

    def showing(self, predicates: Iterable[Predicate]) -> "AspProgram":
        """The program with answers of some predicates, whatever its own `#show` says."""
        names = self._names_of_all
        nodes = tuple(node for node in self.nodes if type_of(node) != "ShowSignature")
        return replace(
            self,
            shown=self.derived & {name for predicate in predicates for name in names.known_as(predicate)},
            everywhere=tuple(statement(node) for node in nodes if type_of(node) in EVERYWHERE),
            nodes=nodes,
        )

    @property
    def derived(self) -> frozenset[Predicate]:
        """The signatures that the program has rules or facts for."""
        return frozenset(head for outline in self.outlines for head in outline.heads)

    def readers(self) -> Program:
        """Rules that read the inputs under the names that other programs have for them."""
        return Program(tuple(map(self._reader, self.inputs)))

    def _reader(self, predicate: Predicate) -> Rule:
        args = tuple(Variable(f"X{number}") for number in range(predicate.arity))
        name = self.names.iri(predicate.name) or predicate.name
        return Rule(Atom("'answer sets"), (Now(Atom(name, args)),))

    def knowing(self, background: Iterable[Fact]) -> "AspProgram":
        """The program with what always holds as its own facts; that of inputs comes with every window."""
        names = self._names_of_all
        atoms = (atom for fact in background for atom in names.atoms(fact))
        background_atoms = tuple(dict.fromkeys(atom for atom in atoms if _signature(*atom) not in self.inputs))
        texts: dict[Predicate, list[str]] = {}
        for name, terms in background_atoms:
            args = f"({','.join(map(names.as_symbol_text, terms))})" if terms else ""
            texts.setdefault(_signature(name, terms), []).append(f"{name}{args}.")
        facts = (
            Outline((signature,), (), text=" ".join(statements)) for signature, statements in sorted(texts.items())
        )
        return replace(self, outlines=(*self.outlines, *facts), known=background_atoms)

    def part(self, rules: Sequence[int], inputs: Sequence[Predicate]) -> "AspProgram":
        """The program that has some of the outlines, and takes some of the inputs.

        >>> from thalweg.diagnostics import Source
        >>> from thalweg.languages.asp.reader import read_program
        >>> program, _ = read_program(Source("x.lp", "a(X) :- p(X), not q(X).  b(X) :- p(X), r(X)."))
        >>> program.part([1], [Predicate("p", 1), Predicate("r", 1)]).text()
        'b(X) :- p(X); r(X).'
        """
        chosen = set(rules)
        outlines = tuple(outline for number, outline in enumerate(self.outlines) if number in chosen)
        # Statements come first and in order; what they exclude and what is known beside them follows.
        statements = (node for node in self.nodes if type_of(node) not in EVERYWHERE)
        out = {id(node) for number, node in enumerate(statements) if number not in chosen}
        facts = {head for outline in outlines if outline.is_fact for head in outline.heads}
        return replace(
            self,
            outlines=outlines,
            inputs=tuple(inputs),
            names=replace(self.names, signatures=frozenset(inputs)),
            nodes=tuple(node for node in self.nodes if id(node) not in out),
            known=tuple(atom for atom in self.known if _signature(*atom) in facts),
        )

    def text(self, rules: Iterable[int] | None = None) -> str:
        """The program, or the part of it with some of the outlines, as clingo reads it."""
        chosen = self.outlines if rules is None else [self.outlines[number] for number in rules]
        return "\n".join([*self.everywhere, *(outline.text for outline in chosen)])

    def lowered(self, window: int) -> Program | None:
        """The program as rules over windows of a number of ticks; None where `obstacles` say why not."""
        program = lower(self, window)
        return program if isinstance(program, Program) else None

    @cached_property
    def reckons(self) -> bool:
        """Whether the value of numbers matters."""
        return any(map(reckons, self.nodes))

    @cached_property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """What keeps the program from being evaluated incrementally."""
        result = lower(self, 1)
        return () if isinstance(result, Program) else result


def read(nodes: Sequence[Any], source: Source, directives: Directives, inputs: Sequence[Predicate] = ()) -> AspProgram:
    """The program that parsed statements stand for; `inputs` given by the user are all that there are."""
    nodes = of_base(nodes)
    named = set(inputs) or declared(nodes, directives)
    outlines = tuple(outlines_of(nodes, Places(source), named))
    brought = tuple(sorted(set(inputs) or named | undefined(outlines)))
    return AspProgram(
        source,
        outlines,
        tuple(statement(node) for node in nodes if type_of(node) in EVERYWHERE),
        brought,
        shown(nodes, outlines),
        Names(directives.prefixes, frozenset(brought)),
        directives.window,
        tuple(nodes),
        declared=bool(inputs or directives.inputs),
    )


def _signature(name: str, terms: tuple[str, ...]) -> Predicate:
    return interned(name, len(terms))


def of_base(nodes: Iterable[Any]) -> list[Any]:
    """The statements outside of all `#program` parts but `base`, which is what is grounded."""
    statements, inside = [], True
    for node in nodes:
        if type_of(node) == "Program":
            inside = node.name == "base" and not node.parameters
        elif inside:
            statements.append(node)
    return statements


def declared(nodes: Iterable[Any], directives: Directives) -> set[Predicate]:
    """The inputs that a program names, by `#input`, `%! input` or `#external`."""
    externals = {name for node in nodes if type_of(node) == "External" for name in signatures(node.atom.symbol)}
    return externals | set(directives.inputs)


def undefined(outlines: Iterable[Outline]) -> set[Predicate]:
    """The predicates without rules and facts, which are taken for inputs."""
    outlines = tuple(outlines)
    return {need.predicate for outline in outlines for need in outline.body} - {
        head for outline in outlines for head in outline.heads
    }


def shown(nodes: Sequence[Any], outlines: Iterable[Outline]) -> frozenset[Predicate]:
    """What answers contain: what `#show` names; without it, whatever the program has rules or facts for."""
    shows = [node for node in nodes if type_of(node) == "ShowSignature"]
    if not shows:
        return frozenset(head for outline in outlines for head in outline.heads)
    return frozenset(Predicate(f"{'' if node.positive else '-'}{node.name}", node.arity) for node in shows if node.name)


def calls(nodes: Iterable[Any], source: Source) -> list[Diagnostic]:
    """Errors about terms that call a function of a script, `@f(X)`: clingo would drop what it cannot evaluate."""
    places = Places(source)
    help = "write it as rules, or compute it beforehand and pass the result with `--background`"
    return [
        Diagnostic("E501", f"`@{term.name}` calls a script, and scripts are not run", places.of(term), help)
        for node in nodes
        for term in within(node)
        if type_of(term) == "Function" and term.external
    ]


def unused(nodes: Iterable[Any], source: Source) -> list[Diagnostic]:
    """Warnings about statements that are never looked at."""
    places = Places(source)
    diagnostics = []
    for node in nodes:
        if type_of(node) == "Program" and (node.name != "base" or node.parameters):
            message = f"the part `{node.name}` is never grounded: only `base` is"
            diagnostics.append(Diagnostic("W502", message, places.of(node), help="remove the line, or move the rules"))
    return diagnostics
