"""Saved bytes with a checksum over all of them, and with what wrote them: damage is found before anything is read.

    thalweg <format> <version> <checksum>    a line of text before the content; of JSON, keys beside the others

The format is a number that changes when the content does; the version of Thalweg is for people. What the format before
has saved can be read, too.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b
from importlib.metadata import version
from typing import Any, Final, NamedTuple

from thalweg.model.arrow import DamagedError

_NAME: Final = "thalweg"
_CHECKSUM: Final = "checksum"


class Format(NamedTuple):
    """The number of the form in which something is saved, and the oldest one that can be read.

    >>> [number for number in range(9) if Format(7, oldest=6).reads(number)]
    [6, 7]
    """

    number: int
    oldest: int

    def reads(self, number: int) -> bool:
        """Whether what was saved with a number can be read."""
        return self.oldest <= number <= self.number


class OtherFormatError(ValueError):
    """Bytes that are whole, and were saved by a version of Thalweg that saved something else."""

    def __init__(self, writer: str, format: Format | None) -> None:
        own = written_by(version(_NAME), None if format is None else format.number)
        super().__init__(f"was made by {writer}, and this is {own}")


def written_by(version: str, format: int | None) -> str:
    """The version and the format that wrote a file, for messages; None is any format.

    >>> written_by("0.1.0", 4)
    'Thalweg 0.1.0 (format 4)'
    """
    return f"Thalweg {version}" if format is None else f"Thalweg {version} (format {format})"


def seal(content: bytes, format: Format) -> bytes:
    """Content with a header and a checksum, for `unseal` to check.

    >>> unseal(seal(b"ab", Format(1, 1)), Format(2, oldest=1))
    b'ab'
    """
    about = f"{_NAME} {format.number} {version(_NAME)}"
    return f"{about} {_digest(about.encode(), content)}\n".encode() + content


def unseal(data: bytes, format: Format) -> bytes:
    """The content that was sealed; `DamagedError` or `OtherFormatError` where it cannot be used.

    >>> unseal(seal(b"ab", Format(1, 1))[:-1], Format(1, 1))
    Traceback (most recent call last):
    thalweg.model.arrow.DamagedError: it is damaged
    """
    line, _, content = data.partition(b"\n")
    about, _, checksum = line.rpartition(b" ")
    if _digest(about, content).encode() != checksum:
        raise DamagedError("it is damaged")
    _, number, writer = about.decode().split(" ")
    if not format.reads(int(number)):
        raise OtherFormatError(written_by(writer, int(number)), format)
    return content


def seal_json(data: Mapping[str, Any], format: Format) -> bytes:
    """The same for an object of JSON, which stays one."""
    about = {**data, "format": format.number, "version": version(_NAME)}
    return json.dumps({**about, _CHECKSUM: _digest(_canonical(about))}).encode()


def unseal_json(data: bytes, format: Format | None) -> dict[str, Any]:
    """The object that was sealed; `DamagedError` or `OtherFormatError` where it cannot be used. None is any format.

    >>> unseal_json(seal_json({"batch": 7}, Format(1, 1)), Format(1, 1))["batch"]
    7
    """
    try:
        about = json.loads(data)
        checksum = about.pop(_CHECKSUM)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DamagedError("it is damaged") from None
    if _digest(_canonical(about)) != checksum:
        raise DamagedError("it is damaged")
    if format is not None and not format.reads(about["format"]):
        raise OtherFormatError(written_by(about["version"], about["format"]), format)
    return dict(about)


def _canonical(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, sort_keys=True).encode(errors="surrogatepass")


def _digest(*parts: bytes) -> str:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
