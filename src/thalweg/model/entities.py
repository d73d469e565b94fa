"""Entities of XML, measured before a parser expands them: a kilobyte of declarations can expand to gigabytes.

    <!ENTITY owl "http://www.w3.org/2002/07/owl#">      makes `&owl;Class` an IRI: common, and allowed
    <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">              repeated nine times is 400 MB: refused

Every declaration of the document is looked at, wherever it stands, and only those in the plain form are let through:
so a parser that finds the end of a DTD elsewhere than another one sees no declaration that was not measured.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

# Characters that one entity may expand to, and that all references of a document may expand to together.
MOST_FOR_ONE: Final = 1 << 20
MOST_FOR_ALL: Final = 1 << 20
MOST_PER_CHARACTER: Final = 32

_TYPE: Final = re.compile(r"<!DOCTYPE", re.IGNORECASE)
_BEGIN: Final = re.compile(r"<!ENTITY", re.IGNORECASE)
_SPACE: Final = r"[ \t\r\n]"
_DECLARATION: Final = re.compile(
    rf"""<!ENTITY{_SPACE}+(?:%{_SPACE}+)?(?P<name>[\w:.-]+){_SPACE}+(?P<value>"[^"]*"|'[^']*'|(?:SYSTEM|PUBLIC)\b)"""
)
_REFERENCE: Final = re.compile(r"&([^&;]*);")


class ExpansionError(ValueError):
    """The entities of a document cannot be expanded: what is wrong, and the offset at which it stands."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


def check_entities(text: str) -> None:
    """Raises `ExpansionError` where an entity is external, is not declared in the plain form, or expands too far.

    >>> check_entities('<!DOCTYPE a [<!ENTITY owl "http://www.w3.org/2002/07/owl#">]><a b="&owl;Class"/>')
    >>> check_entities('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>')
    Traceback (most recent call last):
    thalweg.model.entities.ExpansionError: the entity `x` is external, and external entities are not read
    """
    sizes: dict[str, int] = {}
    for offset, name, value in _declared(text):
        # A later declaration of a name replaces an earlier one, and may refer to it.
        sizes[name] = size = len(value) + sum(map(sizes.__getitem__, _known(value, sizes)))
        if size > MOST_FOR_ONE:
            raise ExpansionError(f"the entity `{name}` expands to more than {MOST_FOR_ONE:,} characters", offset)
    if not sizes:
        return
    counted = Counter(_known(text, sizes))
    most = MOST_FOR_ALL + MOST_PER_CHARACTER * len(text)
    if (total := sum(sizes[name] * times for name, times in counted.items())) > most:
        worst = max(counted, key=lambda name: sizes[name] * counted[name])
        message = f"entities expand to {total:,} characters here, most of them from `&{worst};`; the limit is {most:,}"
        raise ExpansionError(message, text.find(f"&{worst};"))


def expand_entities(text: str) -> str:
    """The document with its references replaced, for a parser that knows no entities; checked first.

    >>> expand_entities('<!DOCTYPE a [<!ENTITY x "http://x/">]><a b="&x;A">&lt;</a>')
    '<!DOCTYPE a [<!ENTITY x "http://x/">]><a b="http://x/A">&lt;</a>'
    """
    check_entities(text)
    values: dict[str, str] = {}
    for _, name, value in _declared(text):
        values[name] = _replaced(value, values)
    return _replaced(text, values) if values else text


def _declared(text: str) -> Iterator[tuple[int, str, str]]:
    """The declarations in order: offset, name and value."""
    if not _TYPE.search(text):
        return
    for begin in _BEGIN.finditer(text):
        match = _DECLARATION.match(text, begin.start())
        if match is None:
            message = 'unsupported entity declaration; write `<!ENTITY name "value">`'
            raise ExpansionError(message, begin.start())
        if match["value"][0] not in "\"'":
            message = f"the entity `{match['name']}` is external, and external entities are not read"
            raise ExpansionError(message, begin.start())
        yield begin.start(), match["name"], match["value"][1:-1]


def _known(text: str, sizes: Mapping[str, int]) -> Iterator[str]:
    return (name for name in _REFERENCE.findall(text) if name in sizes)


def _replaced(text: str, values: Mapping[str, str]) -> str:
    return _REFERENCE.sub(lambda match: values.get(match[1], match[0]), text)
