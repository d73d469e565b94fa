"""Prefixes as people use them: `ex:Camera` for `<http://example.org/Camera>`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

# A text in quotes may look like anything inside, so it is matched whole.
_IRI: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<([^<>"\s]+)>')
_LOCAL: Final = re.compile(r"[A-Za-z0-9_]+(?:-+[A-Za-z0-9_]+)*")
_NAME: Final = re.compile(r"(?:[a-z][A-Za-z0-9_-]*)?")
_OPTION: Final = re.compile(r'([^=\s]*)=<?([^<>"{}|^`\\\s]+)>?')


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Names and the namespaces that they stand for; of two with the same name the first one counts."""

    pairs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, *tables: Mapping[str, str]) -> "Prefixes":
        """The prefixes of some tables, of which earlier ones take precedence; names that rules cannot use are left out.

        >>> Prefixes.of({"ex": "http://a/"}, {"ex": "http://b/", "X": "http://c/"}).pairs
        (('ex', 'http://a/'),)
        """
        by_name: dict[str, str] = {}
        for name, space in (pair for table in tables for pair in table.items()):
            if _NAME.fullmatch(name) and space:
                by_name.setdefault(name, space)
        return cls(tuple(by_name.items()))

    def shorten(self, text: str) -> str:
        """A text in which IRIs are written with their prefixes, where these are known.

        >>> Prefixes((("ex", "http://example.org/"),)).shorten('<http://example.org/Camera>(<http://b/c>,"<http://example.org/a>")')
        'ex:Camera(<http://b/c>,"<http://example.org/a>")'
        """
        return _IRI.sub(lambda match: self.short(match[1]) or match[0] if match[1] else match[0], text)

    def short(self, iri: str) -> str | None:
        """An IRI with its prefix, that of the longest namespace; None where it has none."""
        candidates = [(space, name) for name, space in self.pairs if iri.startswith(space)]
        space, name = max(candidates, key=lambda candidate: len(candidate[0]), default=("", ""))
        return f"{name}:{iri[len(space) :]}" if space and _LOCAL.fullmatch(iri[len(space) :]) else None


NO_PREFIXES: Final = Prefixes()


def given_prefixes(options: Iterable[str]) -> dict[str, str]:
    """The prefixes of options such as `ex=http://example.org/`; `ValueError` where one is written in another way.

    >>> given_prefixes(["ex=http://example.org/"])
    {'ex': 'http://example.org/'}
    """
    by_name: dict[str, str] = {}
    for option in options:
        match = _OPTION.fullmatch(option.strip())
        if not match or not _NAME.fullmatch(match[1].removesuffix(":")):
            raise ValueError(f"`{option}` is not a prefix: write `--prefix ex=http://example.org/`")
        by_name[match[1].removesuffix(":")] = match[2]
    return by_name
