"""Whether recorded streams mention the vocabulary of OWL, without which none says that two things are equal.

    <x1> <http://www.w3.org/2002/07/owl#sameAs> <x2> <e1> .        mentions it
    36 <x1> <http://ex.org/near> <x2> .                            does not

Bytes are searched, so only files are looked at in which IRIs are written in full.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from thalweg.connectors.files import FILE_BLOCK, open_for_reading
from thalweg.connectors.held_tables import HeldTable
from thalweg.connectors.readers import format_of
from thalweg.diagnostics import Source

_FORMATS: Final = ("facts", "triples", "quads")
# A declared prefix could stand for the beginning of the vocabulary, an escape for any letter of it; UTF-16 has zeros.
_MENTIONS: Final = (b"/owl#", b"prefix", b"\\", b"\0")
_OVERLAP: Final = max(map(len, _MENTIONS)) - 1


def mention_owl(streams: Iterable[str | Path | Source | HeldTable]) -> bool:
    """Whether any stream may mention the vocabulary; of what is live, or in another format, that is not known.

    >>> mention_owl([Source("in.tnt", "36 <a> <http://ex.org/p> <b> .")])
    False
    >>> mention_owl([Source("in.tnt", "36 <a> <http://www.w3.org/2002/07/owl#sameAs> <b> .")]), mention_owl(["tcp://h:1"])
    (True, True)
    """
    return any(_mentions(stream) for stream in streams)


def _mentions(stream: str | Path | Source | HeldTable) -> bool:
    if isinstance(stream, Source):
        blocks = iter((stream.text.encode(),))
        name = stream.name
    elif isinstance(stream, Path) and stream.is_file():
        blocks, name = _blocks(stream), str(stream)
    else:
        return True
    if format_of(name) not in _FORMATS:
        return True
    tail = b""
    for block in blocks:
        # Declarations of prefixes may be written in capitals.
        text = tail + block.lower()
        if any(mention in text for mention in _MENTIONS):
            return True
        tail = text[-_OVERLAP:]
    return False


def _blocks(path: Path) -> Iterator[bytes]:
    file = open_for_reading(path)
    try:
        while block := file.read(FILE_BLOCK):
            yield block
    finally:
        file.close()
