"""`kafka://host:port[,host:port]/topic`: each message is a line, or several. Only here is confluent-kafka imported.

    kafka://localhost:9092/readings               from the beginning, and on as messages come
    kafka://localhost:9092/readings?from=latest   from now on
    kafka://localhost:9092/readings?until=end     what is there now: a recording, merged with others by time
    kafka://localhost:9092/readings?messages=100  ends after a hundred messages
    kafka://localhost:9092/readings?group=jams    from where group `jams` left off; its position is stored

All partitions are read by one process, each in its own order; between them there is none, so that events may come out
of order by as much as one partition runs ahead of another.
"""

import logging
from collections.abc import Collection, Iterable, Iterator
from threading import Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final

from thalweg.connectors import broker
from thalweg.connectors.broker import Address, LineSink, as_lines, not_installed, only_on_spark, read_address
from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Diagnostic, FailedError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

OPTIONS: Final = ("by", "from", "group", "messages", "until")
# A wait inside the library cannot be interrupted, so it is kept short.
BEAT: Final = 0.2
# Without a handler, what the library logs would be written to the terminal.
LOG: Final = logging.getLogger(__name__)
LOG.addHandler(logging.NullHandler())


class KafkaTransport:
    """The messages of a topic, those stored and those that arrive; with `until=end` only the stored ones."""

    def __init__(self, uri: str) -> None:
        self._address = address = kafka_address(uri, OPTIONS)
        if "by" in address.options:
            raise only_on_spark(address.name)
        self.name = address.name
        self.stream = address.topic
        self.live = address.choice("until", "end") is None
        self._left = address.number("messages")
        start = address.choice("from", "earliest", "latest")
        self._kafka = library(address)
        self._trouble = Trouble()
        self._consumer = open_consumer(address, self._trouble)
        self._lock = Lock()
        self._closed = False
        self._next: dict[int, int] = {}
        ends = self._assign(from_now=start == "latest")
        self._ends = None if self.live else ends
        self._kept = dict(ends)

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        try:
            while not (interrupt.asked or self._closed or self._done()):
                if self._trouble.down:
                    self._wait_for_the_broker(interrupt)
                if block := b"".join(self._lines(self._poll())):
                    yield block
                    self._remember()
        finally:
            self.close()

    @property
    def repeats(self) -> bool:
        """Messages of several partitions, and those that arrive together, may come otherwise the next time."""
        return False

    def position(self) -> dict[str, Any]:
        """The next offset of each partition, its end, and the number of messages that are left."""
        ends = None if self._ends is None else list(self._ends.items())
        return {"next": list(self._next.items()), "ends": ends, "left": self._left}

    def seek(self, position: dict[str, Any]) -> None:
        self._next.update(position["next"])
        self._ends = None if position["ends"] is None else dict(position["ends"])
        self._left = position["left"]
        self._consumer.assign(self._positions())

    @property
    def gaps(self) -> int:
        """Whether the topic had something to read when it was opened."""
        return 1 if self._kept else 0

    def backlog(self, position: dict[str, Any]) -> bool:
        """Whether what was there when it was opened ends behind a position."""
        reached = dict(position["next"])
        return any(reached[partition] < end for partition, end in self._kept.items())

    def close(self) -> None:
        # Said first: a reader that waits for messages must not take the lock again.
        self._closed = True
        with self._lock:
            self._consumer.close()

    def _assign(self, from_now: bool) -> dict[int, int]:
        """Takes all partitions; gives the end of each that has something to read before it."""
        ends = {}
        try:
            for partition in self._partitions():
                low, high = self._consumer.get_watermark_offsets(partition, broker.OPENING)
                if partition.offset < 0:
                    partition.offset = high if from_now else low
                self._next[partition.partition] = partition.offset
                if partition.offset < high:
                    ends[partition.partition] = high
            self._consumer.assign(self._positions())
        except self._kafka.KafkaException as error:
            self.close()
            raise self._address.failed(sentence(error.args[0])) from error
        return ends

    def _partitions(self) -> "list[TopicPartition]":
        """All there are, with how far the group came, where there is one."""
        topic = self._address.topic
        numbers = self._consumer.list_topics(topic, timeout=broker.OPENING).topics[topic].partitions
        partitions = [self._kafka.TopicPartition(topic, number) for number in sorted(numbers)]
        return self._consumer.committed(partitions, broker.OPENING) if self._group else partitions

    def _positions(self) -> "list[TopicPartition]":
        """The next offset of each partition."""
        return [self._kafka.TopicPartition(self._address.topic, *place) for place in self._next.items()]

    @property
    def _group(self) -> str | None:
        return self._address.options.get("group")

    def _done(self) -> bool:
        return self._left == 0 or (self._ends is not None and not self._ends)

    def _poll(self) -> "list[Message]":
        """One message as soon as there is one, and those that are there with it."""
        limit = broker.MESSAGES if self._left is None else min(self._left, broker.MESSAGES)
        with self._lock:
            first = None if self._closed else self._consumer.poll(BEAT)
            return [] if first is None else [first, *self._consumer.consume(limit - 1, 0)]

    def _lines(self, messages: "list[Message]") -> Iterator[bytes]:
        for message in messages:
            if error := message.error():
                self._stumble(error, message)
            elif self._wanted(message):
                yield as_lines(message.value() or b"")

    def _wanted(self, message: "Message") -> bool:
        """Counts a message, unless it came after the end that was asked for."""
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        if self._ends is not None:
            end = self._ends.get(partition, 0)
            if offset + 1 >= end:
                self._ends.pop(partition, None)
            if offset >= end:
                return False
        self._next[partition] = offset + 1
        if self._left is not None:
            self._left -= 1
        return True

    def _stumble(self, error: "KafkaError", message: "Message") -> None:
        if error.code() != error._PARTITION_EOF:
            raise self._address.failed(sentence(error))
        # The last messages before an end may be marks of transactions, which consumers never receive.
        partition = message.partition() or 0
        if self._ends is not None:
            self._ends.pop(partition, None)
        if partition in self._kept:
            self._kept[partition] = min(self._kept[partition], self._next[partition])

    def _wait_for_the_broker(self, interrupt: Interrupt) -> None:
        until = monotonic() + broker.PATIENCE
        while not interrupt.asked and not self._closed:
            try:
                with self._lock:
                    self._consumer.list_topics(timeout=1)
                self._trouble.down = False
                return
            except self._kafka.KafkaException as error:
                if monotonic() > until:
                    raise self._address.failed("it was lost and could not be restored") from error

    def _remember(self) -> None:
        """Commits the offsets that the group has read, so that it does not read them again."""
        if self._group:
            try:
                self._consumer.commit(offsets=self._positions(), asynchronous=False)
            except self._kafka.KafkaException as error:
                raise self._address.failed(sentence(error.args[0])) from error


class KafkaSink(LineSink):
    """Sends each line as a message; what is not acknowledged by all replicas in sync is a failure.

    All lines have one key, so they go to one partition and keep their order.
    """

    def __init__(self, uri: str) -> None:
        self._address = kafka_address(uri, ("key",))
        self._key = self._address.options.get("key", "thalweg").encode()
        self._failure: KafkaError | None = None
        self._producer = open_producer(self._address, Trouble())

    def flush(self) -> None:
        # The library gives up a message after a while, so that this ends.
        while self._producer.flush(BEAT):
            continue
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise self._address.failed(sentence(failure))

    def publish(self, messages: Iterable[bytes]) -> None:
        for message in messages:
            while not self._taken(message):
                self._producer.poll(BEAT)
        self._producer.poll(0)

    def _taken(self, message: bytes) -> bool:
        try:
            self._producer.produce(self._address.topic, message, self._key, on_delivery=self._delivered)
        except BufferError:
            return False
        return True

    def _delivered(self, error: "KafkaError | None", message: "Message") -> None:
        self._failure = self._failure or error


class Trouble:
    """The state of the connections to the brokers, as the library reports it."""

    def __init__(self) -> None:
        self.down = False
        self.reason = "the broker does not answer"

    def __call__(self, error: "KafkaError") -> None:
        if error.code() == error._ALL_BROKERS_DOWN:
            self.down = True
        else:
            self.reason = sentence(error)


def kafka_address(uri: str, options: Collection[str]) -> Address:
    """A list of brokers, of which one is enough to find the others, and a topic.

    >>> kafka_address("kafka://one:9092,two:9092/readings", ()).place
    'one:9092,two:9092'
    """
    address = read_address(uri, options)
    if address.user or address.password:
        raise address.misfit("a user and a password are not supported")
    return address


def library(address: Address) -> Any:
    """The package confluent-kafka, which is imported when an address needs it."""
    try:
        import confluent_kafka
    except ImportError:
        raise not_installed(address.scheme, "kafka") from None
    return confluent_kafka


def open_consumer(address: Address, trouble: Trouble) -> "Consumer":
    """A consumer that has seen its broker and its topic."""
    consumer: Consumer = library(address).Consumer(
        {
            **settings(address, trouble),
            # Groups that are never joined, only asked how far they came, still need a name.
            "group.id": address.options.get("group", "thalweg"),
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        topics = reach(consumer, address, trouble)
        if address.topic not in topics:
            raise no_topic(address, topics)
    except FailedError:
        consumer.close()
        raise
    return consumer


def open_producer(address: Address, trouble: Trouble) -> "Producer":
    """A producer whose messages arrive once and in order, and that has seen its broker and its topic."""
    producer: Producer = library(address).Producer(
        {
            **settings(address, trouble),
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 5,
            "message.timeout.ms": int(broker.PATIENCE * 1000),
        }
    )
    topics = reach(producer, address, trouble)
    if address.topic not in topics and not created(producer, address):
        raise no_topic(address, topics)
    return producer


def settings(address: Address, trouble: Trouble) -> dict[str, Any]:
    """The settings that consumers and producers share."""
    return {"bootstrap.servers": address.place, "client.id": "thalweg", "logger": LOG, "error_cb": trouble}


def reach(client: "Consumer | Producer", address: Address, trouble: Trouble) -> set[str]:
    """The topics that there are, once a broker answers."""
    until = monotonic() + broker.OPENING
    while True:
        try:
            return set(client.list_topics(timeout=1).topics)
        except library(address).KafkaException as error:
            client.poll(0)
            if trouble.down or monotonic() > until:
                raise address.failed(trouble.reason) from error


def created(producer: "Producer", address: Address) -> bool:
    """Whether the broker makes a topic when it is asked for one, as some do."""
    until = monotonic() + 2
    while monotonic() < until:
        topic = producer.list_topics(address.topic, timeout=broker.OPENING).topics[address.topic]
        if topic.error is None:
            return True
        sleep(BEAT)
    return False


def no_topic(address: Address, topics: Iterable[str]) -> FailedError:
    """The error for a missing topic, which names those that exist."""
    names = sorted(name for name in topics if not name.startswith("__"))
    help = f"create it, or choose one of {', '.join(names[:5])}" if names else "create it: the broker has no topic yet"
    return FailedError(Diagnostic("E404", f"there is no topic `{address.topic}` at `{address.name}`", help=help))


def sentence(error: "KafkaError") -> str:
    """The last part of an error message, which is the reason.

    >>> from confluent_kafka import KafkaError
    >>> reason = "here:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)"
    >>> sentence(KafkaError(KafkaError._TRANSPORT, reason))
    'Connection refused'
    """
    return error.str().partition(" (after ")[0].rpartition(": ")[2]
