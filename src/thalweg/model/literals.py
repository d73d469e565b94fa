"""What a literal says by itself: its value, and the datatypes that the value belongs to.

    3                     becomes   literal(3,"decimal 3",<…#integer>), literal(3,"decimal 3",<…#byte>), …
                                    outside(3,<…#string>), outside(3,<…#negativeInteger>), …
    "cat"^^<…#integer>    becomes   ill_typed("cat"^^<…#integer>), outside("cat"^^<…#integer>,<…#integer>), …

Rules join on terms and cannot look inside one, so what the datatype rules of OWL 2 RL need to know comes as facts. Two
literals have the same second argument exactly if they have the same value in the sense of OWL 2, which is identity: 3
and 3.0 are one value, +0.0 and -0.0 are two floats, and a moment in two time zones is two values.
"""

import re
import struct
from base64 import b64decode, b64encode
from calendar import monthrange
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import cache
from typing import Final, NamedTuple
from xml.etree.ElementTree import ParseError, canonicalize

from thalweg.model.fact import Fact
from thalweg.model.rdf import XSD, blank
from thalweg.model.term import is_literal, is_number, quote, unquote

LITERAL: Final = "<http://www.w3.org/2000/01/rdf-schema#Literal>"
PLAIN: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#PlainLiteral>"
XML: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral>"


class Value(NamedTuple):
    """A value: the datatype that all of its kind belong to, and a text that no other value of this kind has."""

    kind: str
    text: str


class Datatype(NamedTuple):
    """How the literals of a datatype are read, and which of the values of its kind belong to it."""

    kind: str
    read: Callable[[str], str | None]
    holds: Callable[[str], bool] = lambda text: True


def describe(term: str, among: Iterable[str] | None = None) -> list[Fact]:
    """The facts about a literal, as far as they concern the datatypes `among`; none about other terms.

    >>> [str(fact) for fact in describe('"true"^^<http://www.w3.org/2001/XMLSchema#boolean>', among=())]
    ['literal("true"^^<http://www.w3.org/2001/XMLSchema#boolean>,"boolean true",<http://www.w3.org/2000/01/rdf-schema#Literal>)']
    """
    datatypes = [LITERAL, *(name for name in (DATATYPES if among is None else among) if name in DATATYPES)]
    text, datatype = parts(term)
    if datatype not in DATATYPES:
        return []
    value = value_of(text, datatype)
    if value is None:
        return [Fact("ill_typed", (term,)), *(Fact("outside", (term, name)) for name in datatypes)]
    word = quote(f"{value.kind} {value.text}")
    return [
        Fact("literal", (term, word, name)) if belongs(value, name) else Fact("outside", (term, name))
        for name in datatypes
    ]


def stand_in(term: str) -> Fact | None:
    """The blank node that the rules lg-* of pD* put in the place of a literal; nothing for other terms.

    >>> str(stand_in("cat")), str(stand_in("3")), stand_in("<a>")
    ('plain_literal(cat,_:literal_0_cat)', 'typed_literal(3,_:literal_0_3,<...integer>)', None)
    """
    text, datatype = parts(term)
    if not datatype or (datatype in DATATYPES and value_of(text, datatype) is None):
        return None
    node = blank(term, "literal")
    if datatype in (f"<{XSD}string>", PLAIN):
        return Fact("plain_literal", (term, node))
    return Fact("typed_literal", (term, node, datatype))


def parts(term: str) -> tuple[str, str]:
    """The lexical form of a literal and its datatype; an empty datatype for other terms.

    >>> parts('"chat"@fr'), parts("chat"), parts("2.50"), parts("<a>")
    (('chat@fr', '<...PlainLiteral>'), ('chat', '<...string>'), ('2.50', '<...decimal>'), ('', ''))
    """
    if is_number(term):
        return term, f"<{XSD}{'decimal' if '.' in term else 'integer'}>"
    if not is_literal(term):
        return "", ""
    if term[0] != '"':
        return term, f"<{XSD}string>"
    end = term.rindex('"') + 1
    text, tag = unquote(term[:end]), term[end:]
    if tag.startswith("^^"):
        return text, tag[2:]
    return (text + tag, PLAIN) if tag else (text, f"<{XSD}string>")


def value_of(text: str, datatype: str) -> Value | None:
    """The value that a lexical form stands for; None where it stands for none."""
    definition = DATATYPES[datatype]
    if datatype == PLAIN:
        return _plain(text)
    value = definition.read(text)
    return None if value is None or not definition.holds(value) else Value(definition.kind, value)


def belongs(value: Value, datatype: str) -> bool:
    """Whether a value is in the value space of a datatype.

    >>> belongs(Value("decimal", "300"), f"<{XSD}int>"), belongs(Value("decimal", "300"), f"<{XSD}byte>")
    (True, False)
    """
    if datatype in (LITERAL, PLAIN):
        return datatype == LITERAL or value.kind in ("string", "text")
    definition = DATATYPES[datatype]
    return definition.kind == value.kind and definition.holds(value.text)


def _plain(text: str) -> Value | None:
    """`chat@fr`, or `chat@` without a language."""
    body, separator, language = text.rpartition("@")
    if not separator or (language and not re.fullmatch(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*", language)):
        return None
    return Value("text", f"{body}@{language.lower()}") if language else Value("string", body)


def _decimal(text: str) -> str | None:
    if not re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)", text):
        return None
    number = Decimal(text)
    shortest = f"{number:f}".rstrip("0").rstrip(".") if "." in text else f"{number:f}"
    return "0" if number == 0 else shortest


def _integer(text: str) -> str | None:
    return _decimal(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None


def _within(low: int | None, high: int | None) -> Callable[[str], bool]:
    def holds(text: str) -> bool:
        if "." in text:
            return False
        return (low is None or int(text) >= low) and (high is None or int(text) <= high)

    return holds


def _double(text: str) -> str | None:
    if text in ("INF", "+INF", "-INF", "NaN"):
        return text.removeprefix("+")
    if not re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return None
    return repr(float(text)).replace("inf", "INF")


def _float(text: str) -> str | None:
    double = _double(text)
    if double is None or double.endswith(("INF", "NaN")):
        return double
    try:
        return repr(struct.unpack("<f", struct.pack("<f", float(double)))[0])
    except OverflowError:
        return "-INF" if double.startswith("-") else "INF"


def _boolean(text: str) -> str | None:
    return {"true": "true", "1": "true", "false": "false", "0": "false"}.get(text)


def _hexadecimal(text: str) -> str | None:
    return text.upper() if re.fullmatch(r"([0-9A-Fa-f]{2})*", text) else None


def _base64(text: str) -> str | None:
    try:
        return b64encode(b64decode(text.replace(" ", ""), validate=True)).decode()
    except ValueError:
        return None


def _xml(text: str) -> str | None:
    try:
        return canonicalize(f"<x>{text}</x>")
    except ParseError:
        return None


_MOMENT: Final = re.compile(
    r"(?P<year>-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12][0-9]|3[01])"
    r"T(?:(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9]):(?P<second>[0-5][0-9])(?:\.(?P<part>[0-9]+))?"
    r"|(?P<midnight>24:00:00(?:\.0+)?))(?P<zone>Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"
)


def _moment(text: str) -> str | None:
    """A dateTime with the shortest seconds; what ends a day begins the next one."""
    match = _MOMENT.fullmatch(text)
    if not match:
        return None
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    # The Gregorian calendar repeats itself every 400 years, and the library knows the years from 1 to 9999.
    last = monthrange(2000 + year % 400, month)[1]
    if day > last:
        return None
    zone = "Z" if match["zone"] in ("+00:00", "-00:00") else match["zone"] or ""
    if not match["midnight"]:
        part = (match["part"] or "").rstrip("0")
        clock = f"{match['hour']}:{match['minute']}:{match['second']}" + (f".{part}" if part else "")
        return f"{year}-{month:02}-{day:02}T{clock}{zone}"
    year, month, day = (year, month, day + 1) if day < last else (year + month // 12, month % 12 + 1, 1)
    return f"{year}-{month:02}-{day:02}T00:00:00{zone}"


def _string(text: str) -> str:
    return text


def _pattern(pattern: str) -> Callable[[str], bool]:
    # Compiled when it is needed: most programs never meet these datatypes, and all of them load this module.
    compiled = cache(lambda: re.compile(pattern))
    return lambda text: compiled().fullmatch(text) is not None


_START: Final = r"A-Z_a-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C\u200D\u2070-\u218F"
_FIRST: Final = _START + r"\u2C00-\u2FEF\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF"
_LATER: Final = _FIRST + r"\-.0-9\u00B7\u0300-\u036F\u203F\u2040"

_INTEGERS: Final[dict[str, tuple[int | None, int | None]]] = {
    "integer": (None, None),
    "nonNegativeInteger": (0, None),
    "nonPositiveInteger": (None, 0),
    "positiveInteger": (1, None),
    "negativeInteger": (None, -1),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-(2**7), 2**7 - 1),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 2**8 - 1),
}
_STRINGS: Final = {
    "string": r"(?s:.*)",
    "normalizedString": r"[^\t\n\r]*",
    "token": r"(?:[^\t\n\r ]+(?: [^\t\n\r ]+)*)?",
    "language": r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*",
    "Name": rf"[:{_FIRST}][:{_LATER}]*",
    "NCName": rf"[{_FIRST}][{_LATER}]*",
    "NMTOKEN": rf"[:{_LATER}]+",
}

DATATYPES: Final[dict[str, Datatype]] = {
    LITERAL: Datatype("", lambda text: None),
    PLAIN: Datatype("text", _string),
    XML: Datatype("XMLLiteral", _xml),
    f"<{XSD}decimal>": Datatype("decimal", _decimal),
    **{f"<{XSD}{name}>": Datatype("decimal", _integer, _within(*bounds)) for name, bounds in _INTEGERS.items()},
    f"<{XSD}float>": Datatype("float", _float),
    f"<{XSD}double>": Datatype("double", _double),
    **{f"<{XSD}{name}>": Datatype("string", _string, _pattern(pattern)) for name, pattern in _STRINGS.items()},
    f"<{XSD}boolean>": Datatype("boolean", _boolean),
    f"<{XSD}hexBinary>": Datatype("hexBinary", _hexadecimal),
    f"<{XSD}base64Binary>": Datatype("base64Binary", _base64),
    f"<{XSD}anyURI>": Datatype("anyURI", _string),
    f"<{XSD}dateTime>": Datatype("dateTime", _moment),
    f"<{XSD}dateTimeStamp>": Datatype("dateTime", _moment, _pattern(r".*(?:Z|[+-][0-9]{2}:[0-9]{2})")),
}
"""The datatypes of OWL 2 RL, and how each is read."""
