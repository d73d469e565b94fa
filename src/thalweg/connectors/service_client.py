"""Questions to a service (`thalweg serve`), and what is said when it does not answer, or refuses to."""

import json
import os
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from thalweg.connectors import broker
from thalweg.connectors.web_address import WebAddress, login, read_web_address
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError

TOKEN: Final = "THALWEG_TOKEN"
"""The variable of the environment that may have the token."""

_PATIENCE: Final = 30.0
"""Seconds that an answer may take; the service gives up on its slowest questions after ten."""
_TOKEN_HELP: Final = f"give a token that it knows with `--token`, or in the variable `{TOKEN}`"


def token_here() -> str | None:
    """The token that the environment has."""
    return os.environ.get(TOKEN) or None


class ServiceRefusedError(RejectedError):
    """A service refuses a request; `data` is the whole body of its answer."""

    def __init__(self, status: int, data: Mapping[str, Any], reason: str) -> None:
        self.status, self.data = status, data
        said = [diagnostic_of(diagnostic) for diagnostic in data.get("diagnostics", ())]
        help_ = _TOKEN_HELP if status == 401 else ""
        super().__init__(said or [Diagnostic("E903", f"the service says: {status} {reason}", help=help_)])


class ServiceClient:
    """A service at an address; who asks is said by a `token`, that of the environment, or a user in the address."""

    def __init__(self, url: str, token: str | None = None) -> None:
        """`RejectedError` where the address cannot be one."""
        self._address = _checked(url)
        self._parts = urlsplit(self._address.uri)
        self._headers = {"Accept": "application/json", "User-Agent": "thalweg"} | login(
            self._parts, token or token_here()
        )

    @property
    def name(self) -> str:
        """The address as it may be shown."""
        return self._address.name

    def get(self, *path: str, **query: str | int | None) -> Any:
        """What `GET /v1/…` gives, in plain data; 503 of `ready` is an answer, too.

        `FailedError` where the service cannot be reached, `ServiceRefusedError` where it refuses.
        """
        wanted = {name: value for name, value in query.items() if value is not None}
        target = "/".join([self._parts.path.rstrip("/"), "v1", *(quote(part, safe="") for part in path)])
        status, reason, body = self._asked(f"{target}?{urlencode(wanted)}" if wanted else target)
        try:
            data = json.loads(body)
        except ValueError:
            data = {}
            if status < 300:
                raise self._failed("what answers there is not `thalweg serve`") from None
        if status >= 300 and not (status == 503 and "ready" in data):
            raise ServiceRefusedError(status, data if isinstance(data, dict) else {}, reason)
        return data

    def _asked(self, target: str) -> tuple[int, str, bytes]:
        kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        try:
            connection = kind(self._parts.hostname or "", self._parts.port, timeout=broker.OPENING)
            try:
                connection.connect()
                connection.sock.settimeout(_PATIENCE)
                connection.request("GET", target, headers=self._headers)
                response = connection.getresponse()
                return response.status, response.reason, response.read()
            finally:
                connection.close()
        except (OSError, HTTPException, ValueError) as error:
            raise self._failed(error) from error

    def _failed(self, reason: str | Exception) -> FailedError:
        diagnostic = self._address.failed(reason).diagnostic
        help_ = "start it with `thalweg serve`, or give the address that it printed when it was started"
        return FailedError(Diagnostic(diagnostic.code, diagnostic.message, help=help_))


def _checked(url: str) -> WebAddress:
    if urlsplit(url).scheme not in ("http", "https"):
        message = f"`{url}` is not the address of a service"
        raise RejectedError(
            [Diagnostic("E403", message, help="write it with its scheme, as in `http://127.0.0.1:8642`")]
        )
    return read_web_address(url)


def diagnostic_of(data: Mapping[str, Any]) -> Diagnostic:
    """A diagnostic from its data; where in a text that is not here it lies is said by a note.

    >>> diagnostic_of({"code": "E101", "message": "syntax error", "file": "a.lars", "line": 3, "column": 7}).notes
    ('a.lars:3:7',)
    """
    place = (f"{data['file']}:{data['line']}:{data['column']}",) if "file" in data else ()
    notes = (*place, *data.get("notes", ()))
    return Diagnostic(data["code"], data["message"], help=data.get("help", ""), notes=notes)
