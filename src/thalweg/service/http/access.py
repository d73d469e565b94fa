"""Who gets in: each request is looked at before any route is.

    Host       must be the address, so that no page of elsewhere comes in under a name that it has pointed here
    Origin     where a browser sends one, it is the service's own or an allowed one
    token      of the header, or of the console's cookie; where there are no tokens, everyone is `admin`

A cookie goes along with whatever a page sends, so changes that come with one need a header that forms cannot have.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import urlsplit

from thalweg.diagnostics import Diagnostic
from thalweg.service.http.tokens import AccessToken, Scope, TokenFile, allows
from thalweg.service.refused import RefusedError, refusal

COOKIE: Final = "thalweg"
BY_CONSOLE: Final = "x-thalweg"
_READING: Final = ("GET", "HEAD", "OPTIONS")
_LOCAL: Final = ("localhost", "::1", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request, where that matters: the scope, and the name of the token."""

    scope: Scope | None
    name: str = ""

    def need(self, scope: Scope) -> None:
        """Lets those pass who have a scope; `RefusedError` 401 or 403 for others."""
        if self.scope is None:
            raise RefusedError(401, _NO_TOKEN, {"WWW-Authenticate": "Bearer"})
        if not allows(self.scope, scope):
            message = f"this needs a token of the scope `{scope}`, and `{self.name}` is of the scope `{self.scope}`"
            raise refusal(403, message)


_NO_TOKEN: Final = Diagnostic(
    "E903",
    "this needs a token, and the request has none that is known",
    help="send `Authorization: Bearer TOKEN`; `thalweg serve --new-token NAME --scope read --tokens FILE` makes one",
)


class Access:
    """The rules of a service: the hosts and origins that may be named, and the tokens; none where all are `admin`."""

    def __init__(self, host: str, tokens: TokenFile | None = None, origins: Iterable[str] = ()) -> None:
        self.tokens = tokens
        self.origins = frozenset(map(_origin, origins))
        self._hosts = {host.lower(), *_LOCAL, *(urlsplit(origin).hostname or "" for origin in self.origins)}

    def check_place(self, headers: Mapping[str, str], address: str) -> None:
        """Looks at `Host` and `Origin` of a request that came in at an address; `RefusedError` (403)."""
        host = headers.get("host", "")
        if _hostname(host) not in self._hosts | {address}:
            way_out = "use the address that the service prints, or name the host by `--allow-origin http://HOST`"
            raise refusal(403, f"the host `{host}` is not the one of this service", way_out)
        origin = headers.get("origin")
        if origin is not None and not (self.is_allowed(origin) or origin.lower() == f"http://{host.lower()}"):
            raise refusal(403, f"pages of `{origin}` may not use this service", "allow them with `--allow-origin`")

    def is_allowed(self, origin: str) -> bool:
        """Whether pages of an origin other than the service's own may use it."""
        return origin.lower() in self.origins

    def caller(self, method: str, headers: Mapping[str, str]) -> Caller:
        """Who sends a request; `RefusedError` (403) where it changes something by a cookie alone."""
        if self.tokens is None:
            return Caller("admin")
        if (secret := _bearer(headers.get("authorization", ""))) is not None:
            return self.caller_of(secret)
        secret = _cookie(headers.get("cookie", ""))
        if secret is None:
            return Caller(None)
        if method not in _READING and headers.get(BY_CONSOLE) != "1":
            raise refusal(403, "a change with a cookie needs the header `X-Thalweg: 1`")
        return self.caller_of(secret)

    def caller_of(self, secret: str) -> Caller:
        """Who has a token."""
        token: AccessToken | None = self.tokens.find(secret) if self.tokens is not None else None
        return Caller(None) if token is None else Caller(token.scope, token.name)


def _origin(url: str) -> str:
    """An origin as browsers write it; `ValueError` where a URL has none.

    >>> _origin("https://Console.example.org/")
    'https://console.example.org'
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/") or parts.query:
        raise ValueError(f"`{url}` is not an origin: write it as in `https://example.org`")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _hostname(host: str) -> str:
    """The name in a header, without its port.

    >>> _hostname("LocalHost:8642"), _hostname("[::1]:80"), _hostname("a b"), _hostname("[")
    ('localhost', '::1', 'a b', '')
    """
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _bearer(header: str) -> str | None:
    kind, _, secret = header.partition(" ")
    return secret.strip() if kind.lower() == "bearer" else None


def _cookie(header: str) -> str | None:
    try:
        morsel = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return None
    return None if morsel is None else morsel.value
