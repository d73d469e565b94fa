"""Recordings that are read at their own pace."""

import pytest

from thalweg import api
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.open import open_stream
from thalweg.connectors.replay import ReplayPace, ReplayTransport
from thalweg.diagnostics import RejectedError


def test_a_replay_gives_the_answers_of_the_recording(tmp_path):
    (tmp_path / "in.facts").write_text("p(a) at 1. p(b) at 3.\np(c) at 4.\n")
    recorded, replayed = (
        [str(answer) for answer in api.run("q(X) :- p(X) in [1].", stream=[f"{scheme}{tmp_path}/in.facts{factor}"])]
        for scheme, factor in (("", ""), ("replay://", "?factor=100"))
    )
    assert replayed == recorded
    assert len(recorded) == 3


def test_an_event_waits_for_its_time():
    pace = ReplayPace(tick_length=1_000, factor=2)
    assert pace.early(10) == 0
    assert 0 < pace.early(12) <= 1
    assert pace.early(9) == 0


def test_a_wait_ends_when_the_user_wants_to_end():
    interrupt, pace = Interrupt(), ReplayPace(1_000, 1)
    pace.early(0)
    interrupt.asked = True
    assert not pace.wait(1_000_000, interrupt)


def test_the_factor_is_one_unless_told(tmp_path):
    (tmp_path / "in.facts").write_text("")
    transport = open_stream(f"replay://{tmp_path}/in.facts")
    assert isinstance(transport, ReplayTransport)
    assert (transport.factor, transport.stream, transport.live) == (1, "in", False)
    transport.close()


@pytest.mark.parametrize("options", ["factor=0", "factor=fast", "speed=3"])
def test_other_options_are_refused(options):
    with pytest.raises(RejectedError, match="E403"):
        open_stream(f"replay://in.facts?{options}")
