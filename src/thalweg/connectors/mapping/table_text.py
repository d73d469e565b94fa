"""The bytes of a table become text: the encoding of a file is decided once, and a line that contradicts it is reported.

A mark at the beginning says the encoding. Without one a file is UTF-8, unless its first lines that are not plain ASCII
are not: then it is as Windows writes it (cp1252). In a file that has been seen to be UTF-8, a line that is not
is malformed; in one of Windows, a line that is UTF-8 is read as that. So no good UTF-8 is ever read as something else.
"""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder, lookup
from collections.abc import Iterable
from typing import Final

_SEQUENCE: Final = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_QUOTE: Final = b'"'
# How files begin that are often taken for tables of text, what they are, and what to do with them.
_BINARY: Final = (
    (b"\x1f\x8b", "this is compressed with gzip", "unpack it with `gunzip`, or let its name end in `.csv.gz`"),
    (b"PK\x03\x04", "this is a ZIP archive or a workbook", "unpack it, or save the sheet as CSV"),
    (b"PAR1", "this is Parquet", "let its name end in `.parquet`"),
)


def encoding_of(begun: bytes) -> str:
    """The encoding of a file by its first whole lines; empty where plain ASCII does not say it.

    >>> encoding_of(b"temp"), encoding_of("Zürich".encode("cp1252")), encoding_of("a".encode("utf-16"))
    ('', 'cp1252', 'utf-16-le')
    """
    if begun.startswith(BOM_UTF16_LE):
        return "utf-16-le"
    if begun.startswith(BOM_UTF16_BE):
        return "utf-16-be"
    if begun.startswith(BOM_UTF8):
        return "utf-8"
    if begun.isascii():
        return ""
    return "utf-8" if any(map(_is_utf8, begun.split(b"\n"))) else "cp1252"


def binary(begun: bytes) -> tuple[str, str] | None:
    """The kind of a file that is not text, by how it begins, and the way out; None for text.

    >>> binary(b"\\x1f\\x8b\\x08")[0], binary(b"device,temp"), binary("a,b".encode("utf-16"))
    ('this is compressed with gzip', None, None)
    """
    for mark, what, way_out in _BINARY:
        if begun.startswith(mark):
            return what, way_out
    if b"\0" in begun and not encoding_of(begun).startswith("utf-16") and _is_noise(begun):
        return "this is not a table of text: it has NUL bytes", "export it as CSV; for text in UTF-16, say `encoding`"
    return None


def _is_noise(begun: bytes) -> bool:
    """Whether what has NUL bytes is not text with some in its cells: the first line has several, or lines are no text.

    >>> _is_noise(b"a,b\\n\\0,1\\n"), _is_noise("a,b\\n".encode("utf-16-le")), _is_noise(b"a,b\\n\\0\\xff\\n")
    (False, True, True)
    """
    # The last line may be cut within a sign.
    first, *lines = begun.split(b"\n")[:-1] or [begun]
    return first.count(b"\0") > 1 or not all(line.isascii() or _is_utf8(line) for line in (first, *lines))


def mixes_encodings(blocks: Iterable[bytes]) -> bool:
    """Whether blocks of whole lines have both lines in UTF-8 and lines in another encoding; plain ASCII is neither.

    >>> mixes_encodings(["Zürich".encode()]), mixes_encodings(["Zürich".encode(), "Zürich".encode("cp1252")])
    (False, True)
    """
    kinds: set[bool] = set()
    for block in blocks:
        if not block.isascii():
            # The lines of most tables are all in one encoding.
            kinds |= (
                {True} if _is_utf8(block) else {_is_utf8(line) for line in block.split(b"\n") if not line.isascii()}
            )
        if len(kinds) > 1:
            return True
    return False


def _is_utf8(line: bytes) -> bool:
    """Whether a line has signs beyond ASCII, all of them in UTF-8."""
    try:
        return not line.isascii() and bool(line.decode())
    except UnicodeDecodeError:
        return False


class TableText:
    """Blocks of a table as UTF-8; `stated` is the encoding, where it need not be found out.

    >>> text = TableText()
    >>> text.as_utf8("Zürich,7\\n".encode("cp1252"))[0].decode(), text.encoding
    ('Zürich,7\\n', 'cp1252')
    >>> TableText("utf-8").as_utf8(b"a\\n\\xfc\\nb\\n")[1]
    [1]
    """

    def __init__(self, stated: str | None = None) -> None:
        self._is_stated = stated is not None
        self.encoding = lookup(stated).name.removesuffix("-sig") if stated is not None else ""
        self._begun = False

    def complete(self, lines: bytes, quoted: bool = True) -> int:
        """How much of it is whole rows; where cells may be `quoted`, a line break in quotes does not end one."""
        self._see(lines)
        if self.encoding.startswith("utf-16"):
            # The two bytes of a line break stand at an even place.
            sign = "\n".encode(self.encoding)
            end = lines.rfind(sign)
            while end % 2 and end >= 0:
                end = lines.rfind(sign, 0, end)
            return end + 2 if end >= 0 else 0
        end = lines.rfind(b"\n") + 1
        if quoted and _QUOTE in lines and lines.count(_QUOTE, 0, end) % 2:
            end = lines.rfind(b"\n", 0, lines.rfind(_QUOTE, 0, end)) + 1
        return end

    def as_utf8(self, data: bytes) -> tuple[bytes, list[int]]:
        """Whole lines as UTF-8, without a mark, and the numbers of those that are not in the file's encoding."""
        self._see(data)
        begun, self._begun = self._begun, True
        if self.encoding.startswith("utf-16"):
            text = getincrementaldecoder(self.encoding)("replace").decode(data, True)
            return text.removeprefix("\ufeff").encode(), []
        data = data if begun else data.removeprefix(BOM_UTF8)
        if data.isascii():
            return data, []
        if not self.encoding:
            self.encoding = encoding_of(data)
        if self.encoding == "cp1252" and not self._is_stated and _SEQUENCE.search(data):
            return b"\n".join(line if _is_utf8(line) else _of_windows(line) for line in data.split(b"\n")), []
        if self.encoding == "cp1252":
            return _of_windows(data), []
        try:
            text = data.decode(self.encoding)
            return (data if self.encoding == "utf-8" else text.encode()), []
        except UnicodeDecodeError:
            return self._by_line(data.split(b"\n"))

    def save(self) -> dict[str, object]:
        return {"encoding": self.encoding, "begun": self._begun}

    def load(self, saved: dict[str, object]) -> None:
        self.encoding, self._begun = str(saved["encoding"]), bool(saved["begun"])

    def _see(self, begun: bytes) -> None:
        """Takes note of a mark; one of UTF-16 also says which of its two orders is meant."""
        if not self._begun and begun.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            self.encoding = encoding_of(begun)
        elif self.encoding == "utf-16":
            self.encoding = "utf-16-le"

    def _by_line(self, lines: list[bytes]) -> tuple[bytes, list[int]]:
        wrong: list[int] = []
        for number, line in enumerate(lines):
            try:
                lines[number] = line.decode(self.encoding).encode()
            except UnicodeDecodeError:
                wrong.append(number)
                lines[number] = line.decode(self.encoding, errors="replace").encode()
        return b"\n".join(lines), wrong


def _of_windows(data: bytes) -> bytes:
    return data.decode("cp1252", errors="replace").encode()
