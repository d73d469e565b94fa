"""A city whose readings flow while definitions come and go, and what each of these tells by a run of its own."""

import json
import random
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, Protocol

import thalweg
from services import EX
from thalweg.diagnostics import Source
from thalweg.model.rdf import GENERATED_AT, RDF_TYPE, XSD

ROADS: Final = 100
_WITNESSED: Final = 7
TEXT: Final = (
    f"PREFIX : <{EX}>\nPREFIX xsd: <{XSD}>\nNAMED EVENT :Jam AS :Jammed\nNAMED EVENT :Clear AS :Free\n"
    "NAMED EVENT :Witness { MATCH EVERY :Jam SEQ :Clear WITHIN (2 s)"
    " IF { EVENT :Jam { ?a :at ?r . ?r :in :district7 } EVENT :Clear { ?b :at ?r } } }\n"
)
ONTOLOGY: Final = f"""@prefix : <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Reading a owl:Class . :Jammed a owl:Class ; rdfs:subClassOf :Reading . :Free a owl:Class ; rdfs:subClassOf :Reading .
:at a owl:ObjectProperty . :value a owl:DatatypeProperty .
""" + "".join(f":road{number} :in :district{number} .\n" for number in range(ROADS))
SOURCES: Final = {"city.tw": TEXT, "city.ttl": ONTOLOGY}
_AT: Final = "IF { EVENT :Jam { ?a :at :road# } EVENT :Clear { ?b :at :road# } }"
_WAYS: Final = (
    "AS :Reading and (:value some xsd:double[>= #.0, < #.8])",
    f"MATCH EVERY :Jam SEQ :Clear WITHIN (5 s) {_AT}",
    f"MATCH EVERY :Jam SEQ NOT :Clear WITHIN (3 s) {_AT}",
    "MATCH LAST :Jam SEQ :Clear WITHIN (4 s) IF { EVENT :Jam { ?a :at ?r . ?r :in :district# }"
    " EVENT :Clear { ?b :at ?r } }",
    f"MATCH :Jam SEQ :Clear WITHIN (5 s) {_AT}",
    "MATCH EVERY :Jam AND :s@ WITHIN (1 s) IF { EVENT :Jam { ?a :at :road# } }",
)


def definition(number: int) -> str:
    """The text of a definition by its number; the sixth of six uses the first, and the first stays."""
    used = number - number % len(_WAYS)
    return _WAYS[number % len(_WAYS)].replace("#", str(number % ROADS)).replace(":s@", f":s{used}")


def stays(number: int) -> bool:
    """Whether a definition is not taken away again; half of them are."""
    return number % len(_WAYS) not in (1, 2, 3)


def readings(tick: int, count: int, roads: Container[int] = range(ROADS)) -> str:
    """The events of a tick at some roads as N-Quads; the same whenever they are asked for."""
    chance = random.Random(tick)
    lines = []
    for number in range(count):
        graph, reading = f"<{EX}g{tick}-{number}>", f"<{EX}o{tick}-{number}>"
        road, kind, share = chance.randrange(ROADS), chance.choice(("Jammed", "Free")), chance.randrange(100)
        if road not in roads:
            continue
        lines += (
            f'{graph} {GENERATED_AT} "{tick}"^^<{XSD}integer> .\n',
            f"{reading} {RDF_TYPE} <{EX}{kind}> {graph} .\n",
            f"{reading} <{EX}at> <{EX}road{road}> {graph} .\n",
            f'{reading} <{EX}value> "{road}.{share:02}"^^<{XSD}double> {graph} .\n',
        )
    return "".join(lines)


@dataclass(frozen=True)
class Change:
    """A definition that was there from its first tick on, and was taken away while the program was at some ticks."""

    number: int
    first: int
    gone_after: int | None = None
    gone_by: int | None = None

    @property
    def name(self) -> str:
        return f"s{self.number}"

    def is_told(self, lines: list[str], own: list[str]) -> bool:
        """Whether `lines` are its `own`, told by a run over the events from its first tick on, while it was there."""
        if self.gone_after is None:
            return lines == own
        ticks = [json.loads(line)["t"] for line in own]
        least = sum(tick <= self.gone_after for tick in ticks)
        assert self.gone_by is not None
        return lines == own[: len(lines)] and least <= len(lines) <= sum(tick <= self.gone_by for tick in ticks)


class Changing(Protocol):
    """A program to which readings are posted while its definitions change."""

    def put(self, name: str, text: str) -> int:
        """Adds a definition; its first tick."""

    def delete(self, name: str) -> None:
        """Takes one away."""

    def t(self) -> int:
        """A tick that the program has answered."""

    def posted(self) -> int:
        """The last tick whose readings may have been posted."""

    def rest(self) -> None:
        """Lets some readings come before the next change."""


def change_one_by_one(program: Changing, count: int) -> list[Change]:
    """Adds so many definitions, and takes half of them away again."""
    changes: list[Change] = []
    going: list[int] = []
    for number in range(count + count // 2):
        if number < count:
            changes.append(Change(number, program.put(f"s{number}", definition(number))))
            going += [] if stays(number) else [number]
        if (len(going) > count // 20 and number % 2) or (going and number >= count):
            gone = going.pop(0)
            after = program.t()
            program.delete(f"s{gone}")
            changes[gone] = replace(changes[gone], gone_after=after, gone_by=program.posted())
        program.rest()
    return changes


def by_event(lines: Iterable[str]) -> Mapping[str, list[str]]:
    """Lines by the local names of the events that they are about."""
    named: dict[str, list[str]] = {}
    for line in lines:
        about: dict[str, Any] = json.loads(line)
        named.setdefault(about["event"].removeprefix(f"<{EX}").removesuffix(">"), []).append(line)
    return named


def told_alone(changes: Iterable[Change], last: int, count: int) -> Iterator[tuple[Change, list[str]]]:
    """What each definition tells in a run over the events from its first tick to the last one."""
    for first, together in groupby(sorted(changes, key=lambda change: change.first), lambda change: change.first):
        same = list(together)
        told = by_event(_told(first, {change.number for change in same}, last, count))
        yield from ((change, told.get(change.name, [])) for change in same)


def witnessed(last: int, count: int) -> list[str]:
    """What the program's own text tells."""
    return _told(1, set(), last, count)


def _told(first: int, numbers: set[int], last: int, count: int) -> list[str]:
    """The lines of a run over the events from one tick to another, whose text has some definitions."""
    used = {number - number % len(_WAYS) for number in numbers if number % len(_WAYS) == len(_WAYS) - 1}
    texts = {number: definition(number) for number in sorted(numbers | used)}
    more = "".join(
        f"NAMED EVENT :s{number} {text if text.startswith('AS') else f'{{ {text} }}'}\n"
        for number, text in texts.items()
    )
    programs = [Source(name, text + (more if name == "city.tw" else "")) for name, text in SOURCES.items()]
    # A definition is about one road: events at others fill none of its places.
    roads = {number % ROADS for number in texts} or {_WITNESSED}
    stream = Source("city.nq", "".join(readings(tick, count, roads) for tick in range(first, last + 1)))
    names = [f"<{EX}s{number}>/1" for number in numbers] or [f"<{EX}Witness>/1"]
    answers = thalweg.run(programs, {"city": stream}, end=last, show=names, report=lambda warning: None)
    return [line for answer in answers for line in str(answer).splitlines()]
