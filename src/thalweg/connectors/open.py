"""Which transport a name stands for: a file, `-`, or a URI."""

import os
from pathlib import Path
from typing import Final

from thalweg.connectors import files, socket
from thalweg.connectors.reading import ENDINGS, format_of
from thalweg.connectors.transport import Sink, Transport
from thalweg.diagnostics import Diagnostic, Rejected

SCHEMES: Final = ("tcp",)


def open_stream(name: str) -> Transport:
    """Opens a stream to read from; a file must say by its ending what is in it."""
    if name == "-":
        return files.InputTransport()
    if _scheme(name):
        return socket.SocketTransport(name)
    path = Path(name)
    if path.exists() and not path.is_file() and not path.is_dir():
        return files.InputTransport(os.open(path, os.O_RDONLY), name, path.name)
    if format_of(name) is None:
        known = " ".join(ENDINGS)
        raise Rejected([Diagnostic("E402", f"`{name}` is no stream that can be read", help=f"streams end in {known}")])
    return files.FileTransport(path)


def open_output(name: str | None) -> Sink:
    """Opens where answers go; the standard output where nothing is said."""
    if name is None or name == "-":
        return files.standard_output()
    return socket.open_sink(name) if _scheme(name) else files.open_sink(Path(name))


def _scheme(name: str) -> str | None:
    """The scheme of a URI; None for a path.

    >>> _scheme("tcp://localhost:9000"), _scheme("readings.facts")
    ('tcp', None)
    """
    scheme, separator, _ = name.partition("://")
    if not separator:
        return None
    if scheme not in SCHEMES:
        known = " ".join(f"`{scheme}://`" for scheme in SCHEMES)
        raise Rejected([Diagnostic("E402", f"no transport for `{name}`", help=f"known are {known}, `-` and files")])
    return scheme
