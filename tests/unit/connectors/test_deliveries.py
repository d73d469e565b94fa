"""What a broker sends again is dropped exactly where it was taken before, whatever was lost on the way."""

from thalweg.connectors.deliveries import Deliveries, Receipt


def test_what_was_taken_and_comes_again_is_dropped_and_acknowledged_once():
    deliveries = Deliveries()
    assert deliveries.meet(Receipt(1, "a")) == "new"
    assert deliveries.meet(Receipt(2, "b")) == "new"
    assert deliveries.meet(Receipt(1, "a", repeated=True, connection=2)) == "known"
    assert deliveries.acknowledge(upto=1) == [Receipt(1, "a", repeated=True, connection=2)]
    assert deliveries.acknowledge(upto=1) == []


def test_what_a_checkpoint_holds_comes_again_to_another_process_and_is_dropped():
    first, second = Deliveries(), Deliveries()
    for identifier in (1, 2, 3):
        first.meet(Receipt(identifier, "same content"))
    second.load(first.save(upto=2))
    verdicts = [second.meet(Receipt(identifier, "same content", repeated=True)) for identifier in (1, 2, 3)]
    assert verdicts == ["received", "received", "new"]


def test_an_identifier_that_is_used_again_is_another_message():
    deliveries = Deliveries()
    deliveries.load([(1, "a"), (2, "b")])
    assert deliveries.meet(Receipt(1, "c", repeated=True)) == "new", "it was sent before, and lost"
    assert deliveries.meet(Receipt(2, "b")) == "new", "the broker has heard of the first one"


def test_something_new_confirms_what_earlier_connections_acknowledged_and_nothing_of_this_one():
    deliveries = Deliveries()
    deliveries.load([(1, "a")])
    deliveries.meet(Receipt(2, "b"))
    deliveries.acknowledge(upto=1)
    assert deliveries.save(upto=1) == [(2, "b")]
    deliveries.meet(Receipt(3, "c"))
    assert deliveries.save(upto=1) == [(2, "b")]
    deliveries.confirm(deliveries.unconfirmed(connection=1), connection=1)
    assert deliveries.save(upto=2) == [(3, "c")]


def test_what_came_again_meanwhile_is_not_confirmed_by_an_earlier_connection():
    deliveries = Deliveries()
    deliveries.meet(Receipt(1, "a"))
    deliveries.acknowledge(upto=1)
    asked = deliveries.unconfirmed(connection=1)
    assert deliveries.meet(Receipt(1, "a", repeated=True, connection=2)) == "received"
    deliveries.confirm(asked, connection=1)
    assert deliveries.save(upto=1) == [(1, "a")]


def test_a_session_that_the_broker_began_anew_knows_nothing_of_the_last():
    deliveries = Deliveries()
    deliveries.meet(Receipt(1, "a"))
    assert deliveries.meet(Receipt(1, "a", repeated=True, connection=2, session=1)) == "new"
    assert deliveries.save(upto=2) == [(1, "a")]
