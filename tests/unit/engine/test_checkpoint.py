"""A saved state is restored by the program that saved it, and by no other."""

import pytest

from thalweg import api
from thalweg.engine.checkpoint import MismatchError
from thalweg.kinds.rules.rule_engine import RuleEngine as Engine
from thalweg.model.arrow import encode


def test_what_is_no_state_is_not_restored():
    with pytest.raises(MismatchError, match="another program"):
        Engine.restore(api.load("q :- p.\n"), encode({"now": 3}, {}))
