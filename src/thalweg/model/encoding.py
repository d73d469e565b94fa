"""In which encoding and in which format a document is, by what stands at its beginning."""

import re
from codecs import (
    BOM_UTF8,
    BOM_UTF16_BE,
    BOM_UTF16_LE,
    BOM_UTF32_BE,
    BOM_UTF32_LE,
    IncrementalDecoder,
    getincrementaldecoder,
)
from typing import Any, Final

_MARKS: Final = (
    (BOM_UTF8, "utf-8"), (BOM_UTF32_LE, "utf-32-le"), (BOM_UTF32_BE, "utf-32-be"), (BOM_UTF16_LE, "utf-16-le"),
    (BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_DECLARED: Final = re.compile(rb"""(\s*<\?xml[^>]*?\bencoding\s*=\s*["'])([A-Za-z0-9._:-]+)(["'])""")
_LINE_END: Final = re.compile(rb"\r\n?|\n")
_OUTSIDE: Final = re.compile(r"\s+|#[^\n]*|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>", re.DOTALL)
_LOOKS: Final = {
    "owlxml": re.compile(r"<(?:[\w-]+:)?Ontology[\s>]"),
    # Turtle may begin with `<a>` as well, but no IRI has a namespace inside.
    "rdfxml": re.compile(r"<[\w-]+:RDF\b|<[\w:-]+\s[^<>]*\bxmlns\b"),
    "functional": re.compile(r"(?:Prefix|Ontology)\s*\("),
    "manchester": re.compile(r"(?:Prefix|Ontology|Class|ObjectProperty|DataProperty|Individual|Import):\s"),
    "jsonld": re.compile(r"\{|\[\s*[{\]]"),
}


class UnknownEncodingError(ValueError):
    """A document is not in the encoding that it says it is in, or that encoding is unknown."""


def as_utf8(data: bytes) -> bytes:
    """A document in UTF-8, whatever the mark at its beginning or its XML declaration says that it is in.

    >>> as_utf8('<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>'.encode("latin-1")).decode()
    '<?xml version="1.0" encoding="UTF-8"?><a>é</a>'
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            data = data[len(mark) :]
            return _declaring_utf8(data if encoding == "utf-8" else _recoded(data, encoding))
    if data[:4] in (b"<\0?\0", b"\0<\0?"):
        return _declaring_utf8(_recoded(data, "utf-16-le" if data[0] else "utf-16-be"))
    declared = _DECLARED.match(data)
    if declared is None or declared[2].lower() in (b"utf-8", b"utf8"):
        return data
    return _declaring_utf8(_recoded(data, declared[2].decode()))


class Recoder:
    """Converts blocks of bytes to UTF-8: the mark at the beginning of the first decides.

    >>> recoder = Recoder()
    >>> [recoder.feed(block) for block in (BOM_UTF16_LE, b"a", b"\\0b\\0")]
    [b'', b'', b'ab']
    """

    def __init__(self) -> None:
        self._begun = b""
        self._encoding: str | None = None
        self._decoder: IncrementalDecoder | None = None
        self._passes = False

    def feed(self, block: bytes) -> bytes:
        if self._passes:
            return block
        if self._decoder is None:
            block = self._begin(block)
        return self._decoder.decode(block).encode() if self._decoder else block

    def save(self) -> dict[str, Any]:
        """What must be known to go on with the next block, as JSON.

        >>> first, second = Recoder(), Recoder()
        >>> first.feed(BOM_UTF16_LE + b"a\\0b")
        b'a'
        >>> second.load(first.save())
        >>> second.feed(b"\\0")
        b'b'
        """
        kept, flag = (b"", 0) if self._decoder is None else self._decoder.getstate()
        about = {"begun": self._begun.decode("latin-1"), "encoding": self._encoding, "passes": self._passes}
        return {**about, "kept": kept.decode("latin-1"), "flag": flag}

    def load(self, saved: dict[str, Any]) -> None:
        """Goes on where another one was saved."""
        self._begun, self._passes = saved["begun"].encode("latin-1"), saved["passes"]
        if saved["encoding"] is not None:
            self._open(saved["encoding"]).setstate((saved["kept"].encode("latin-1"), saved["flag"]))

    def _open(self, encoding: str) -> IncrementalDecoder:
        self._encoding = encoding
        self._decoder = decoder = getincrementaldecoder(encoding)(errors="replace")
        return decoder

    def _begin(self, block: bytes) -> bytes:
        """What stands behind the mark, once it is known whether there is one."""
        block = self._begun + block
        for mark, encoding in _MARKS:
            if block.startswith(mark):
                self._passes = encoding == "utf-8"
                if not self._passes:
                    self._open(encoding)
                return block[len(mark) :]
            if mark.startswith(block):
                self._begun = block
                return b""
        self._passes = True
        return block


def line_ends(data: bytes) -> int:
    """How many lines end in a text: with a line feed, a carriage return, or both.

    >>> line_ends(b"a\\nb\\rc\\r\\nd")
    3
    """
    return len(_LINE_END.findall(data)) if b"\r" in data else data.count(b"\n")


def _recoded(data: bytes, encoding: str) -> bytes:
    try:
        # Some encodings have characters that are halves of one.
        return data.decode(encoding).encode(errors="replace")
    except LookupError:
        raise UnknownEncodingError(f"unknown encoding `{encoding}`") from None
    except UnicodeDecodeError as error:
        line = line_ends(data[: error.start]) + 1
        raise UnknownEncodingError(f"line {line} is not valid {encoding}") from None
    except UnicodeError:
        raise UnknownEncodingError(f"it is not valid {encoding}") from None


def _declaring_utf8(data: bytes) -> bytes:
    return _DECLARED.sub(rb"\1UTF-8\3", data, count=1)


def look(content: bytes) -> str:
    """The format of an ontology by how it begins; anything unknown may be Turtle.

    >>> look(b"<?xml version='1.0'?><rdf:RDF/>"), look(b"# roads\\n<a> <p> <b> ."), look(b"Ontology(<http://a/>)")
    ('rdfxml', 'turtle', 'functional')
    """
    try:
        text = as_utf8(content).decode(errors="replace")
    except ValueError:
        # Only XML says in which encoding it is.
        return "rdfxml"
    position = 0
    while match := _OUTSIDE.match(text, position):
        position = match.end()
    return next((format for format, look in _LOOKS.items() if look.match(text, position)), "turtle")
