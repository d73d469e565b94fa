"""A predicate: a name and a number of arguments, written `p/2`.

The value is its text: it compares, sorts, hashes and is written to files as `p/2`, at the cost of a string. Only this
module puts such a text together or takes it apart.

A predicate that is local to a file has the file in its name, `p'jam.lars'/2`. No stream, mapping or answer set can
bring such a name; people read `p/2 of jam.lars`.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Final

_LONGEST: Final = 9
"""Digits of an arity: no fact has more arguments, and Python refuses to read some thousand digits."""


# The file has a character that names in answer sets cannot have; a local IRI is none to those who make triples of them.
_FILE: Final = r"'(?P<file>[A-Za-z0-9_]*[.-][A-Za-z0-9_.-]*)'"
_LOCAL: Final = re.compile(rf"(?:local(?=<))?(?P<name>[a-z][A-Za-z0-9_]*|<[^<>\s]+>){_FILE}")
_ARGUMENTS: Final = r'/[0-9]+|\((?:[^()"]|"(?:[^"\\]|\\.)*")*\)|'
# Texts in quotes are matched whole.
_MENTIONED: Final = re.compile(
    rf"""(?P<text>"(?:[^"\\]|\\.)*")|local(?=<[^<>\s]+>{_FILE.replace("?P<file>", "")})"""
    rf"""|(?<=[A-Za-z0-9_>]){_FILE}(?P<arguments>{_ARGUMENTS})"""
)


class Predicate(str):
    """`speed/2`: the name `speed`, and two arguments.

    >>> speed = Predicate("speed", 2)
    >>> speed, speed.name, speed.arity
    ('speed/2', 'speed', 2)
    """

    __slots__ = ("arity", "name")

    name: str
    arity: int

    def __new__(cls, name: str, arity: int) -> "Predicate":
        self = super().__new__(cls, f"{name}/{arity}")
        self.name = name
        self.arity = arity
        return self

    @staticmethod
    def read(text: str) -> "Predicate":
        """The predicate with this text; raises `ValueError` where it has no name or no arity.

        >>> Predicate.read("<http://example.org/p>/2").name
        '<http://example.org/p>'
        """
        name, _, arity = text.rpartition("/")
        if not name or not (arity.isascii() and arity.isdigit() and len(arity) <= _LONGEST):
            raise ValueError(f"`{text}` is not a predicate such as `speed/2`")
        return interned(name, int(arity))

    def renamed(self, name: str) -> "Predicate":
        """The predicate with another name and the same number of arguments.

        >>> Predicate("speed", 2).renamed("fast")
        'fast/2'
        """
        return interned(name, self.arity)

    @property
    def file(self) -> str | None:
        """The file that it is local to."""
        match = _LOCAL.fullmatch(self.name) if self.name.endswith("'") else None
        return None if match is None else match["file"]

    @property
    def public(self) -> "Predicate":
        """The predicate as it is written in its file.

        >>> Predicate("seen'jam.lars'", 1).public
        'seen/1'
        """
        match = _LOCAL.fullmatch(self.name)
        return self if match is None else self.renamed(match["name"])

    def __reduce__(self) -> tuple[Any, ...]:
        return interned, (self.name, self.arity)


@lru_cache(maxsize=65_536)
def interned(name: str, arity: int) -> Predicate:
    """The predicate with a name and an arity, made once: finding it is faster than building it for each fact.

    >>> interned("speed", 2) is interned("speed", 2)
    True
    """
    return Predicate(name, arity)


def local_name(name: str, file: str) -> str:
    """The name of a predicate that is local to a file.

    >>> local_name("seen", "rules/night jam.lars"), local_name("seen", "rules")
    ("seen'night-jam.lars'", "seen'rules-'")
    """
    label = re.sub(r"[^A-Za-z0-9_.-]", "-", PurePath(file).name)
    kind = "local" if name.startswith("<") else ""
    return f"{kind}{name}'{label if re.search('[.-]', label) else f'{label}-'}'"


def with_files(text: str) -> str:
    """A text in which people read what is local to which file.

    >>> with_files("not seen'jam.lars'(a) in [5]"), with_files("#show seen'jam.lars'/1")
    ('not seen(a) of jam.lars in [5]', '#show seen/1 of jam.lars')
    """
    return _rewritten(text, lambda match: f"{match['arguments']} of {match['file']}")


def without_files(text: str) -> str:
    """A text in which local predicates are written as in their file.

    >>> without_files("record it: `#record local<http://ex/on>'jam.lars'/1.`")
    'record it: `#record <http://ex/on>/1.`'
    """
    return _rewritten(text, lambda match: match["arguments"])


def _rewritten(text: str, write: Callable[[re.Match[str]], str]) -> str:
    """A text with something else in the place of files and of the arguments behind them."""
    if "'" not in text:
        return text
    return _MENTIONED.sub(lambda match: write(match) if match["file"] else match["text"] or "", text)
