"""`mqtt://host[:port]/topic` and `mqtts://…`: each message is a line, or several. Only here is paho-mqtt imported.

    mqtt://localhost/city/+/speed             all that matches, from now on
    mqtt://localhost/readings?messages=100    ends after a hundred messages
    mqtt://localhost/readings?session=jams    session `jams` also gets what was sent while it was away
    mqtts://me:secret@host/readings?ca=ca.pem encrypted; `ca` names the certificate of an authority of one's own

paho has a thread of its own, which answers the broker's questions and connects again when a connection is lost. What
it receives waits in a queue; a queue that is full makes it wait too, and the broker with it.
"""

from collections.abc import Callable, Iterable, Iterator
from queue import Empty, Full, Queue
from threading import Condition, Event
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from thalweg.connectors import broker
from thalweg.connectors.broker import Address, LineSink, as_lines, not_installed, read_address
from thalweg.connectors.interrupt import Interrupt, Interrupted
from thalweg.diagnostics import Diagnostic, RejectedError

if TYPE_CHECKING:
    from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
    from paho.mqtt.properties import Properties
    from paho.mqtt.reasoncodes import ReasonCode

PORTS: Final = {"mqtt": 1883, "mqtts": 8883}
OPTIONS: Final = ("messages", "session", "ca")
AT_LEAST_ONCE: Final = 1
# Messages that wait for us, or for the broker: MQTT can count no more than 65535 on their way.
HELD: Final = 20_000
BEAT: Final = 1.0


class MqttTransport:
    """A live stream of what is published under a topic."""

    live = True

    def __init__(self, uri: str) -> None:
        address = checked_pattern(read_address(uri, OPTIONS))
        self.name = address.name
        self.stream = stream_of(address.topic) or host_and_port(address)[0]
        self._left = address.number("messages")
        self._arrived: Queue[bytes] = Queue(HELD)
        self._closed = False
        self._link = Link(address, self._take)

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        try:
            while self._left != 0 and (messages := self._wait(interrupt)):
                if self._left is not None:
                    self._left -= len(messages)
                # A message may be empty, but an empty block would mean that this is the end.
                if block := b"".join(map(as_lines, messages)):
                    yield block
        finally:
            self.close()

    def close(self) -> None:
        self._closed = True
        self._link.close()

    def _take(self, message: "Message") -> None:
        """Called by paho's thread for each message."""
        while not self._closed:
            try:
                return self._arrived.put(message.payload, timeout=BEAT)
            except Full:
                continue

    def _wait(self, interrupt: Interrupt) -> list[bytes]:
        """The messages that are there, at least one; none where the user asks to end."""
        while not self._closed:
            try:
                with interrupt.waiting():
                    first = self._arrived.get(timeout=BEAT)
                return [first, *self._more(broker.MESSAGES if self._left is None else self._left)]
            except Empty:
                self._link.check()
            except Interrupted:
                break
        return []

    def _more(self, limit: int) -> list[bytes]:
        ready = min(limit - 1, broker.MESSAGES - 1, self._arrived.qsize())
        return [self._arrived.get() for _ in range(ready)]


class MqttSink(LineSink):
    """Publishes each line as a message, and knows which ones the broker has acknowledged."""

    def __init__(self, uri: str) -> None:
        self._address = address = read_address(uri, ("ca",))
        if set("+#") & set(address.topic):
            message = f"`{address.name}` has a wildcard in its topic, and answers need a single topic"
            raise RejectedError([Diagnostic("E402", message, help="use `+` and `#` only for reading streams")])
        self._sent = self._acknowledged = 0
        self._changed = Condition()
        self._link = Link(address)
        self._link.client.on_publish = self._confirm

    def publish(self, messages: Iterable[bytes]) -> None:
        for message in messages:
            self._wait_for(self._sent - HELD)
            self._link.client.publish(self._address.topic, message, AT_LEAST_ONCE)
            self._sent += 1

    def flush(self) -> None:
        self._wait_for(self._sent)

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._link.close()

    def _wait_for(self, count: int) -> None:
        with self._changed:
            while (before := self._acknowledged) < count:
                self._changed.wait(broker.PATIENCE)
                if self._acknowledged == before:
                    waiting, self._sent = self._sent - before, before
                    raise self._address.failed(f"{waiting} messages were not acknowledged")

    def _confirm(
        self, client: "Client", data: object, number: int, reason: "ReasonCode", properties: "Properties"
    ) -> None:
        with self._changed:
            self._acknowledged += 1
            self._changed.notify()


class Message(NamedTuple):
    """A message with its topic; `number` and `service` are needed to acknowledge it."""

    payload: bytes
    topic: str
    number: int
    service: int


class Link:
    """A connection to a broker that comes back when it is lost; open once the broker has confirmed it.

    With a function to take messages it subscribes to the topic, again after each reconnection. A message counts as
    received when it has been taken; with `acknowledging=False` the taker says so itself, with `acknowledge`.
    """

    def __init__(
        self, address: Address, take: Callable[[Message], None] | None = None, acknowledging: bool = True
    ) -> None:
        self._address = address
        self._take = take
        self._ready = Event()
        self._refused = ""
        self._lost: float | None = None
        self.client = make_client(address, acknowledging)
        self.client.on_connect = self._connected
        self.client.on_disconnect = self._disconnected
        self.client.on_subscribe = self._subscribed
        self.client.on_message = self._received
        self._open()

    def check(self) -> None:
        """Fails where the broker refuses us, or has been away for too long."""
        if self._refused:
            raise self._address.failed(self._refused)
        if self._lost is not None and monotonic() - self._lost > broker.PATIENCE:
            raise self._address.failed("it was lost and could not be restored")

    def acknowledge(self, message: Message) -> None:
        """Tells the broker that it need not send a message again."""
        self.client.ack(message.number, message.service)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def _open(self) -> None:
        try:
            self.client.connect(*host_and_port(self._address))
        except OSError as error:
            raise self._address.failed(error.strerror or str(error)) from error
        self.client.loop_start()
        if not self._ready.wait(broker.OPENING):
            self._refused = "the broker does not answer"
        if self._refused:
            self.close()
            raise self._address.failed(self._refused)

    def _connected(
        self, client: "Client", data: object, flags: "ConnectFlags", reason: "ReasonCode", properties: object
    ) -> None:
        if reason.is_failure or self._take is None:
            self._answered(reason)
        else:
            client.subscribe(self._address.topic, AT_LEAST_ONCE)

    def _subscribed(
        self, client: "Client", data: object, number: int, reasons: "list[ReasonCode]", properties: object
    ) -> None:
        self._answered(reasons[0])

    def _answered(self, reason: "ReasonCode") -> None:
        self._refused = f"the broker says: {reason}" if reason.is_failure else ""
        self._lost = None
        self._ready.set()

    def _disconnected(
        self, client: "Client", data: object, flags: "DisconnectFlags", reason: "ReasonCode", properties: object
    ) -> None:
        self._lost = self._lost or monotonic()

    def _received(self, client: "Client", data: object, message: "MQTTMessage") -> None:
        if self._take is not None:
            self._take(Message(bytes(message.payload), message.topic, message.mid, message.qos))


def make_client(address: Address, acknowledging: bool = True) -> "Client":
    """A client of paho, not connected yet, with its identity, credentials and encryption."""
    try:
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion
    except ImportError:
        raise not_installed(address.scheme, "mqtt") from None
    session = address.options.get("session")
    client = Client(
        CallbackAPIVersion.VERSION2,
        client_id=session or "",
        clean_session=session is None,
        manual_ack=not acknowledging,
    )
    client.connect_timeout = broker.OPENING
    client.reconnect_delay_set(1, 10)
    if address.user:
        client.username_pw_set(address.user, address.password)
    if address.scheme == "mqtts":
        _encrypt(client, address)
    elif "ca" in address.options:
        raise address.misfit("`ca` needs encryption", "write `mqtts://`")
    return client


def _encrypt(client: "Client", address: Address) -> None:
    authority = address.options.get("ca")
    try:
        client.tls_set(ca_certs=authority)
    except OSError as error:
        raise RejectedError([Diagnostic("E401", f"cannot read `{authority}`: {error.strerror or error}")]) from error


def host_and_port(address: Address) -> tuple[str, int]:
    """Where the broker listens.

    >>> host_and_port(read_address("mqtts://localhost/readings", OPTIONS))
    ('localhost', 8883)
    """
    parts = urlsplit(f"//{address.place}")
    try:
        return parts.hostname or "", parts.port or PORTS[address.scheme]
    except ValueError:
        example = f"write `{address.scheme}://localhost:{PORTS[address.scheme]}/readings`"
        raise RejectedError(
            [Diagnostic("E402", f"the port of `{address.name}` is not a number", help=example)]
        ) from None


def stream_of(topic: str) -> str | None:
    """What rules call the stream: the last level of the topic that is not a wildcard.

    >>> stream_of("city/north/speed"), stream_of("city/+/speed"), stream_of("city/#"), stream_of("#")
    ('speed', 'speed', 'city', None)
    """
    return next((level for level in reversed(topic.split("/")) if level not in ("", "+", "#")), None)


def checked_pattern(address: Address) -> Address:
    """An address whose topic may have wildcards, if they stand where they may."""
    if is_pattern(address.topic):
        return address
    message = f"`{address.topic}` is not a topic pattern"
    raise RejectedError([Diagnostic("E402", message, help="a level is `+` as a whole, and `#` comes last")])


def is_pattern(topic: str) -> bool:
    """Whether the wildcards of a topic stand where they may.

    >>> is_pattern("city/+/speed"), is_pattern("city/#"), is_pattern("city/#/speed"), is_pattern("city+/speed")
    (True, True, False, False)
    """
    levels = topic.split("/")
    wild = [level for level in levels if set(level) & set("+#")]
    return all(len(level) == 1 for level in wild) and "#" not in levels[:-1]
