"""Servers of the web by their addresses: what they are called, and what is said when they cannot be reached."""

import re
from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from thalweg.connectors.files import stream_of
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError, without_secrets

# Hosts, each with a port or without.
_PLACES: Final = re.compile(r"(?:(?:\[[^]]*\]|[^:,]*)(?::[0-9]*)?(?:,|$))*")


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
    parts = split_address(uri)
    if not parts.hostname:
        message = f"`{uri}` does not name a host"
        raise RejectedError([Diagnostic("E402", message, help=f"write `{parts.scheme}://localhost/readings`")])
    return WebAddress(uri, without_secrets(uri), stream_of(Path(parts.path)) or parts.hostname)


def split_address(uri: str) -> SplitResult:
    """The parts of an address; `RejectedError` where a password ends them early, or brackets are not closed.

    >>> split_address("tcp://me:p%2Fw@localhost:9000").password
    'p%2Fw'
    """
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise raw_password(uri) from None
    if "@" not in parts.netloc and "@" in uri and not _PLACES.fullmatch(parts.netloc):
        raise raw_password(uri)
    return parts


def login(parts: SplitResult, token: str | None = None) -> dict[str, str]:
    """The header that says who asks: the user of an address, or who has a token; none for anybody.

    >>> login(split_address("http://me:secret@host")), login(split_address("http://host"), "r-77")
    ({'Authorization': 'Basic bWU6c2VjcmV0'}, {'Authorization': 'Bearer r-77'})
    """
    if parts.username:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return {"Authorization": f"Basic {b64encode(user.encode()).decode()}"}
    return {"Authorization": f"Bearer {token}"} if token else {}


def raw_password(uri: str) -> RejectedError:
    """The rejection of an address whose password holds what has a meaning in addresses."""
    help_ = "in a password write `/` as `%2F`, `?` as `%3F`, `#` as `%23`, `@` as `%40` and `[` as `%5B`"
    return RejectedError([Diagnostic("E402", f"where the host of `{uri}` begins is not clear", help=help_)])
