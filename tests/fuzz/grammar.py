"""Documents written from grammars: plausible ones, right and wrong, that no mutation of a text would lead to.

    facts                      a name
        k.                     and its alternatives, one a line; `↵` is a line break, `ε` is nothing
        p(«value»). «facts»    `«value»` is replaced by an alternative of that name

The first alternative of a name leads to an end, and is taken when a document grows too deep.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

Grammar = Mapping[str, Sequence[str]]

DEEPEST: Final = 12
_GRAMMARS: Final = Path(__file__).parent / "grammars"
_NAMED: Final = re.compile("«([a-z_]+)»")


@cache
def grammar_of(kind: str) -> Grammar | None:
    """The grammar for documents of a kind; None where there is none."""
    path = _GRAMMARS / f"{kind}.txt"
    return read(path.read_text("utf-8")) if path.is_file() else None


def read(text: str) -> Grammar:
    r"""A grammar from its text.

    >>> read("start\n    a↵«more»\nmore\n    ε\n    b")
    {'start': ['a\n«more»'], 'more': ['', 'b']}
    """
    grammar: dict[str, list[str]] = {}
    alternatives: list[str] = []
    for line in text.splitlines():
        if line.startswith("    "):
            alternatives.append("" if line.strip() == "ε" else line[4:].replace("↵", "\n"))
        else:
            grammar[line] = alternatives = []
    return grammar


def write(random: Random, grammar: Grammar) -> str:
    """A document of a grammar.

    >>> write(Random(1), {"start": ["a«more»"], "more": [".", "b«more»"]})
    'a.'
    """
    return _expanded(random, grammar, "start", 0)


def _expanded(random: Random, grammar: Grammar, name: str, depth: int) -> str:
    alternatives = grammar[name]
    chosen = alternatives[0] if depth > DEEPEST else random.choice(alternatives)
    return _NAMED.sub(lambda found: _expanded(random, grammar, found[1], depth + 1), chosen)
