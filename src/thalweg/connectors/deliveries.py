"""Which messages of a session were taken, and which of them the broker knows to be received.

    taken          handed over; the broker sends it again if the connection is lost
    acknowledged   the broker was told, and may not have heard it: what it sends again is dropped
    confirmed      the broker has heard it, and nothing needs to be remembered

A message is known by its packet identifier and a digest of its content: identifiers are used again, but only for what
has been acknowledged. What a broker sends again says so, and comes before anything new of the same connection.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Literal, NamedTuple

Verdict = Literal["new", "known", "received"]
"""A message is new; or known, and not acknowledged yet; or received, and to be acknowledged once more."""


Key = tuple[int, str]
"""A packet identifier and a digest."""


class Receipt(NamedTuple):
    """The identity of a delivery: packet identifier, digest, whether it comes again, and on which connection.

    `session` is how many sessions the broker has begun so far: what is of an earlier one cannot be acknowledged.
    """

    identifier: int
    digest: str
    repeated: bool = False
    connection: int = 1
    session: int = 0

    @property
    def key(self) -> "Key":
        return self.identifier, self.digest


def digest_of(content: bytes) -> str:
    """A digest that tells apart what comes under one packet identifier."""
    return blake2b(content, digest_size=8).hexdigest()


class Deliveries:
    """The deliveries of a session that are not confirmed; several threads may use it.

    >>> deliveries = Deliveries()
    >>> deliveries.meet(Receipt(7, "ab")), deliveries.meet(Receipt(7, "ab", repeated=True))
    ('new', 'known')
    >>> [receipt.identifier for receipt in deliveries.acknowledge(upto=1)]
    [7]
    >>> deliveries.meet(Receipt(7, "ab", repeated=True, connection=2)), deliveries.meet(Receipt(7, "cd", connection=2))
    ('received', 'new')
    """

    def __init__(self, session: int = 0) -> None:
        self._session = session
        self._lock = Lock()
        self._taken: dict[Key, tuple[int, Receipt]] = {}
        self._acknowledged: dict[int, tuple[str, int]] = {}
        self._reached = -1
        self.count = 0
        """How many were new: each has a number, from 1 on."""

    def meet(self, receipt: Receipt) -> Verdict:
        """Takes a message that has come, unless it is known."""
        with self._lock:
            if receipt.session != self._session:
                self._session = receipt.session
                self._taken.clear()
                self._acknowledged.clear()
            if receipt.repeated and receipt.key in self._taken:
                number, _ = self._taken[receipt.key]
                self._taken[receipt.key] = number, receipt
                return "known"
            if receipt.repeated and self._acknowledged.get(receipt.identifier, ("",))[0] == receipt.digest:
                self._acknowledged[receipt.identifier] = receipt.digest, receipt.connection
                return "received"
            if not receipt.repeated:
                self._confirm_before(receipt)
            self.count += 1
            self._taken[receipt.key] = self.count, receipt
            return "new"

    def _confirm_before(self, receipt: Receipt) -> None:
        """Something new has come: its identifier was free, and all that had to come again on this connection has."""
        self._acknowledged.pop(receipt.identifier, None)
        if receipt.connection > self._reached:
            self._reached = receipt.connection
            self._acknowledged = {
                identifier: (digest, connection)
                for identifier, (digest, connection) in self._acknowledged.items()
                if connection >= receipt.connection
            }

    def acknowledge(self, upto: int) -> list[Receipt]:
        """Returns the receipts up to a number, to be acknowledged, and keeps them until the broker confirms that."""
        with self._lock:
            receipts = [receipt for number, receipt in self._taken.values() if number <= upto]
            for receipt in receipts:
                del self._taken[receipt.key]
                self._acknowledged[receipt.identifier] = receipt.digest, receipt.connection
            return receipts

    @property
    def acknowledged(self) -> int:
        """How many are acknowledged and not confirmed."""
        return len(self._acknowledged)

    def unconfirmed(self, connection: int) -> list[Key]:
        """The keys of deliveries that were acknowledged on a connection."""
        with self._lock:
            return [(identifier, digest) for identifier, (digest, on) in self._acknowledged.items() if on == connection]

    def confirm(self, keys: Iterable[Key], connection: int) -> None:
        """Forgets deliveries whose acknowledgement on a connection has reached the broker."""
        with self._lock:
            for identifier, digest in keys:
                if self._acknowledged.get(identifier) == (digest, connection):
                    del self._acknowledged[identifier]

    def save(self, upto: int) -> list[Key]:
        """All up to a number that the broker may send again, as JSON."""
        with self._lock:
            acknowledged = [(identifier, digest) for identifier, (digest, _) in self._acknowledged.items()]
            return acknowledged + [key for key, (number, _) in self._taken.items() if number <= upto]

    def load(self, saved: Sequence[Key]) -> None:
        """Loads the deliveries that another process saved; they count as acknowledged before the first connection."""
        with self._lock:
            self._acknowledged = {identifier: (digest, 0) for identifier, digest in saved}
