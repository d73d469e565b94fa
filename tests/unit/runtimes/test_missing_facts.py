"""When facts were missing, as answers are marked with it."""

from thalweg.answers.emit import MissingFacts
from thalweg.model.arrow import decode, encode


def test_what_lasts_is_said_again_each_span_for_itself():
    missing = MissingFacts(lasting=True)
    missing.see(3, ("p/1",))
    assert missing.up_to(4) == [("p/1", 3, 4)]
    missing.see(6, ())
    missing.see(9, ("p/1", "q/1"))
    assert missing.up_to(9) == [("p/1", 3, 5), ("p/1", 9, 9), ("q/1", 9, 9)]


def test_many_spans_become_few():
    missing = MissingFacts(lasting=True)
    for tick in range(0, 400, 2):
        missing.see(tick, ("p/1",))
        missing.see(tick + 1, ())
    found = missing.up_to(400)
    assert len(found) < 20
    assert found[0] == ("p/1", 0, 0)
    assert found[-1][2] == 398


def test_what_was_saved_goes_on_alike():
    missing = MissingFacts(lasting=True)
    missing.see(3, ("p/1", "q/1"))
    missing.see(5, ("q/1",))
    again = MissingFacts(lasting=True)
    again.load(decode(encode({}, missing.save()))[1])
    assert again.up_to(7) == missing.up_to(7) == [("p/1", 3, 4), ("q/1", 3, 7)]
    assert again
