"""The diagram of a plan: nodes in bands, and edges between them; how it is drawn is for the renderer to decide."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from thalweg.explain.plan_stage import PlanStage
from thalweg.model.prefixes import NO_PREFIXES, Prefixes

READING: Final = {"positive": "reads, fills", "negated": "not", "aggregated": "aggregate"}
"""The legend of the roles in which statements read something."""
NAME_LINES, STATEMENT_LINES, REASON_LINES = 2, 4, 8


@dataclass(frozen=True, slots=True)
class Label:
    """A text on a node; where it may take a number of `lines`, it is broken, and its names are shortened."""

    text: str
    lines: int | None = None


@dataclass(frozen=True, slots=True)
class DiagramNode:
    """A box: its name, if it has one, what stands below it, and a hint that is shown where the pointer rests on it.

    `kind` decides how it looks: stream, background, clock, memory, rule, derived or reason. Edges on a circle run back
    into nodes that are `recursive`.
    """

    kind: str
    name: Label | None
    notes: tuple[Label, ...]
    hint: str
    band: int
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one node to another; its role is that of a reading, or says how facts are sent."""

    start: str
    end: str
    role: str = "positive"


@dataclass(frozen=True, slots=True)
class Band:
    """A part of a diagram from top to bottom, and the stages of Spark, with their numbers, in which it is evaluated."""

    title: str
    stages: tuple[tuple[int, PlanStage], ...] = ()


@dataclass(frozen=True, slots=True)
class Diagram:
    """Nodes by their ids, and the edges between them.

    The legend says what the roles of edges mean. Names are shortened by `prefixes`, and to `:name` where that is
    unambiguous among `names`; they are shown in full where `names` is None.
    """

    bands: tuple[Band, ...]
    nodes: Mapping[str, DiagramNode]
    edges: tuple[Arrow, ...]
    legend: Mapping[str, str] = field(default_factory=lambda: READING)
    names: tuple[str, ...] | None = None
    prefixes: Prefixes = NO_PREFIXES


@dataclass(slots=True)
class DiagramBuilder:
    """Collects the nodes and edges of a diagram."""

    bands: Sequence[Band]
    legend: Mapping[str, str] = field(default_factory=lambda: READING)
    names: Iterable[str] | None = None
    prefixes: Prefixes = NO_PREFIXES
    nodes: dict[str, DiagramNode] = field(default_factory=dict)
    edges: dict[Arrow, None] = field(default_factory=dict)

    def source(self, node: str, kind: str, text: str, band: int, notes: Iterable[str] = (), hint: str = "") -> str:
        """Adds a node for something that has facts, unless there is one; returns its id."""
        if node not in self.nodes:
            self.nodes[node] = DiagramNode(kind, Label(text, NAME_LINES), tuple(map(Label, notes)), hint or text, band)
        return node

    def statement(self, node: str, title: str, text: str, band: int, recursive: bool = False) -> str:
        """Adds a node for a rule or another statement; returns its id."""
        self.nodes[node] = DiagramNode("rule", Label(title), (Label(text, STATEMENT_LINES),), text, band, recursive)
        return node

    def listing(self, node: str, kind: str, title: str, notes: Iterable[str], hint: str, band: int) -> str:
        """Adds a node with a line for each note; returns its id."""
        self.nodes[node] = DiagramNode(kind, Label(title), tuple(map(Label, notes)), hint, band)
        return node

    def reason(self, node: str, why: str, band: int) -> str:
        """Adds a node that gives a reason; returns its id."""
        self.nodes[node] = DiagramNode("reason", None, (Label(f"because {why}", REASON_LINES),), why, band)
        return node

    def edge(self, start: str, end: str, role: str = "positive") -> None:
        """Adds an edge, unless there is one."""
        self.edges[Arrow(start, end, role)] = None

    def diagram(self) -> Diagram:
        """Returns what was collected."""
        names = None if self.names is None else tuple(self.names)
        return Diagram(tuple(self.bands), self.nodes, tuple(self.edges), self.legend, names, self.prefixes)
