"""Definitions inside a part: each is a unit of its own where a run goes on with a changed program (`units`).

NAMED EVENT :Jam { MATCH :Slow SEQ :Slow WITHIN (5 m) }      the event `:Jam`, which reads `:Slow`
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from thalweg.ir.nodes import Program
from thalweg.model.predicate import Predicate
from thalweg.planning.locality import counts_everything
from thalweg.planning.wire_parts import Needed, Ports, read_by

Node = Needed | tuple[int, str]
"""A predicate that rules derive, a part by its number, or a definition of it by its title."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition: `text` stands for all that it depends on, apart from what it reads of others.

    Others read it by the predicates that it `gives`. It `uses` other definitions of the part, by their titles. `hears`:
    it depends on streams; `reads`: on what other parts of the plan hold.
    """

    title: str
    text: str
    gives: frozenset[Predicate] = frozenset()
    uses: frozenset[str] = frozenset()
    hears: bool = False
    reads: bool = False


@dataclass(frozen=True)
class Definitions:
    """The definitions of the parts of a plan, for parts that have some, and what they and others read of each other."""

    by_part: Mapping[int, Sequence[Definition]]
    ports: Sequence[Ports]
    program: Program
    _rules: dict[Predicate, tuple[frozenset[Predicate], bool]] = field(default_factory=dict, init=False, repr=False)

    def nodes(self, part: int) -> list[Node]:
        """The units of a part: its definitions, or itself."""
        return [(part, definition.title) for definition in self.by_part[part]] if part in self.by_part else [part]

    def __iter__(self) -> Iterator[tuple[Node, Definition]]:
        """All definitions."""
        for part, definitions in self.by_part.items():
            yield from (((part, definition.title), definition) for definition in definitions)

    def inside(self) -> Iterator[tuple[Node, Node]]:
        """What definitions read of others of their part."""
        for part, definitions in self.by_part.items():
            for definition in definitions:
                yield from (((part, definition.title), (part, title)) for title in definition.uses)

    def between(self, reader: Needed, needed: Needed) -> Iterator[tuple[Node, Node]]:
        """What it means of definitions that a rule's predicate, or a part, reads another one."""
        readers = self._reading(reader, needed) if isinstance(reader, int) else [reader]
        sources = list(self._read(reader, needed)) if isinstance(needed, int) else [needed]
        for node in readers:
            yield from ((node, source) for source in sources)

    def _reading(self, part: int, needed: Needed) -> Iterable[Node]:
        if part not in self.by_part:
            return [part]
        is_stream = isinstance(needed, int) and self.ports[needed].streams
        return [
            (part, definition.title)
            for definition in self.by_part[part]
            if definition.hears or (definition.reads and not is_stream)
        ]

    def _read(self, reader: Needed, part: int) -> Iterable[Node]:
        """The definitions of a part that a rule's predicate, or another part, reads."""
        if part not in self.by_part:
            return [part]
        if isinstance(reader, int):
            ports = self.ports[reader]
            is_read, reads_all = ports.reads, ports.hears(self.ports[part].name)
        else:
            names, reads_all = self._of_rules(reader)
            is_read = names.__contains__
        return [
            (part, definition.title)
            for definition in self.by_part[part]
            if reads_all or any(map(is_read, definition.gives))
        ]

    def _of_rules(self, head: Predicate) -> tuple[frozenset[Predicate], bool]:
        """The predicates that the rules of a predicate read, and whether they count all facts there are."""
        if head not in self._rules:
            rules = [rule for rule in self.program.rules if rule.head.signature == head]
            names = frozenset[Predicate]().union(*(read_by(rule) for rule in rules))
            self._rules[head] = names, any(map(counts_everything, rules))
        return self._rules[head]
