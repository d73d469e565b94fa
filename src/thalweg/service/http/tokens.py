"""Tokens: who may use a service, and for what. A file has their hashes, so that nobody can use what it says.

    [{"name":"ci","scope":"write","made":"2026-11-15T08:00:03Z","sha256":"9f86d0…"}]

A token is printed once, when it is made. A service notices within a second that its file has changed.
"""

import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any, Final, Literal, get_args

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.runtimes.checkpoint_folder import replace_file

Scope = Literal["read", "write", "admin"]
"""What a token is for: `read` < `write` (facts) < `admin` (streams, programs)."""

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
_FRESH: Final = 1.0


def allows(scope: Scope, needed: Scope) -> bool:
    """Whether a scope is enough.

    >>> allows("write", "read"), allows("write", "admin")
    (True, False)
    """
    return SCOPES.index(scope) >= SCOPES.index(needed)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token as the file has it: without what it is."""

    name: str
    scope: Scope
    made: str
    sha256: str

    def as_data(self) -> dict[str, str]:
        """What others may know of it."""
        return {"name": self.name, "scope": self.scope, "made": self.made}


class TokenFile:
    """The tokens in a file, which is read again when it has changed; what is wrong with it then is reported."""

    def __init__(self, path: Path, report: Callable[[Diagnostic], None], now: Callable[[], float] = monotonic) -> None:
        self._path = path
        self._report = report
        self._now = now
        self._state = _state_of(path)
        self._tokens = _by_hash(_read(path))
        self._looked = now()

    def find(self, secret: str) -> AccessToken | None:
        """The token that somebody shows; None where there is none such.

        Only hashes are compared, so how long that takes says nothing about any token.
        """
        self._refresh()
        return self._tokens.get(_hash(secret))

    def __iter__(self) -> Iterator[AccessToken]:
        self._refresh()
        return iter(self._tokens.values())

    def __len__(self) -> int:
        return len(self._tokens)

    def _refresh(self) -> None:
        if self._now() - self._looked < _FRESH:
            return
        self._looked = self._now()
        if (state := _state_of(self._path)) != self._state:
            self._state = state
            self._tokens = self._read_again()

    def _read_again(self) -> dict[str, AccessToken]:
        try:
            return _by_hash(_read(self._path))
        except RejectedError as error:
            # Nobody is let in by a file that cannot be read.
            for diagnostic in error.diagnostics:
                self._report(diagnostic)
            return {}


def add_token(path: Path, name: str, scope: Scope) -> str:
    """Makes a token, keeps its hash in a file, which is made if need be, and returns the token."""
    tokens = _read(path) if path.exists() else []
    if any(token.name == name for token in tokens):
        help_ = "give another name, or remove its entry from the file first"
        raise RejectedError([Diagnostic("E403", f"`{path}` has a token `{name}` already", help=help_)])
    secret = f"thw_{secrets.token_urlsafe(32)}"
    made = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    tokens.append(AccessToken(name, scope, made, _hash(secret)))
    _write(path, tokens)
    return secret


def _write(path: Path, tokens: Iterable[AccessToken]) -> None:
    try:
        # Nobody else may read even the hashes; the file that takes its place has these rights from the start.
        old = os.umask(0o077)
        try:
            replace_file(path, json.dumps([asdict(token) for token in tokens], indent=1).encode() + b"\n")
        finally:
            os.umask(old)
    except OSError as error:
        raise RejectedError([Diagnostic("E401", f"`{path}` cannot be written: {error.strerror}")]) from None


def _hash(secret: str) -> str:
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _by_hash(tokens: Iterable[AccessToken]) -> dict[str, AccessToken]:
    return {token.sha256: token for token in tokens}


def _state_of(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: Path) -> list[AccessToken]:
    try:
        return [_token(entry) for entry in json.loads(path.read_bytes())]
    except OSError as error:
        raise RejectedError([Diagnostic("E401", f"`{path}` cannot be read: {error.strerror}")]) from None
    except (ValueError, TypeError, KeyError):
        help_ = "make tokens with `thalweg serve --new-token NAME --scope read --tokens FILE`"
        raise RejectedError([Diagnostic("E401", f"`{path}` is not a file of tokens", help=help_)]) from None


def _token(entry: dict[str, Any]) -> AccessToken:
    token = AccessToken(*(str(entry[name]) for name in ("name", "scope", "made", "sha256")))  # type: ignore[arg-type]
    if token.scope not in SCOPES:
        raise ValueError(f"`{token.scope}` is not a scope")
    return token
