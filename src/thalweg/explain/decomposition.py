"""An answer set program as a document: how it is taken apart, its communities, and what is evaluated in each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from thalweg.diagnostics import NOWHERE, Diagnostic
from thalweg.explain.diagram import Band, Diagram, DiagramBuilder
from thalweg.explain.document import Breaks, Paragraph, PlanDocument, Section, lines
from thalweg.explain.plan_stage import PlanStage
from thalweg.explain.quantity import count
from thalweg.explain.stages import AGGREGATED, NEGATED, POSITIVE
from thalweg.explain.wired_parts import Statement
from thalweg.ir.outline import Outline
from thalweg.model.predicate import Predicate
from thalweg.planning.input_dependency import Dependency, Piece
from thalweg.planning.keys import Keys
from thalweg.planning.published import Published

_COMBINED: Final = "the answers of all pieces are combined"
_ROLES: Final = {"positive": POSITIVE, "negative": NEGATED, "aggregate": AGGREGATED}


def explain_answer_sets(
    dependency: Dependency,
    published: Published | None = None,
    obstacles: tuple[str, ...] = (),
    partitions: int | None = None,
) -> PlanDocument:
    """How an answer set program is evaluated; with the published communities in the place of ours where there are any.

    `obstacles` say what keeps it from being evaluated incrementally; without any, clingo is not needed. `partitions`
    are those of a cluster that it is spread over.

    >>> from thalweg.ir.outline import outline
    >>> rules = outline("a :- p, not q.", "a/0", "p/0", "not q/0"), outline("b :- r.", "b/0", "r/0")
    >>> print(explain_answer_sets(Dependency(rules, tuple(Predicate(name, 0) for name in "pqr"))).summary)
    2 statements over 3 inputs; one answer set; 2 pieces
    """
    decomposition = _Decomposition(dependency, published, obstacles, partitions)
    return PlanDocument(
        sections=tuple(decomposition.sections()),
        data=decomposition.data(),
        diagram=_diagram(decomposition),
        stages=None if partitions is None else decomposition.stages(),
        warnings=decomposition.warnings,
    )


def answer_set_statements(dependency: Dependency) -> Iterator[Statement]:
    """The statements of a program, as parts of a diagram that has more than answer sets."""
    for outline in dependency.outlines:
        needs = tuple((need.predicate, _ROLES[need.how]) for need in outline.body)
        yield Statement(outline.written, outline.heads, needs)


@dataclass(frozen=True)
class _Decomposition:
    """An answer set program, and how it is taken apart."""

    dependency: Dependency
    published: Published | None
    obstacles: tuple[str, ...]
    partitions: int | None

    @property
    def communities(self) -> tuple[tuple[Predicate, ...], ...]:
        return (self.published or self.dependency).communities

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """What is solved on its own; as published, each community has the whole program."""
        if self.published is None:
            return self.dependency.pieces
        everything = tuple(range(len(self.dependency.outlines)))
        return tuple(Piece(community, everything, 0) for community in self.published.communities)

    @property
    def is_spread(self) -> bool:
        """Whether its pieces are stages of Spark; published communities are not spread."""
        return self.partitions is not None and self.published is None

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return () if self.published is None else tuple(doubt.diagnostic for doubt in self.published.doubts)

    def keys(self, piece: Piece) -> Keys | None:
        """The arguments by which a piece can be spread; published communities have none."""
        return None if self.published else self.dependency.keys(piece)

    # Stages ---------------------------------------------------------------------------------------------------------

    def stages(self) -> tuple[PlanStage, ...]:
        """Those of Spark: the pieces, each for itself, and what becomes of their answers."""
        return *map(self._stage, self.dependency.pieces), PlanStage((), None, 1, _COMBINED)

    def _stage(self, piece: Piece) -> PlanStage:
        keys = self.dependency.keys(piece)
        rules = [self.dependency.outlines[number] for number in piece.rules]
        key = None if keys is None else tuple(sorted(_key_variables(rules, keys)))
        return PlanStage(tuple(rule.written for rule in rules), key, self._buckets(piece))

    def _buckets(self, piece: Piece) -> int:
        split = piece.inputs and self.dependency.keys(piece) is not None
        return self.partitions if split and self.partitions else 1

    # As data --------------------------------------------------------------------------------------------------------

    def data(self) -> dict[str, object]:
        dependency = self.dependency
        graph = self.published or dependency
        return {
            "strata": dependency.strata,
            "dependency": {
                "nodes": dependency.nodes,
                "directed": dependency.directed,
                "undirected": graph.undirected,
            },
            "inputs": {"edges": graph.edges, "loops": dependency.loops},
            "communities": self.communities,
            "decomposition": "paper" if self.published else "sound",
            "deterministic": dependency.deterministic,
            "parts": [
                {"statements": _numbers(part.rules), "inputs": part.inputs, "deterministic": part.deterministic}
                for part in dependency.parts
            ],
            "pieces": [self._piece_data(piece) for piece in self.pieces],
            "statements": [_statement_data(number, outline) for number, outline in enumerate(dependency.outlines, 1)],
            "evaluated_by": "clingo" if self.obstacles else "engine",
            "because": self.obstacles,
            "warnings": self.warnings,
        }

    def _piece_data(self, piece: Piece) -> dict[str, object]:
        keys = self.keys(piece)
        places = None if keys is None else {name: place + 1 for name, place in keys.items()}
        return {
            "inputs": piece.inputs,
            "statements": _numbers(piece.rules),
            "part": piece.part + 1,
            "key_arguments": places,
        }

    # As text --------------------------------------------------------------------------------------------------------

    def sections(self) -> Iterator[Section]:
        dependency = self.dependency
        answers = "one answer set" if dependency.deterministic else "there may be several answer sets"
        statements, inputs = count(len(dependency.outlines), "statement"), count(len(dependency.inputs), "input")
        yield Section("", lines(f"{statements} over {inputs}; {answers}; {count(len(self.pieces), 'piece')}"))
        yield _section("which inputs meet", self._meetings())
        yield _section("strata", self._strata())
        yield _section("evaluated by", self._evaluator())
        pieces = (line for number, piece in enumerate(self.pieces, 1) for line in self._piece(number, piece))
        combined = lines(f"  on Spark {_COMBINED} in one partition") if self.is_spread else ()
        yield _section("solved on its own", pieces, *combined)

    def _meetings(self) -> Iterator[str]:
        edges = (self.published or self.dependency).edges
        for name in self.dependency.inputs:
            partners = sorted({partner for edge in edges if name in edge for partner in edge} - {name})
            alone = "meets itself" if name in self.dependency.loops else "meets no other"
            yield f"{name} with {', '.join(partners)}" if partners else f"{name} {alone}"

    def _strata(self) -> Iterator[str]:
        strata = self.dependency.strata
        if strata is None:
            yield "none: negation or an aggregate is cyclic"
        for number, names in enumerate(strata or []):
            yield f"{number}  {', '.join(names)}"

    def _piece(self, number: int, piece: Piece) -> Iterator[str]:
        keys = self.keys(piece)
        yield f"{number}  {', '.join(piece.inputs) or 'no inputs'}"
        if keys is not None and (places := [f"{name} {keys[name] + 1}" for name in piece.inputs if name in keys]):
            yield f"   can be spread by the argument: {', '.join(places)}"
        if self.is_spread:
            yield f"   on Spark in {count(self._buckets(piece), 'partition')}"
        for statement in piece.rules:
            yield f"   {statement + 1}: {self.dependency.outlines[statement].written}"

    def _evaluator(self) -> Iterator[str]:
        if not self.obstacles:
            yield "the incremental engine"
            return
        yield "clingo, window by window, because:"
        yield from self.obstacles


def _section(title: str, texts: Iterable[str], *last: Paragraph) -> Section:
    return Section(title, (*(Paragraph(text, "  ", "      ", Breaks.LONG_WORDS) for text in texts), *last))


# As a diagram -------------------------------------------------------------------------------------------------------


def _diagram(decomposition: _Decomposition) -> Diagram:
    """Inputs at the left; then each piece with its statements, and what they derive."""
    builder = DiagramBuilder([Band("inputs"), *_bands(decomposition)])
    outlines = decomposition.dependency.outlines
    for name in decomposition.dependency.inputs:
        builder.source(f"input {name}", "stream", name, 0)
    for band, piece in enumerate(decomposition.pieces, 1):
        for number in piece.rules:
            _draw_conclusions(builder, band, number, outlines[number])
        for number in piece.rules:
            _draw_needs(builder, band, number, outlines[number], piece)
    if decomposition.is_spread:
        derived = [name for name, node in builder.nodes.items() if node.kind == "derived"]
        answers = builder.source("answers", "derived", "answers", 1 + len(decomposition.pieces))
        for conclusion in derived:
            builder.edge(conclusion, answers)
    return builder.diagram()


def _draw_conclusions(builder: DiagramBuilder, band: int, number: int, outline: Outline) -> None:
    """A statement, with what it derives."""
    name, title = f"rule {number + 1} in {band}", f"{outline.kind} {number + 1}"
    builder.statement(name, title, outline.written, band, recursive=True)
    for head in outline.heads:
        builder.edge(name, builder.source(f"{band} {head}", "derived", head, band))


def _draw_needs(builder: DiagramBuilder, band: int, number: int, outline: Outline, piece: Piece) -> None:
    """What a statement reads."""
    for need in outline.body:
        sources = [f"{band} {need.predicate}"]
        sources += [f"input {need.predicate}"] if need.predicate in piece.inputs else []
        for source in sources:
            if source in builder.nodes:
                builder.edge(source, f"rule {number + 1} in {band}", _ROLES[need.how])


def _bands(decomposition: _Decomposition) -> Iterator[Band]:
    """Each piece; on Spark with its stage, and the one where answers are combined."""
    titles = [f"piece {number}" for number in range(1, len(decomposition.pieces) + 1)]
    if not decomposition.is_spread:
        yield from map(Band, titles)
        return
    for number, (title, stage) in enumerate(zip([*titles, "together"], decomposition.stages(), strict=True)):
        yield Band(title, ((number, stage),))


def _key_variables(rules: Iterable[Outline], keys: Keys) -> set[str]:
    """What the key is called in the rules."""
    variables = (
        need.args[keys[need.predicate]]
        for rule in rules
        for need in rule.body
        if need.predicate in keys and len(need.args) > keys[need.predicate]
    )
    return {name for name in variables if name is not None}


def _numbers(rules: tuple[int, ...]) -> list[int]:
    return [number + 1 for number in rules]


def _statement_data(number: int, outline: Outline) -> dict[str, object]:
    data: dict[str, object] = {"number": number, "kind": outline.kind, "text": outline.written}
    if outline.span is not NOWHERE:
        data |= {"file": outline.span.source.name, "line": outline.span.source.position(outline.span.start)[0]}
    return data
