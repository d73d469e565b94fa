"""Servers of the web by their addresses: what they are called, and what is said when they cannot be reached."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from thalweg.connectors.files import stream_of
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError, without_secrets


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An address with its password, and the `name` under which it may be shown; `stream` is what rules call it."""

    uri: str = field(repr=False)
    name: str
    stream: str

    def failed(self, reason: str | Exception) -> FailedError:
        """The failure to connect, or to stay connected, with its reason."""
        if isinstance(reason, Exception):
            reason = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        return FailedError(Diagnostic("E404", f"no connection to `{self.name}`: {reason}"))


def read_web_address(uri: str) -> WebAddress:
    """Takes an address apart; `RejectedError` where it names no host.

    >>> read_web_address("https://me:secret@host/north.jsonl?last=3")
    WebAddress(name='https://me:***@host/north.jsonl?last=3', stream='north')
    """
    parts = urlsplit(uri)
    if not parts.hostname:
        message = f"`{uri}` does not name a host"
        raise RejectedError([Diagnostic("E402", message, help=f"write `{parts.scheme}://localhost/readings`")])
    return WebAddress(uri, without_secrets(uri), stream_of(Path(parts.path)) or parts.hostname)
