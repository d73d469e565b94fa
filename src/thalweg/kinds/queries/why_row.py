"""Why a row is among the answers of a query: the triples that it rests on, and until when it stays.

The query is asked once more without its form, `SELECT * WHERE { … }`: the solutions that agree with the row say what
the patterns matched, and the windows know at which ticks that came. How long the row stays is tried out: windows go on
to close, and nothing comes.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.kinds.queries.evaluator import Row, Rows, rdf_spelling
from thalweg.kinds.queries.path_triples import Matches, Triple, ways
from thalweg.kinds.queries.per_window import PerWindow
from thalweg.kinds.queries.query_rows import Constructed, fact_text
from thalweg.languages.lars.facts import read_fact
from thalweg.languages.lars.terms import TERM, ReadingError, canonical
from thalweg.languages.rspql.algebra import Path, TriplePattern, patterns
from thalweg.languages.rspql.closings import Closings, closings_of, evaluation_ticks
from thalweg.languages.rspql.lexer import closing, tokens
from thalweg.languages.rspql.names import local_name
from thalweg.languages.rspql.query import Query
from thalweg.model.explanation import Explanation
from thalweg.model.prefixes import Prefixes
from thalweg.model.time import AS_TICKS, TimeFormat
from thalweg.solvers.sparql import as_stored

MOST_SOLUTIONS: Final = 5
"""How many solutions are shown; a row of an aggregate may rest on thousands."""

_SHAPE: Final = 'write it as `run` prints it, `{"s":"<http://example.org/a>"}`, or as `?s=<http://example.org/a> ?n=3`'
_AGGREGATES: Final = ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")
_PAIR: Final = re.compile(r'[?$]?(\w+)\s*=\s*("(?:[^"\\]|\\.)*"(?:@[\w-]+|\^\^\S+)?|\S+)')


@dataclass(frozen=True, slots=True)
class Support:
    """A triple that a solution rests on; the window that shows it and the ticks at which it came, if it is in one."""

    fact: str
    window: str = ""
    stream: str = ""
    ticks: tuple[int, ...] = ()

    def place(self, times: TimeFormat = AS_TICKS) -> str:
        if not self.window:
            return "background"
        return f"window {self.window}, stream {self.stream}, at {', '.join(map(times.text, self.ticks))}"

    def as_data(self, times: TimeFormat = AS_TICKS) -> dict[str, object]:
        if not self.window:
            return {"fact": self.fact}
        ticks = [times.data(tick) for tick in self.ticks]
        return {"fact": self.fact, "window": self.window, "stream": self.stream, "ticks": ticks}


@dataclass(frozen=True, slots=True)
class RowProof(Explanation):
    """A row, the evaluation that has it, what its solutions rest on, and the last evaluation that will have it.

    `until` is None where nothing ends it.
    """

    row: str
    tick: int
    solutions: tuple[tuple[Support, ...], ...]
    number: int
    until: int | None
    times: TimeFormat = field(default=AS_TICKS, compare=False, repr=False)

    def render(self, times: TimeFormat = AS_TICKS) -> str:
        lines = [f"{self.row} at the evaluation of {times.text(self.tick)}"]
        for place, solution in enumerate(self.solutions, 1):
            lines.append("  because" if self.number == 1 else f"  solution {place} of {self.number}")
            facts = [f"    {support.fact}   ({support.place(times)})" for support in solution]
            lines += facts or ["    nothing: it holds by itself"]
        until = "for ever" if self.until is None else f"until the evaluation of {times.text(self.until)}"
        lines.append(f"  stays {until}, unless something else comes")
        return "\n".join(lines)

    def as_data(self, times: TimeFormat = AS_TICKS) -> dict[str, object]:
        return {
            "row": json.loads(self.row) if self.row.startswith("{") else self.row,
            "t": times.data(self.tick),
            "until": None if self.until is None else times.data(self.until),
            "solutions": [[support.as_data(times) for support in solution] for solution in self.solutions],
            "number": self.number,
        }


def read_row(text: str, query: Query, prefixes: Prefixes) -> dict[str, str]:
    """What a user asks about: terms of some or all columns; for a CONSTRUCT a fact, under the name ''; for an ASK none.

    `RejectedError` where it cannot be read, or has columns that the query has not.
    """
    if query.form == "ASK":
        return {}
    if query.form == "CONSTRUCT":
        return {"": str(read_fact(text, "fact", prefixes.pairs))}
    try:
        written = json.loads(text) if text.lstrip().startswith("{") else dict(_PAIR.findall(text))
        wanted = {name: _term(value, prefixes) for name, value in written.items()}
    except (ReadingError, ValueError):
        wanted = {}
    unknown = [name for name in wanted if name not in query.columns]
    if not wanted or unknown:
        message = f"the query has no column `{unknown[0]}`" if unknown else f"`{text}` is not a row"
        raise RejectedError([Diagnostic("E405", message, help=f"{_SHAPE}; its columns are {', '.join(query.columns)}")])
    return wanted


def _term(text: object, prefixes: Prefixes) -> str:
    """A term as rows have it; `ValueError` where a text, or another value of JSON, is none."""
    if not isinstance(text, str) or not TERM.fullmatch(text):
        raise ValueError(f"`{text}` is not a term")
    return as_stored(canonical(text, dict(prefixes.pairs)))


def why_row(query: Query, evaluator: PerWindow, first: int, now: int, wanted: Mapping[str, str]) -> RowProof | None:
    """Why a row is there at the last evaluation up to `now`; None where it is not. The evaluator is used up."""
    all_closings = tuple(closings_of(window, first) for window in query.windows)
    latest = [tick for closings in all_closings if (tick := closings.latest(now)) is not None]
    row = next((candidate for candidate in evaluator.rows() if _is_asked(query, candidate, wanted)), None)
    if not latest or row is None:
        return None
    bound = dict(zip(query.columns, row, strict=True)) if query.form != "ASK" else {}
    solutions = sorted(
        _solutions(query, evaluator, bound),
        key=lambda supports: [(support.ticks, support.fact) for support in supports],
    )
    tick = max(latest)
    until = _until(evaluator, all_closings, tick, row)
    return RowProof(_shown(query, row, wanted), tick, tuple(solutions[:MOST_SOLUTIONS]), len(solutions), until)


def _is_asked(query: Query, row: Row, wanted: Mapping[str, str]) -> bool:
    if query.form == "CONSTRUCT":
        return wanted[""] in map(fact_text, Constructed(query).change(Rows([row], [])).begin)
    bindings = dict(zip(query.columns, row, strict=True))
    return all(bindings[name] == term for name, term in wanted.items())


def _shown(query: Query, row: Row, wanted: Mapping[str, str]) -> str:
    if query.form != "SELECT":
        return wanted.get("", "true")
    bound = {name: value for name, value in zip(query.columns, row, strict=True) if value is not None}
    return json.dumps(bound, ensure_ascii=False)


def _solutions(query: Query, evaluator: PerWindow, bound: Mapping[str, str | None]) -> Iterator[tuple[Support, ...]]:
    """What each solution of the pattern that agrees with a row rests on."""
    text, names = _pattern(query)
    looked_at = patterns(query.algebra)
    seen: set[tuple[Support, ...]] = set()
    for solution in evaluator.rows(text):
        bindings = {name: value for name, value in zip(names, solution, strict=True) if value is not None}
        if all(
            bindings.get(name, value) == value for name, value in bound.items() if value is not None and name in names
        ):
            supports = tuple(
                dict.fromkeys(
                    support for pattern in looked_at for support in _supports(pattern, bindings, query, evaluator)
                )
            )
            if supports not in seen:
                seen.add(supports)
                yield supports


def _pattern(query: Query) -> tuple[str, list[str]]:
    """The text `SELECT … WHERE` with every variable of the pattern and what is computed of them, and these names."""
    lexed = tokens(query.text)
    form = next(place for place, token in enumerate(lexed) if token.says("SELECT", "ASK"))
    computed: list[tuple[int, int]] = []
    opening = form + 1
    while lexed[opening].text != "{":
        end = closing(lexed, opening) if lexed[opening].text == "(" else None
        computed += [(opening, end)] if end is not None else []
        opening = (opening if end is None else end) + 1
    end = closing(lexed, opening)
    assert end is not None
    if any(token.says(*_AGGREGATES) for token in lexed[form:opening]) or any(
        token.says("GROUP") for token in lexed[end:]
    ):
        computed = []
    names = list(dict.fromkeys(token.text[1:] for token in lexed[opening:end] if token.kind == "variable"))
    items = [f"?{name}" for name in names]
    items += [query.text[lexed[first].start : lexed[last].end] for first, last in computed]
    names += [lexed[last - 1].text[1:] for _, last in computed]
    values = next((token.start for token in lexed[end:] if token.says("VALUES")), len(query.text))
    where = query.text[lexed[opening].start : lexed[end].end]
    select = f"SELECT {' '.join(items) or '*'} WHERE {where} {query.text[values:]}"
    return f"{query.text[: lexed[form].start]} {select}", names


def _supports(
    pattern: TriplePattern, bindings: Mapping[str, str], query: Query, evaluator: PerWindow
) -> Iterator[Support]:
    """The triples that a pattern matched in a solution; none where it took no part in it."""
    terms = [bindings.get(term[1:], "") if term and term.startswith("?") else term for term in pattern.terms]
    graph = bindings.get(pattern.graph[1:], "") if pattern.graph and pattern.graph.startswith("?") else pattern.graph
    if "" in terms or graph == "" or (terms[1] is None and pattern.path is None):
        return
    window = next((candidate for candidate in query.windows if candidate.name == graph), None)
    for triple, ticks in _matched(pattern.path, terms, lambda wanted: evaluator.matches(graph, wanted)):
        fact = fact_text(tuple(map(rdf_spelling, triple)))
        if window is None:
            yield Support(fact)
        else:
            yield Support(fact, local_name(window.name), local_name(window.stream), tuple(ticks))


def _matched(
    path: Path | None, terms: Sequence[str | None], matches: Matches
) -> Iterable[tuple[Triple, Sequence[int]]]:
    """The triples that a pattern matched; along a path those of one way between its ends, if one of them is known."""
    if path is None:
        return matches(terms).items()
    start, end = terms[0], terms[2]
    if start is None and end is None:
        return ()
    origin, other = (start, end) if start is not None else (end, start)
    assert origin is not None
    reached = ways(path, origin, matches, forward=start is not None)
    return reached.get(other, ()) if other is not None else next(iter(reached.values()), ())


def _until(evaluator: PerWindow, all_closings: Sequence[Closings], tick: int, row: Row) -> int | None:
    """The last evaluation that has a row, if nothing comes; None where it stays for ever."""
    count, before = evaluator.rows().count(row), tick
    emptied = tick + max(closings.size + closings.slide for closings in all_closings)
    for later in evaluation_ticks(all_closings, tick + 1, emptied):
        changed = evaluator.evaluate(later)
        count += changed.begin.count(row) - changed.end.count(row)
        if not count:
            return before
        before = later
    return None
