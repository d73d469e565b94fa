"""Saved states have a name and a version, so that one of another version is refused and not guessed at.

The version before can be read where a format says how it becomes this one.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.arrow import frame, unframe


@dataclass(frozen=True, slots=True)
class StateFormat:
    """What a saved state is a state of, and the version of the way in which it is written.

    `upgrade` makes a state of the version before one of this version.
    """

    name: str
    version: int = 1
    upgrade: Callable[[bytes], bytes] | None = field(default=None, compare=False, repr=False)


def sealed(format: StateFormat, data: bytes) -> bytes:
    """A state with its name and version.

    >>> unsealed(StateFormat("join"), sealed(StateFormat("join"), b"rows"))
    b'rows'
    """
    return frame([json.dumps([format.name, format.version]).encode(), data])


def unsealed(format: StateFormat, data: bytes) -> bytes:
    """The state that was saved; `RejectedError` where it is one of another version.

    >>> unsealed(StateFormat("join", 2), sealed(StateFormat("join"), b""))
    Traceback (most recent call last):
    thalweg.diagnostics.RejectedError: error[E421]: the checkpoint has version 1 of the state `join`, and ...
    >>> unsealed(StateFormat("join", 2, upgrade=bytes.upper), sealed(StateFormat("join"), b"rows"))
    b'ROWS'
    """
    about, content = unframe(data)
    name, version = json.loads(about)
    if format.upgrade is not None and (name, version) == (format.name, format.version - 1):
        return format.upgrade(content)
    if (name, version) != (format.name, format.version):
        raise other_version(format, name, version)
    return content


def other_version(format: StateFormat, name: str, version: int) -> RejectedError:
    """The error for a state that another version of Thalweg wrote."""
    own = "" if name == format.name else f" of `{format.name}`"
    message = (
        f"the checkpoint has version {version} of the state `{name}`, "
        f"and this version of Thalweg reads version {format.version}{own}"
    )
    way_out = "begin with a new folder, or go on with the version of Thalweg that wrote it"
    return RejectedError([Diagnostic("E421", message, help=way_out)])
