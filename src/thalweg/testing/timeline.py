"""A test is a page that a colleague can check by hand.

    ## A window forgets

        slow(S) :- speed(S,V) in [10], V < 20.

    |  t | in           | out       |
    |  0 | speed(a,12)  | + slow(a) |
    | 11 |              | - slow(a) |

becomes a `Case`. The indented lines are the program. A row says what arrives at a tick, and how the answer changes at
it; at a tick without a row nothing arrives and nothing changes. The table covers every tick from its first row to its
last. Facts are written as in a rule's body, so `speed(a,12) from gate` arrives on the stream `gate`. A line
`tick: 1 min` above the program sets the length of a tick. Everything else on a page is prose.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from thalweg.diagnostics import Source
from thalweg.ir.nodes import Constant, Now, Program
from thalweg.languages import lars
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.time import milliseconds
from thalweg.testing.evaluators import Changes, Difference, Evaluator

_SIGN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<sign>[+-]) ')
_TICK: Final = re.compile(r"tick:(.*)")
_PREFIX: Final = re.compile(r"@prefix[^\n]*")
_CELL_END: Final = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Case:
    """One titled section of a page: a program, what arrives, and how the answer must change."""

    title: str
    program: Program
    events: tuple[Event, ...]
    changes: Changes
    first: int
    last: int


class PageError(ValueError):
    """A page cannot be read; says where."""


def read_page(source: Source) -> list[Case]:
    """Every case of a page, in order.

    >>> page = '''
    ... ## A window forgets
    ...     slow(S) :- speed(S,V) in [10], V < 20.
    ... |  t | in           | out       |
    ... |  0 | speed(a,12)  | + slow(a) |
    ... | 11 |              | - slow(a) |
    ... '''
    >>> [case] = read_page(Source("windows.md", page))
    >>> case.title, case.first, case.last, str(case.changes[11])
    ('A window forgets', 0, 11, '- slow(a)')
    """
    return [_case(source.name, title, lines) for title, lines in _sections(source) if _has_table(lines)]


def check(case: Case, evaluator: Evaluator) -> None:
    """Raises AssertionError, with the rows that differ, unless the evaluator agrees with the page.

    >>> from thalweg.testing.evaluators import by_semantics
    >>> [case] = read_page(Source("", "## Now\\n    q :- p.\\n| t | in | out |\\n| 3 | p | + q |\\n| 4 | | - q |"))
    >>> check(case, by_semantics)
    """
    actual = evaluator(case.program, case.events, case.first, case.last)
    different = [tick for tick in sorted({*case.changes, *actual}) if case.changes.get(tick) != actual.get(tick)]
    if different:
        raise AssertionError("\n".join([case.title, *(_disagreement(case, actual, tick) for tick in different)]))


def _disagreement(case: Case, actual: Changes, tick: int) -> str:
    nothing = Difference()
    page, evaluator = case.changes.get(tick, nothing), actual.get(tick, nothing)
    return f"at {tick} the page says {str(page) or 'nothing'}; the evaluator says {str(evaluator) or 'nothing'}"


Line = tuple[int, str]


def _sections(source: Source) -> Iterator[tuple[str, list[Line]]]:
    title, lines = "", list[Line]()
    for number, line in enumerate(source.text.splitlines(), source.first_line):
        if line.startswith("#"):
            yield title, lines
            title, lines = line.lstrip("#").strip(), []
        else:
            lines.append((number, line))
    yield title, lines


def _has_table(lines: list[Line]) -> bool:
    return any(line.startswith("|") for _, line in lines)


def _case(name: str, title: str, lines: list[Line]) -> Case:
    written = [(number, line[4:]) for number, line in lines if line.startswith("    ")]
    if not written:
        raise PageError(
            f"{name}:{lines[0][0]}: `{title}` has a table but no program; indent the program by four spaces"
        )
    text = "\n".join(line for _, line in written)
    program = lars.read(Source(name, text, first_line=written[0][0]), tick_length=_tick_length(lines))
    prefixes = " ".join(_PREFIX.findall(text))
    events, changes = list[Event](), dict[int, Difference]()
    for number, tick, arriving, changing in _rows(name, lines):
        if changes and tick <= max(changes):
            raise PageError(f"{name}:{number}: each row is later than the one above it")
        events += _events(Source(name, arriving, number), tick, prefixes)
        changes[tick] = _difference(Source(name, changing, number), prefixes)
    actual = {tick: difference for tick, difference in changes.items() if difference}
    return Case(title, program, tuple(events), actual, min(changes), max(changes))


def _tick_length(lines: list[Line]) -> int:
    matches = [match for _, line in lines if (match := _TICK.fullmatch(line))]
    return milliseconds(matches[0].group(1)) if matches else 1_000


def _rows(name: str, lines: list[Line]) -> Iterator[tuple[int, int, str, str]]:
    for number, line in lines:
        if not line.startswith("|"):
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(line.strip())[1:-1]]
        if cells == ["t", "in", "out"] or all(cell and not cell.strip("-:") for cell in cells):
            continue
        if len(cells) != 3 or not cells[0].isdigit():
            raise PageError(f"{name}:{number}: a row is `| tick | what arrives | what changes |`")
        yield number, int(cells[0]), cells[1], cells[2]


def _events(source: Source, tick: int, prefixes: str) -> list[Event]:
    """One event for each run of facts on the same stream."""
    events = list[Event]()
    for fact, stream in _facts(source, prefixes):
        if events and events[-1].stream == stream:
            events[-1] = Event(tick, (*events[-1].facts, fact), stream)
        else:
            events.append(Event(tick, (fact,), stream))
    return events


def _difference(source: Source, prefixes: str) -> Difference:
    text, signs = source.text, [match for match in _SIGN.finditer(source.text) if match["sign"]]
    if text and (not signs or signs[0].start() > 0):
        raise PageError(f"{source.name}:{source.first_line}: write `+ fact` for what begins and `- fact` for what ends")
    ends = [*(sign.start() for sign in signs[1:]), len(text)]
    changed: dict[str, set[str]] = {"+": set(), "-": set()}
    for sign, end in zip(signs, ends, strict=False):
        part = text[sign.end() : end].strip().removesuffix(",")
        changed[sign["sign"]].update(
            str(fact) for fact, _ in _facts(Source(source.name, part, source.first_line), prefixes)
        )
    return Difference(frozenset(changed["+"]), frozenset(changed["-"]))


def _facts(source: Source, prefixes: str) -> Iterator[tuple[Fact, str | None]]:
    """Reads facts as the body of a rule, so that the table is in the language of the program."""
    if not source.text:
        return
    rule = Source(source.name, f"{prefixes} row :- {source.text}.", source.first_line)
    for literal in lars.read(rule).rules[0].body:
        match literal:
            case Now(atom, stream) if all(isinstance(arg, Constant) for arg in atom.args):
                yield Fact(atom.predicate, tuple(arg.term for arg in atom.args if isinstance(arg, Constant))), stream
            case _:
                raise PageError(
                    f"{source.name}:{source.first_line}: `{source.text}` are not facts, separated by commas"
                )
