"""The common parts of brokers: addresses with a topic and options, and messages that are made of lines.

`mqtt://user:secret@host:1883/city/+/speed?messages=100`, `kafka://one:9092,two:9092/readings?from=latest`
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, quote, unquote

from thalweg.connectors.web_address import raw_password, split_address
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError, without_secrets

# Seconds: how long to wait for the first answer of a broker, and for one that is lost to come back.
OPENING: Final = 10.0
PATIENCE: Final = 60.0
# How many messages at most make one block.
MESSAGES: Final = 1000


@dataclass(frozen=True, slots=True)
class Address:
    """A broker, a topic there, and how to treat it."""

    scheme: str
    place: str
    topic: str
    options: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """As the user wrote it, without the password."""
        password = ":***" if self.password is not None else ""
        login = f"{quote(self.user or '')}{password}@" if self.user or password else ""
        options = "&".join(f"{key}={value}" for key, value in self.options.items())
        topic = f"/{self.topic}" * bool(self.topic)
        return without_secrets(f"{self.scheme}://{login}{self.place}{topic}" + f"?{options}" * bool(options))

    def number(self, option: str) -> int | None:
        """The value of an option that counts something.

        >>> read_address("mqtt://localhost/a?messages=3", ["messages"]).number("messages")
        3
        """
        text = self.options.get(option)
        if text is not None and not (text.isdecimal() and int(text) > 0):
            raise self.misfit(f"`{option}={text}` is not a positive number")
        return None if text is None else int(text)

    def choice(self, option: str, *values: str) -> str | None:
        """The value of an option that has few.

        >>> read_address("kafka://localhost/a?from=latest", ["from"]).choice("from", "earliest", "latest")
        'latest'
        """
        text = self.options.get(option)
        if text is not None and text not in values:
            raise self.misfit(f"`{option}={text}` is not valid", f"write {' or '.join(values)}")
        return text

    def misfit(self, message: str, help: str = "") -> RejectedError:
        """The error for a wrong option."""
        return RejectedError([Diagnostic("E403", f"{message} in `{self.name}`", help=help)])

    def failed(self, reason: str, help: str = "") -> FailedError:
        """The failure to connect, or to stay connected, with its reason."""
        return FailedError(Diagnostic("E404", f"no connection to `{self.name}`: {reason}", help=help))


def read_address(uri: str, options: Collection[str]) -> Address:
    """Takes a URI apart; a topic may hold the wildcards `+` and `#`, and anything else percent-encoded.

    >>> address = read_address("mqtt://me:secret@localhost:1883/city/#?messages=3", ["messages"])
    >>> address.place, address.topic, address.user, address.password
    ('localhost:1883', 'city/#', 'me', 'secret')
    >>> address.name
    'mqtt://me:***@localhost:1883/city/#?messages=3'
    """
    # In a topic `#` is a wildcard; in a URI it would begin a fragment.
    parts = split_address(uri.replace("#", "%23"))
    login, _, place = parts.netloc.rpartition("@")
    user, separator, password = login.partition(":")
    address = Address(
        parts.scheme,
        place,
        unquote(parts.path[1:]),
        dict(parse_qsl(parts.query, keep_blank_values=True)),
        unquote(user) or None,
        unquote(password) if separator else None,
    )
    if not place or place.startswith(":") or not address.topic:
        example = f"write `{parts.scheme}://localhost/readings`"
        raise RejectedError(
            [Diagnostic("E402", f"`{address.name}` does not name both a host and a topic", help=example)]
        )
    if unknown := address.options.keys() - options:
        if any("@" in option for option in unknown):
            raise raw_password(uri)
        raise address.misfit(f"unknown option `{min(unknown)}`", f"the options are {', '.join(sorted(options))}")
    return address


def only_on_spark(name: str) -> RejectedError:
    """The error for what this process cannot read or write."""
    help_ = "add `--runtime spark`; in Python, give the table to `thalweg.spark.reason`"
    return RejectedError([Diagnostic("E402", f"only Spark reads and writes `{name}`", help=help_)])


def not_installed(scheme: str, extra: str) -> RejectedError:
    """A scheme that needs a package which is not there."""
    message = f"`{scheme}://` needs a package that is not installed"
    return RejectedError([Diagnostic("E406", message, help=f"install it with `pip install 'thalweg[{extra}]'`")])


def as_lines(message: bytes) -> bytes:
    """A message as whole lines.

    >>> as_lines(b"p at 3."), as_lines(b"p at 3.\\nq at 3.\\n"), as_lines(b"")
    (b'p at 3.\\n', b'p at 3.\\nq at 3.\\n', b'')
    """
    return message if not message or message.endswith(b"\n") else message + b"\n"


class LineSink:
    """Sends each line that is written as a message; a broker implements `publish` and `flush`."""

    _rest = b""

    def write(self, data: bytes, /) -> int:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.publish([line for line in lines if line])
        return len(data)

    def close(self) -> None:
        """Sends a last line without an end, too, and waits for all of them."""
        self.write(b"\n")
        self.flush()

    def publish(self, messages: Iterable[bytes]) -> None:
        """Sends messages as they are; whether they have arrived is known after `flush`."""
        raise NotImplementedError

    def flush(self) -> None:
        raise NotImplementedError
