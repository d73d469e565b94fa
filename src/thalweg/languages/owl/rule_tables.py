"""The rule tables of the profiles: LARS texts over `triple(S,P,O)` that ship with the package.

The name of a rule stands in a comment before it:

    % cax-sco
    triple(X,rdf:type,D) :- triple(C,rdfs:subClassOf,D), triple(X,rdf:type,C).
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from thalweg.diagnostics import Source
from thalweg.ir.nodes import Rule
from thalweg.languages.lars.program import read
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate

TRIPLE: Final = Predicate("triple", 3)
_NAME: Final = re.compile(r"^% ([a-z][\w-]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Named:
    """A rule and what the specification calls it."""

    name: str
    rule: Rule


@dataclass(frozen=True, slots=True)
class RuleTable:
    """The rules of a profile, and the facts that it takes for granted."""

    rules: tuple[Named, ...]
    facts: tuple[Fact, ...]


@cache
def table(profile: str, literals: bool = False, witnesses: bool = False) -> RuleTable:
    """The table of a profile; with the rules that put blank nodes for literals, and for values that are promised.

    >>> [named.name for named in table("rl").rules if named.name.startswith("cax-s")]
    ['cax-sco']
    """
    folder = files("thalweg.languages.owl").joinpath("rules")
    names = (profile, "pdsv") if witnesses else (profile,)
    texts = [Source(f"{name}.lars", folder.joinpath(f"{name}.lars").read_text("utf-8")) for name in names]
    programs = [read(text) for text in texts]
    rules = (Named(_name(rule), rule) for program in programs for rule in program.rules)
    kept = tuple(named for named in rules if literals or not named.name.startswith("lg-"))
    return RuleTable(kept, tuple(fact for program in programs for fact in program.background))


def _name(rule: Rule) -> str:
    before = _NAME.findall(rule.span.source.text, 0, rule.span.start)
    return before[-1] if before else "?"
