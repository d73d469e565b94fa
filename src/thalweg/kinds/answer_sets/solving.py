"""Windows answered by clingo, piece by piece.

Each piece of a program (`input_dependency`) gets the facts of its own inputs, each fact once, in the order of their
text: so neither the order of arrival nor the way in which a stream was cut has a say in which answer set comes first. A
piece whose facts are those of the window before has the same answer. The facts of a large piece are spread over the
processes by a key, where it has one (`keys`). The processes beside one of Spark's are
shared by all operators in it.
"""

import atexit
import os
import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from math import prod
from time import perf_counter
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from thalweg.dataflow.context import Context
from thalweg.kinds.answer_sets.windowed import Answered, PieceShare, Unread
from thalweg.languages.asp.program import AspProgram
from thalweg.languages.asp.terms import Names
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, interned
from thalweg.model.rdf import RDF_TYPE
from thalweg.planning.input_dependency import Piece, analyse
from thalweg.planning.keys import Keys
from thalweg.solvers.clingo import Solved, Task
from thalweg.solvers.combine import combine
from thalweg.solvers.pool import SolverPool, Solvers

_WORD: Final = "(?:-?[A-Za-z0-9_']+|#inf|#sup)"
_ARGUMENT: Final = re.compile(rf'{_WORD}|"[^"\\]*(?:\\.[^"\\]*)*"')
_NAME: Final = re.compile(r"(?P<sign>-?)(?P<name>[a-z_'][A-Za-z0-9_']*)\Z")

# What stands before, between and behind the strings of an atom.
_BEGINNING: Final = re.compile(rf"(?:[^(]+\((?:{_WORD},)*)?\Z")
_MIDDLE: Final = re.compile(rf",(?:{_WORD},)*\Z")
_END: Final = re.compile(rf"(?:(?:,{_WORD})*\))?\Z")

# More at once take more room and no less time.
_AT_ONCE: Final = 1_024

# What was found in time is put together, if need be, for this many seconds more.
_GRACE: Final = 0.25

# Fewer facts are solved faster by one process than by two.
_WORTH_SPREADING: Final = 1_000

Symbols = tuple[str, tuple[str, ...]]
"""A fact as clingo reads it, and its arguments."""


class SharedSolvers:
    """Solves by what does not end with an operator."""

    def __init__(self, solvers: Solvers) -> None:
        self._solvers = solvers

    def solve(self, tasks: Sequence[Task]) -> list[Solved]:
        return self._solvers.solve(tasks)

    def close(self) -> None:
        """Leaves the processes to the other operators."""


def pool_of(context: Context) -> Solvers | None:
    """The processes that operators of a run share; None where an operator has processes of its own."""
    if context.solvers is not None:
        return SharedSolvers(context.solvers)
    return SharedSolvers(_solver_pool()) if context.in_columns else None


@cache
def _solver_pool() -> SolverPool:
    pool = SolverPool(os.cpu_count() or 1)
    atexit.register(pool.close)
    return pool


class Solving:
    """An answer set program on clingo; the background is part of every window."""

    def __init__(
        self,
        program: AspProgram,
        pool: Solvers,
        models: str = "first",
        limit: float | None = None,
        background: Iterable[Fact] = (),
        buckets: int = 1,
        spread_from: int = _WORTH_SPREADING,
        dictionary: Dictionary | None = None,
    ) -> None:
        self.dictionary = Dictionary() if dictionary is None else dictionary
        # Two spellings of one fact are one fact to windows that count.
        if dictionary is None:
            self.dictionary.canonical = program.names.canonical if program.prefixes else None
        dependency = analyse(program.outlines, program.inputs)
        self._pieces = dependency.pieces
        self._keys = [dependency.keys(piece) for piece in self._pieces]
        self._tasks = [Task(text_of(program, piece), "", models, limit) for piece in self._pieces]
        self._limit = limit
        self._pool = pool
        self._buckets = buckets
        self._spread_from = spread_from
        self._inputs = frozenset(program.inputs)
        self._atoms = program.names.atoms
        self._symbol = lru_cache(maxsize=65_536)(program.names.as_symbol_text)
        self._spelled = Spelling(program.names)
        self._background = self._symbols(background)
        self._held: deque[tuple[int, dict[Predicate, list[Symbols]]]] = deque()
        # What other parts derive, and from how many facts each follows: two may be one to clingo.
        self._derived: dict[Predicate, Counter[Symbols]] = {}
        self._last: list[dict[str, Solved]] = [{} for _ in self._pieces]

    def add(self, position: int, batches: Sequence[Batch]) -> None:
        symbols = self._symbols(fact for batch in batches for fact in batch.facts(self.dictionary))
        if symbols:
            self._held.append((position, symbols))

    def hold(self, begun: Batch, ended: Batch) -> None:
        for batch, step in ((begun, 1), (ended, -1)):
            for name, atoms in self._symbols(batch.facts(self.dictionary)).items():
                counts = self._derived.setdefault(name, Counter())
                for symbols in atoms:
                    counts[symbols] += step
                    if not counts[symbols]:
                        del counts[symbols]

    def words_in_use(self) -> NDArray[np.int64]:
        # Facts in windows are kept as text.
        return np.zeros(0, dtype=np.int64)

    def unread(self) -> Unread:
        # So are answers.
        return []

    def _symbols(self, facts: Iterable[Fact]) -> dict[Predicate, list[Symbols]]:
        symbols: dict[Predicate, list[Symbols]] = {}
        for fact in facts:
            for name, terms in self._atoms(fact):
                signature = interned(name, len(terms))
                if signature in self._inputs:
                    args = tuple(map(self._symbol, terms))
                    text = f"{name}({','.join(args)})." if args else f"{name}."
                    symbols.setdefault(signature, []).append((text, args))
        return symbols

    def answer(self, first: int, last: int) -> Answered:
        began = perf_counter()
        while self._held and self._held[0][0] < first:
            self._held.popleft()
        windows = [self._window(piece, keys) for piece, keys in zip(self._pieces, self._keys, strict=True)]
        solved = self._solve(["\n".join(sorted(bucket)) for bucket in window] for window in windows)
        until = None if self._limit is None else max(began + self._limit, perf_counter() + _GRACE)
        answers, complete = combine([result for results in solved for result in results], until)
        shares = tuple(
            PieceShare(
                piece.inputs,
                sum(map(len, window)),
                sum(result.seconds for result in results),
                # A piece whose parts have more combinations than are output has those that are.
                len(answers) if len(solved) == 1 else prod(len(result.answers) for result in results),
            )
            for piece, window, results in zip(self._pieces, windows, solved, strict=True)
        )
        return Answered(answers, complete, shares)

    def _spell(self, solved: Solved) -> Solved:
        """In our spelling: there are fewer answers of parts than of the whole."""
        return replace(solved, answers=tuple(tuple(sorted(self._spelled.all(answer))) for answer in solved.answers))

    def _window(self, piece: Piece, keys: Keys | None) -> list[set[str]]:
        """The facts of a piece; in several buckets where they can be spread and are worth it."""
        sources: list[Mapping[Predicate, Collection[Symbols]]] = [
            self._background,
            self._derived,
            *(source for _, source in self._held),
        ]
        facts = {symbols[0] for source in sources for name in piece.inputs for symbols in source.get(name, ())}
        if keys is None or len(facts) < self._spread_from or self._buckets < 2:
            return [facts]
        buckets: list[set[str]] = [set() for _ in range(self._buckets)]
        for source in sources:
            for name in piece.inputs:
                place = keys.get(name)
                for text, args in source.get(name, ()):
                    key = text if place is None else args[place]
                    # The lower bits are the same where facts came here by them, as on Spark.
                    buckets[(crc32(key.encode()) >> 16) % len(buckets)].add(text)
        return buckets

    def _solve(self, windows: Iterable[list[str]]) -> list[list[Solved]]:
        """What is known from the window before is not asked again."""
        windows = list(windows)
        new = [(piece, text) for piece, texts in enumerate(windows) for text in texts if not self._knows(piece, text)]
        tasks = [replace(self._tasks[piece], facts=text) for piece, text in new]
        answers = dict(zip(new, map(self._spell, self._pool.solve(tasks)), strict=True))
        solved = [
            [answers.get((piece, text)) or self._last[piece][text] for text in texts]
            for piece, texts in enumerate(windows)
        ]
        self._last = [
            {text: replace(result, seconds=0.0) for text, result in zip(texts, results, strict=True)}
            for texts, results in zip(windows, solved, strict=True)
        ]
        return solved

    def _knows(self, piece: int, text: str) -> bool:
        last = self._last[piece].get(text)
        return last is not None and last.complete

    def close(self) -> None:
        self._pool.close()


class Spelling:
    r"""Atoms, and other terms that are shown, in our spelling; what no term can hold stays as clingo prints it.

    >>> spelled = Spelling(Names({"ub": "http://ub#"}))
    >>> spelled('ub_dean("<http://x>",ub_y)'), spelled('-q("\\"2.5\\"")'), spelled("p(f(1),-2)"), spelled("ub_y")
    ('<http://ub#dean>(<http://x>,<http://ub#y>)', '-q(2.5)', 'p(f(1),-2)', '<http://ub#y>')
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        # There are many more atoms than terms and predicates.
        self._term = lru_cache(maxsize=65_536)(names.as_term)
        self._predicate = lru_cache(maxsize=1_024)(self._predicate_of)
        self._content = lru_cache(maxsize=65_536)(lambda text: names.as_term(f'"{text}"'))
        self._between = lru_cache(maxsize=65_536)(self._between_strings)

    def __call__(self, text: str) -> str:
        name, bracket, arguments = text.partition("(")
        predicate, args = self._predicate(name), _ARGUMENT.findall(arguments)
        if predicate is None or (bracket and (not args or f"{','.join(args)})" != arguments)):
            return self._names.as_term(text)
        if len(args) == 2 and predicate.endswith(RDF_TYPE):
            return f"{predicate.removesuffix(RDF_TYPE)}{self._names.fact(name.removeprefix('-'), tuple(args))}"
        return f"{predicate}({','.join(map(self._term, args))})" if args else predicate

    def all(self, atoms: Sequence[str]) -> list[str]:
        r"""Atoms in our spelling: strings, and what stands between two of them, are few, and each is looked at once.

        >>> Spelling(Names({"ub": "http://ub#"})).all(['ub_p("<http://x>",ub_y)', "q", 'q(3,"b c")', '"<http://z>"'])
        ['<http://ub#p>(<http://x>,<http://ub#y>)', 'q', 'q(3,"b c")', '<http://z>']
        """
        return [
            text for start in range(0, len(atoms), _AT_ONCE) for text in self._some(atoms[start : start + _AT_ONCE])
        ]

    def _some(self, atoms: Sequence[str]) -> list[str]:
        text = "\n".join(("", *atoms, ""))
        parts: list[str | None] = [*text.split('"')]
        if "\\" not in text:
            parts[1::2] = map(self._content, parts[1::2])
            parts[::2] = map(self._between, parts[::2])
            spelled = [part for part in parts if part is not None]
            if len(spelled) == len(parts):
                return "".join(spelled)[1:-1].split("\n")
        return list(map(self, atoms))

    def _between_strings(self, text: str) -> str | None:
        """What stands between two strings, perhaps of different atoms; None where that takes a closer look."""
        end, *atoms = text.split("\n")
        if not atoms:
            return self._simple(text) if _MIDDLE.match(text) else None
        *atoms, beginning = atoms
        name, bracket, args = beginning.partition("(")
        predicate = self._predicate(name) if bracket else name
        if predicate is None or predicate.endswith(RDF_TYPE) or not (_END.match(end) and _BEGINNING.match(beginning)):
            return None
        return "\n".join((self._simple(end), *map(self, atoms), f"{predicate}{bracket}{self._simple(args)}"))

    def _simple(self, text: str) -> str:
        return _ARGUMENT.sub(lambda match: self._term(match[0]), text)

    def _predicate_of(self, name: str) -> str | None:
        """The name of a predicate in our spelling; None where the text is not a predicate."""
        match = _NAME.match(name)
        return match and f"{match['sign']}{self._names.iri(match['name']) or match['name']}"


def text_of(program: AspProgram, piece: Piece) -> str:
    """What clingo evaluates of a program; without `#show` that is what it derives."""
    shown = "\n".join(f"#show {signature}." for signature in sorted(program.shown)) or "#show."
    return f"{program.text(piece.rules)}\n{shown}\n"
