"""How an answer set program is taken apart: graphs, communities, and what is evaluated in each, for people to read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import Final

from thalweg.diagnostics import NOWHERE, Diagnostic
from thalweg.explain.drawing import Drawing
from thalweg.explain.plan_text import WIDTH, count
from thalweg.explain.stages import AGGREGATED, NEGATED, POSITIVE, band_label
from thalweg.ir.outline import Outline
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import NO_PREFIXES, Prefixes
from thalweg.planning.input_dependency import Dependency, Piece
from thalweg.planning.keys import Keys
from thalweg.planning.published import Published

_COMBINED: Final = "the answers of all pieces are combined"

ROLES: Final = {"positive": POSITIVE, "negative": NEGATED, "aggregate": AGGREGATED}


@dataclass(frozen=True)
class ExplainedAnswerSets:
    """An answer set program, explained; with the published communities in the place of ours where they are asked for.

    `obstacles` say what keeps it from being evaluated incrementally; without any, clingo is not needed. `partitions`
    are those of a cluster that it is spread over.

    >>> from thalweg.ir.outline import outline
    >>> rules = outline("a :- p, not q.", "a/0", "p/0", "not q/0"), outline("b :- r.", "b/0", "r/0")
    >>> found = Dependency(rules, tuple(Predicate(name, 0) for name in "pqr"))
    >>> print(ExplainedAnswerSets(found).as_text().splitlines()[0])
    2 statements over 3 inputs; one answer set; 2 pieces
    """

    dependency: Dependency
    published: Published | None = None
    obstacles: tuple[str, ...] = ()
    partitions: int | None = None

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

    def as_data(self) -> dict[str, object]:
        """The same for programs to read."""
        found = self.dependency
        graph = self.published or found
        data: dict[str, object] = {
            "strata": found.strata,
            "dependency": {
                "nodes": list(found.nodes),
                "directed": [list(edge) for edge in found.directed],
                "undirected": [list(edge) for edge in graph.undirected],
            },
            "inputs": {"edges": [list(edge) for edge in graph.edges], "loops": list(found.loops)},
            "communities": [list(community) for community in self.communities],
            "decomposition": "paper" if self.published else "sound",
            "deterministic": found.deterministic,
            "parts": [
                {"statements": _numbers(part.rules), "inputs": list(part.inputs), "deterministic": part.deterministic}
                for part in found.parts
            ],
            "pieces": [self._piece_data(piece) for piece in self.pieces],
            "statements": [_statement_data(number, one) for number, one in enumerate(found.outlines, 1)],
            "evaluated_by": "clingo" if self.obstacles else "engine",
            "because": list(self.obstacles),
            "warnings": [warning.as_data() for warning in self.warnings],
        }
        if self.partitions is not None:
            data["stages"] = self.stages()
        return data

    def stages(self) -> list[dict[str, object]]:
        """Those of Spark: the pieces, and what becomes of their answers."""
        return [*self.pieces_data(), {"rules": [], "key": None, "partitions": 1, "why": _COMBINED}]

    def pieces_data(self) -> list[dict[str, object]]:
        """The pieces as the stages of Spark."""
        return list(map(self._stage_data, self.dependency.pieces))

    def _stage_data(self, piece: Piece) -> dict[str, object]:
        """On a cluster each piece is for itself."""
        keys = self.dependency.keys(piece)
        rules = [self.dependency.outlines[number] for number in piece.rules]
        return {
            "rules": [one.written for one in rules],
            "key": None if keys is None else sorted(_key_variables(rules, keys)),
            "partitions": self._cells(piece),
        }

    def _cells(self, piece: Piece) -> int:
        split = piece.inputs and self.dependency.keys(piece) is not None
        return self.partitions if split and self.partitions else 1

    def _piece_data(self, piece: Piece) -> dict[str, object]:
        keys = None if self.published else self.dependency.keys(piece)
        places = None if keys is None else {name: place + 1 for name, place in keys.items()}
        return {
            "inputs": list(piece.inputs),
            "statements": _numbers(piece.rules),
            "part": piece.part + 1,
            "key_arguments": places,
        }

    # As text --------------------------------------------------------------------------------------------------------

    def as_text(self, prefixes: Prefixes = NO_PREFIXES) -> str:
        return prefixes.shorten("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        found = self.dependency
        answers = "one answer set" if found.deterministic else "there may be several answer sets"
        yield (
            f"{count(len(found.outlines), 'statement')} over {count(len(found.inputs), 'input')}; {answers}; "
            f"{count(len(self.pieces), 'piece')}"
        )
        yield from self._section("which inputs meet", self._meetings())
        yield from self._section("strata", self._strata())
        yield from self._section("evaluated by", self._evaluated())
        yield from self._section(
            "solved on its own", (line for each in enumerate(self.pieces, 1) for line in self._piece(*each))
        )
        if self.is_spread:
            yield f"  on Spark {_COMBINED} in one partition"

    @staticmethod
    def _section(title: str, lines: Iterator[str]) -> Iterator[str]:
        yield ""
        yield title
        for line in lines:
            yield from wrap(line, WIDTH, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False)

    def _meetings(self) -> Iterator[str]:
        edges = (self.published or self.dependency).edges
        for name in self.dependency.inputs:
            others = sorted({other for edge in edges if name in edge for other in edge} - {name})
            alone = "meets itself" if name in self.dependency.loops else "meets no other"
            yield f"{name} with {', '.join(others)}" if others else f"{name} {alone}"

    def _strata(self) -> Iterator[str]:
        strata = self.dependency.strata
        if strata is None:
            yield "none: negation or an aggregate is cyclic"
        for number, names in enumerate(strata or []):
            yield f"{number}  {', '.join(names)}"

    def _piece(self, number: int, piece: Piece) -> Iterator[str]:
        keys = None if self.published else self.dependency.keys(piece)
        yield f"{number}  {', '.join(piece.inputs) or 'no inputs'}"
        if keys is not None and (places := [f"{name} {keys[name] + 1}" for name in piece.inputs if name in keys]):
            yield f"   can be spread by the argument: {', '.join(places)}"
        if self.is_spread:
            yield f"   on Spark in {count(self._cells(piece), 'partition')}"
        for statement in piece.rules:
            yield f"   {statement + 1}: {self.dependency.outlines[statement].written}"

    def _evaluated(self) -> Iterator[str]:
        if not self.obstacles:
            yield "the incremental engine"
            return
        yield "clingo, window by window, because:"
        yield from self.obstacles

    # As a drawing ---------------------------------------------------------------------------------------------------

    def as_svg(self) -> str:
        return _Pieces(self).svg()


class _Pieces(Drawing):
    """Inputs at the left; then each piece with its statements, and what they derive."""

    def __init__(self, explanation: ExplainedAnswerSets) -> None:
        super().__init__(["inputs", *_bands(explanation)])
        self.outlines = explanation.dependency.outlines
        for name in explanation.dependency.inputs:
            self.thing(f"input {name}", "stream", name, 0)
        for number, piece in enumerate(explanation.pieces, 1):
            for statement in piece.rules:
                self.conclusions(number, statement)
            for statement in piece.rules:
                self.needs(number, statement, piece)
        if explanation.is_spread:
            made = [each for each, box in self.boxes.items() if box.kind == "derived"]
            answers = self.thing("answers", "derived", "answers", 1 + len(explanation.pieces))
            for conclusion in made:
                self.arrow(conclusion, answers)

    def conclusions(self, band: int, statement: int) -> None:
        """A statement, with what it derives."""
        one, name = self.outlines[statement], f"rule {statement + 1} in {band}"
        self.rule(name, f"{one.kind} {statement + 1}", one.written, band)
        for head in one.heads:
            self.arrow(name, self.thing(f"{band} {head}", "derived", head, band))

    def needs(self, band: int, statement: int, piece: Piece) -> None:
        for need in self.outlines[statement].body:
            sources = [f"{band} {need.predicate}"]
            sources += [f"input {need.predicate}"] if need.predicate in piece.inputs else []
            for source in sources:
                if source in self.boxes:
                    self.arrow(source, f"rule {statement + 1} in {band}", ROLES[need.how])


def _bands(explanation: ExplainedAnswerSets) -> Iterator[str]:
    """Each piece; on Spark with its stage, and the one where answers are combined."""
    titles = [f"piece {number}" for number in range(1, len(explanation.pieces) + 1)]
    if not explanation.is_spread:
        yield from titles
        return
    for number, (title, stage) in enumerate(zip([*titles, "together"], explanation.stages(), strict=True)):
        yield band_label(title, [(number, stage)])


def _key_variables(rules: Iterable[Outline], keys: Keys) -> set[str]:
    """What the key is called in the rules."""
    found = (
        need.args[keys[need.predicate]]
        for one in rules
        for need in one.body
        if need.predicate in keys and len(need.args) > keys[need.predicate]
    )
    return {name for name in found if name is not None}


def _numbers(rules: tuple[int, ...]) -> list[int]:
    return [number + 1 for number in rules]


def _statement_data(number: int, one: Outline) -> dict[str, object]:
    data: dict[str, object] = {"number": number, "kind": one.kind, "text": one.written}
    if one.span is not NOWHERE:
        data |= {"file": one.span.source.name, "line": one.span.source.position(one.span.start)[0]}
    return data
