"""`mqtt://host[:port]/topic` and `mqtts://…`: each message is a line, or several. Only here is paho-mqtt imported.

    mqtt://localhost/city/+/speed             all that matches, from now on
    mqtt://localhost/readings?messages=100    ends after a hundred messages
    mqtt://localhost/readings?session=jams    session `jams` also gets what was sent while it was away
    mqtts://me:secret@host/readings?ca=ca.pem encrypted; `ca` names the certificate of an authority of one's own

A session is one of MQTT 5: it has no end, and the broker sends up to 65,535 messages before one is acknowledged. That
is when it was taken, or when a checkpoint holds it. What comes again after that is dropped (`deliveries`).

paho has a thread of its own, which answers the broker's questions and connects again when a connection is lost. What
it receives waits in a queue; a queue that is full makes it wait too, and the broker with it.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from queue import Empty, Full, Queue
from threading import Condition, Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from thalweg.connectors import broker
from thalweg.connectors.broker import Address, LineSink, as_lines, not_installed, read_address
from thalweg.connectors.deliveries import Deliveries, Receipt, digest_of
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
# Of a session: seconds until the broker may forget it, messages that it sends before one is acknowledged, and how many
# acknowledgements may be unconfirmed before the broker is asked whether it has heard them.
FOR_EVER: Final = 0xFFFFFFFF
MOST_UNACKNOWLEDGED: Final = 65_535
MOST_UNCONFIRMED: Final = 1_000


class MqttTransport:
    """A live stream of what is published under a topic."""

    live = True

    def __init__(self, uri: str) -> None:
        address = checked_pattern(read_address(uri, OPTIONS))
        self.name = address.name
        self.stream = stream_of(address.topic) or host_and_port(address)[0]
        self._left = address.number("messages")
        self._arrived: Queue[Message] = Queue(HELD)
        self._closed = False
        self._holds = False
        self._most_unconfirmed = MOST_UNCONFIRMED
        self._link = link = BrokerLink(address, self._take, acknowledging="session" not in address.options)
        self._deliveries = None if link.acknowledging else Deliveries(link.sessions)

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        try:
            while self._left != 0 and (messages := self._wait(interrupt)):
                messages = [message for message in messages if self._is_new(message)]
                if self._left is not None:
                    self._left -= len(messages)
                # A message may be empty, but an empty block would mean that this is the end.
                if block := b"".join(as_lines(message.payload) for message in messages):
                    yield block
                if not self._holds:
                    self.acknowledge(self.position())
        finally:
            self.close()

    def close(self) -> None:
        self._closed = True
        self._link.close()

    @property
    def gaps(self) -> int:
        """One where the broker had kept the session, and one for each connection that was lost."""
        return 0 if self._deliveries is None else self._link.gaps

    def backlog(self, position: Any) -> bool | None:
        """A broker does not say when it has sent all that it kept; it has not while the connection is lost."""
        is_more = self._link.is_lost or not self._arrived.empty() or position != self.position()
        return True if is_more else None

    @property
    def repeats(self) -> bool:
        """Messages that arrive together may come otherwise the next time."""
        return False

    def position(self) -> tuple[int, int | None] | None:
        """How many messages of the session were taken, and how many are left; None without a session."""
        return None if self._deliveries is None else (self._deliveries.count, self._left)

    def saved(self, position: tuple[int, int | None] | None) -> dict[str, Any] | None:
        if self._deliveries is None or position is None:
            return None
        taken, left = position
        return {"unconfirmed": self._deliveries.save(taken), "left": left}

    def seek(self, position: dict[str, Any]) -> None:
        self._left = position["left"]
        # A broker that has begun another session has forgotten the messages of this one, too.
        if self._deliveries is not None and self._link.is_resumed:
            self._deliveries.load(position["unconfirmed"])

    def hold(self, unconfirmed: int | None = None) -> None:
        self._holds = True
        self._most_unconfirmed = self._most_unconfirmed if unconfirmed is None else unconfirmed

    def acknowledge(self, position: tuple[int, int | None] | None) -> None:
        if self._deliveries is None or position is None:
            return
        for receipt in self._deliveries.acknowledge(position[0]):
            self._link.acknowledge(receipt)
        if self._deliveries.acknowledged >= self._most_unconfirmed and not self._link.is_confirming:
            connection = self._link.connections
            unconfirmed = self._deliveries.unconfirmed(connection)
            self._link.confirm(partial(self._deliveries.confirm, unconfirmed, connection))

    def _is_new(self, message: "Message") -> bool:
        """Whether a message has not come before; one that a checkpoint holds is acknowledged again."""
        if self._deliveries is None or message.receipt is None:
            return True
        if not message.payload:
            # Nothing is taken of it that a checkpoint could hold.
            self._link.acknowledge(message.receipt)
            return True
        verdict = self._deliveries.meet(message.receipt)
        if verdict == "received":
            self._link.acknowledge(message.receipt)
        return verdict == "new"

    def _take(self, message: "Message") -> None:
        """Called by paho's thread for each message."""
        while not self._closed:
            try:
                return self._arrived.put(message, timeout=BEAT)
            except Full:
                continue

    def _wait(self, interrupt: Interrupt) -> "list[Message]":
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

    def _more(self, limit: int) -> "list[Message]":
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
        self._link = BrokerLink(address)
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
    """A message with its topic; the receipt, with which it is acknowledged, is None where that is not needed."""

    payload: bytes
    topic: str
    receipt: Receipt | None


class BrokerLink:
    """A connection to a broker that comes back when it is lost; open once the broker has confirmed it.

    With a function to take messages it subscribes to the topic, again after each reconnection. A message counts as
    received when it has been taken; with `acknowledging=False` the taker says so itself, with `acknowledge`.
    """

    def __init__(
        self, address: Address, take: Callable[[Message], None] | None = None, acknowledging: bool = True
    ) -> None:
        self._address = address
        self._take = take
        self.acknowledging = acknowledging
        self._ready = Event()
        self._refused = ""
        self._lost: float | None = None
        self.connections = 0
        """How many connections there have been."""
        self.sessions = 0
        """How many of them found no session that the broker had kept."""
        self.gaps = 0
        """How often a session may have kept something: where there was one at first, and while a connection is lost."""
        self._confirming = Lock()
        self._confirmed: dict[int, Callable[[], None]] = {}
        self.client = make_client(address, acknowledging)
        self.client.on_connect = self._connected
        self.client.on_disconnect = self._disconnected
        self.client.on_subscribe = self._subscribed
        self.client.on_message = self._received
        self._open()

    @property
    def is_resumed(self) -> bool:
        """Whether the broker has kept the session from before this connection was opened."""
        return self.sessions == 0

    @property
    def is_lost(self) -> bool:
        """Whether there is no connection now."""
        return self._lost is not None

    def check(self) -> None:
        """Fails where the broker refuses us, or has been away for too long."""
        if self._refused:
            raise self._address.failed(self._refused)
        if self._lost is not None and monotonic() - self._lost > broker.PATIENCE:
            raise self._address.failed("it was lost and could not be restored")

    def acknowledge(self, receipt: Receipt) -> None:
        """Tells the broker that it need not send a message again; one of an earlier connection comes again first."""
        if receipt.connection == self.connections:
            self.client.ack(receipt.identifier, AT_LEAST_ONCE)

    @property
    def is_confirming(self) -> bool:
        """Whether an answer to `confirm` has not come yet."""
        return bool(self._confirmed)

    def confirm(self, then: Callable[[], None]) -> None:
        """Calls a function when the broker has heard all that it was told so far on this connection."""
        with self._confirming:
            # It hears in order, and answers a subscription, also one that there is already.
            _, number = self._subscribe()
            if number is not None:
                self._confirmed[number] = then

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def _open(self) -> None:
        try:
            connect(self.client, self._address)
        except OSError as error:
            raise self._address.failed(error.strerror or str(error)) from error
        self.client.loop_start()
        if not self._ready.wait(broker.OPENING):
            self._refused = "the broker does not answer"
        if self._refused:
            self.close()
            help_ = "a session needs a broker that supports MQTT 5" if "session" in self._address.options else ""
            raise self._address.failed(self._refused, help_)

    def _subscribe(self) -> "tuple[int, int | None]":
        return subscribe(self.client, self._address)

    def _connected(
        self, client: "Client", data: object, flags: "ConnectFlags", reason: "ReasonCode", properties: object
    ) -> None:
        if not reason.is_failure:
            self.gaps += flags.session_present and not self.connections
            self.connections += 1
            self.sessions += not flags.session_present
        if reason.is_failure or self._take is None:
            self._answered(reason)
        else:
            self._subscribe()

    def _subscribed(
        self, client: "Client", data: object, number: int, reasons: "list[ReasonCode]", properties: object
    ) -> None:
        self._answered(reasons[0])
        with self._confirming:
            then = self._confirmed.pop(number, None)
        if then is not None:
            then()

    def _answered(self, reason: "ReasonCode") -> None:
        self._refused = f"the broker says: {reason}" if reason.is_failure else ""
        self._lost = None
        self._ready.set()

    def _disconnected(
        self, client: "Client", data: object, flags: "DisconnectFlags", reason: "ReasonCode", properties: object
    ) -> None:
        self.gaps += self._lost is None
        self._lost = self._lost or monotonic()
        with self._confirming:
            self._confirmed.clear()

    def _received(self, client: "Client", data: object, message: "MQTTMessage") -> None:
        if self._take is not None:
            payload = bytes(message.payload)
            receipt = None
            if not self.acknowledging and message.qos == AT_LEAST_ONCE:
                receipt = Receipt(message.mid, digest_of(payload), message.dup, self.connections, self.sessions)
            self._take(Message(payload, message.topic, receipt))


def make_client(address: Address, acknowledging: bool = True) -> "Client":
    """A client of paho, not connected yet, with its identity, credentials and encryption."""
    try:
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
    except ImportError:
        raise not_installed(address.scheme, "mqtt") from None
    session = address.options.get("session")
    client = Client(
        CallbackAPIVersion.VERSION2,
        client_id=session or "",
        clean_session=True if session is None else None,
        protocol=MQTTProtocolVersion.MQTTv311 if session is None else MQTTProtocolVersion.MQTTv5,
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


def connect(client: "Client", address: Address) -> None:
    """Begins to connect; a session lasts until somebody uses its name again."""
    if "session" not in address.options:
        client.connect(*host_and_port(address))
        return
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.SessionExpiryInterval = FOR_EVER
    properties.ReceiveMaximum = MOST_UNACKNOWLEDGED
    client.connect(*host_and_port(address), clean_start=False, properties=properties)


def subscribe(client: "Client", address: Address) -> "tuple[int, int | None]":
    """Asks for the topic; the number of the request is None where there is no connection.

    A session gets what the broker retains of a topic once, and not with every connection.
    """
    if "session" not in address.options:
        return client.subscribe(address.topic, AT_LEAST_ONCE)
    from paho.mqtt.subscribeoptions import SubscribeOptions

    when_new = SubscribeOptions.RETAIN_SEND_IF_NEW_SUB
    return client.subscribe(address.topic, options=SubscribeOptions(AT_LEAST_ONCE, retainHandling=when_new))


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
    """The name of the stream in rules: the last level of the topic that is not a wildcard.

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
