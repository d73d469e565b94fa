"""Match lists: which facts and events somebody wants, as in `?match=jam/1,temp(a,*),:Jam`.

    jam/1       facts of a predicate
    jam(a,*)    facts with these arguments: the last `*` stands for one or more of them, any other for one
    :Jam        events of a name

Each part restricts its own kind only: a list without events leaves all events in.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from thalweg.api.naming import events_of, fact_of, predicates_of
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.fact import Fact, fact_of_text
from thalweg.model.prefixes import NO_PREFIXES, Prefixes
from thalweg.service.refused import RefusedError

_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|<[^<>\s]*>|[(),]|[^"<(),]+|.', re.DOTALL)
_PREDICATE: Final = re.compile(r".+/[0-9]+", re.DOTALL)
_EVENT: Final = re.compile(r"<[^<>\s]+>|[A-Za-z0-9_-]*:.*", re.DOTALL)
_ANY: Final = "*"
_WAY_OUT: Final = "write parts such as `jam/1`, `jam(*)`, `jam(a,*)` or `:Event`, with commas between them"
# Lists of a line of changes, and that of a snapshot.
_LISTS: Final = ("begin", "end", "unknown", "facts")


@dataclass(frozen=True, slots=True)
class FactPattern:
    """Facts of a predicate with some arguments; `*` stands for any."""

    name: str
    terms: tuple[str, ...]

    def matches(self, fact: Fact) -> bool:
        """Whether a fact is one of them.

        >>> FactPattern("speed", ("a", "*")).matches(Fact("speed", ("a", "12", "kmh")))
        True
        """
        is_open = self.terms[-1:] == (_ANY,)
        if fact.predicate != self.name or len(fact.terms) < len(self.terms):
            return False
        if not is_open and len(fact.terms) > len(self.terms):
            return False
        return all(term in (_ANY, other) for term, other in zip(self.terms, fact.terms, strict=False))


@dataclass(frozen=True, slots=True)
class MatchList:
    """Facts and events that are wanted; all of a kind where nothing is said about it."""

    predicates: frozenset[str] = frozenset()
    patterns: frozenset[FactPattern] = frozenset()
    events: frozenset[str] = frozenset()

    @classmethod
    def read(cls, text: str, prefixes: Prefixes = NO_PREFIXES) -> "MatchList":
        """The list that a text stands for; `RefusedError` (400) where it is not one.

        >>> wanted = MatchList.read("jam(a,*), go/0")
        >>> wanted.wants('jam(a,"b, c")'), wanted.wants("jam(b,c)"), wanted.wants("go")
        (True, False, True)
        """
        predicates, patterns, events = set[str](), set[FactPattern](), set[str]()
        for part in _parts(text):
            try:
                if _PREDICATE.fullmatch(part):
                    predicates.update(predicates_of([part], prefixes))
                elif _EVENT.fullmatch(part) and not part.endswith(")"):
                    events.update(event.name for event in events_of([part], prefixes))
                else:
                    patterns.add(_pattern(part, prefixes))
            except (ValueError, RejectedError) as error:
                raise _refused(part, error) from None
        return cls(frozenset(predicates), frozenset(patterns), frozenset(events))

    def wants(self, text: str) -> bool:
        """Whether the fact that prints as a text is wanted."""
        if not self.is_about_facts:
            return True
        fact = fact_of_text(text)
        return fact.signature in self.predicates or any(pattern.matches(fact) for pattern in self.patterns)

    @property
    def is_about_facts(self) -> bool:
        """Whether it leaves out any facts."""
        return bool(self.predicates or self.patterns)

    def line(self, text: bytes) -> bytes | None:
        """A line of answers with what is wanted of it; None where nothing is left.

        >>> MatchList.read("jam(*)").line(b'{"t":3,"begin":["go","jam(a)"],"end":[]}')
        b'{"t":3,"begin":["jam(a)"],"end":[]}'
        """
        data = json.loads(text)
        if (event := data.get("event")) is not None:
            return text if not self.events or event in self.events else None
        if (fact := data.get("fact")) is not None:
            return text if self.wants(fact) else None
        lists = [name for name in _LISTS if isinstance(data.get(name), list)]
        if not lists or not self.is_about_facts:
            return text
        wanted = {name: self._wanted(data[name]) for name in lists}
        if all(len(wanted[name]) == len(data[name]) for name in lists) and any(wanted.values()):
            return text
        return _encoded(data | wanted) if any(wanted.values()) else None

    def _wanted(self, facts: Iterable[Any]) -> list[Any]:
        # Clashes with an ontology are objects.
        return [fact for fact in facts if not isinstance(fact, str) or self.wants(fact)]


EVERYTHING: Final = MatchList()


def _encoded(data: dict[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


def _parts(text: str) -> Iterator[str]:
    """The parts between the commas that are not inside of brackets.

    >>> list(_parts('a/1, p("x,(",*)'))
    ['a/1', 'p("x,(",*)']
    """
    part, depth = "", 0
    for token in _TOKEN.findall(text):
        depth += (token == "(") - (token == ")")
        if token == "," and depth <= 0:
            yield part.strip()
            part = ""
        else:
            part += token
    yield part.strip()


def _pattern(text: str, prefixes: Prefixes) -> FactPattern:
    name, bracket, inside = text.partition("(") if text[:1] != "<" else _after_iri(text)
    if not bracket:
        return _exactly(fact_of(text, prefixes))
    if not inside.endswith(")"):
        raise ValueError("a bracket is not closed")
    terms = [term if term == _ANY else _term(term, prefixes) for term in _parts(inside[:-1])]
    # Any term will do to read the name.
    return FactPattern(fact_of(f"{name}(a)", prefixes).predicate, tuple(terms))


def _after_iri(text: str) -> tuple[str, str, str]:
    iri, end, behind = text.partition(">")
    _, bracket, inside = behind.partition("(")
    return f"{iri}{end}", bracket, inside


def _exactly(fact: Fact) -> FactPattern:
    return FactPattern(fact.predicate, fact.terms)


def _term(text: str, prefixes: Prefixes) -> str:
    (term,) = fact_of(f"p({text})", prefixes).terms
    return term


def _refused(part: str, error: Exception) -> RefusedError:
    reason = error.diagnostics[0].message if isinstance(error, RejectedError) else str(error)
    return RefusedError(400, Diagnostic("E403", f"`match`: `{part}` cannot be read: {reason}", help=_WAY_OUT))
