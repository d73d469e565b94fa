"""`why` on a deployment: a checkpoint answers as the recording does, and nothing is connected to."""

import json
import signal
import subprocess
import sys
import uuid
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

import thalweg
from thalweg.cli import app
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.runtimes.checkpoint_folder import Claim
from thalweg.runtimes.embedded_checkpoint import STATE, EmbeddedCheckpoint

RULES = """
#record hot/1.
hot(D) :- temp(D,V), V > 30.
mean(D,M) :- M = avg{V, T : temp(D,V) at T in [9]}, device(D).
alarm(D) :- hot(D) before [100], temp(D,V) in [9].
quiet(D) :- device(D), not temp(D,_) in [3].
device(a). device(b).
"""
ONTOLOGY = """@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Boiler rdfs:subClassOf :Device . :heats rdfs:range :Room .
"""
CHOICE = "1 { off(D) : temp(D,V) } 1.\n#show off/1.\n"
AROUND = "low(D) :- temp(D,V) in [9], off(D).\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plant.lars").write_text(RULES)
    Path("plant.ttl").write_text(ONTOLOGY)
    Path("choice.lp").write_text(CHOICE)
    Path("around.lars").write_text(AROUND)
    Path("in.facts").write_text("".join(f"temp(a,{40 - tick}) at {tick}.\n" for tick in range(1, 20)))
    Path("in.tnt").write_text(
        "".join(
            f"{tick} <http://e/b{tick}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/Boiler> .\n"
            for tick in range(1, 20)
        )
    )


@pytest.fixture
def saves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs take a checkpoint after every item, and crash before they can say that they are over."""

    def crash(checkpoint: EmbeddedCheckpoint, malformed: Diagnostic | None) -> None:
        raise FailedError(Diagnostic("E407", "this is a crash"))

    monkeypatch.setattr(EmbeddedCheckpoint, "is_due", property(lambda checkpoint: True))
    monkeypatch.setattr(EmbeddedCheckpoint, "finish", crash)


def invoke(*words: object) -> Result:
    return CliRunner().invoke(app, list(map(str, words)))


def proof(*words: object) -> Any:
    result = invoke("why", *words, "--format", "json")
    return result.exit_code, json.loads(result.stdout)


RULE_RUN = ("plant.lars", "--stream", "in.facts")
OWL_RUN = ("plant.ttl", "--stream", "in.tnt", "--window", "5")


@pytest.mark.parametrize(
    ("command", "facts"),
    [
        (RULE_RUN, ["alarm(a)", "alarm(b)", "mean(a,26)", "quiet(b)", "quiet(a)", "hot(a)"]),
        ((*RULE_RUN, "--emit", "snapshot", "--show", "quiet/1"), ["alarm(a)", "quiet(b)"]),
        (OWL_RUN, ["<http://e/Device>(<http://e/b18>)", "<http://e/Device>(<http://e/b2>)"]),
    ],
    ids=["rules", "shown", "ontology"],
)
def test_a_checkpoint_answers_as_the_recording_does(saves: None, command: tuple[str, ...], facts: list[str]) -> None:
    assert "this is a crash" in invoke("run", *command, "--out", "out.jsonl", "--checkpoint", "kept").output
    programs, kept = command[:1], ("--window", "5") if command == OWL_RUN else ()
    for fact in facts:
        code, expected = proof(*programs, fact, "--at", 18, *command[1:3], *kept)
        answer = proof(*programs, fact, "--checkpoint", "kept", *kept)
        if code == 0:
            assert answer == (0, expected)
            assert expected["because"]
        else:
            # Which predicates never came is not in a checkpoint.
            assert [answer[0], *map(answer[1].get, ("claim", "holds", "at"))] == [1, fact, False, 18]


def test_streams_that_are_not_read_say_what_options_mean(saves: None) -> None:
    """The profile `auto` depends on what streams mention."""
    options = ("--window", "5", "--profile", "auto")
    assert "this is a crash" in invoke("run", *OWL_RUN, "--profile", "auto", "--checkpoint", "kept").output
    fact, stream = "<http://e/Device>(<http://e/b18>)", ("--stream", "in.tnt")
    code, expected = proof("plant.ttl", fact, "--at", 18, *stream, *options)
    assert proof("plant.ttl", fact, "--checkpoint", "kept", *stream, *options) == (code, expected) == (0, expected)
    assert "E408" in invoke("why", "plant.ttl", fact, "--checkpoint", "kept", *options).output
    asked = thalweg.why("plant.ttl", fact, stream="in.tnt", checkpoint="kept", window="5", profile="auto")
    assert str(asked) == str(thalweg.why("plant.ttl", fact, at=18, stream="in.tnt", window="5", profile="auto"))


def test_what_rests_on_facts_that_are_gone_ends_in_when_it_was_recorded(saves: None) -> None:
    invoke("run", *RULE_RUN, "--checkpoint", "kept")
    said = invoke("why", "plant.lars", "alarm(a)", "--checkpoint", "kept").stdout
    assert "hot(a) before [100]   [recorded at 9] until 109" in said


def test_answer_sets_beside_rules_are_asked_as_far_as_they_are_saved(saves: None) -> None:
    pytest.importorskip("clingo")
    command = ("around.lars", "choice.lp", "--stream", "in.facts", "--workers", "0", "--window", "4", "--slide", "2")
    assert "this is a crash" in invoke("run", *command, "--checkpoint", "kept").output
    said = invoke("why", "around.lars", "choice.lp", "low(a)", "--checkpoint", "kept", "--window", "4")
    assert "[answer set]" in said.stdout, said.output
    assert "temp(a," in said.stdout


def test_in_python_a_deployment_is_asked_the_same_way(saves: None) -> None:
    Path("plant.toml").write_text(
        'program = "plant.lars"\n[streams.s]\nfrom = "in.facts"\n[runtime]\ncheckpoint = "kept"\n'
        '[output]\nformat = "jsonl"\nto = "out.jsonl"\n'
    )
    invoke("run", "plant.toml")
    known = thalweg.why("plant.toml", "alarm(a)")
    assert known is not None
    assert known == thalweg.why("plant.toml", "alarm(a)", at=18)
    assert thalweg.why("plant.toml", "alarm(b)") is None
    assert thalweg.why_not("plant.toml", "alarm(b)") is not None
    with pytest.raises(RejectedError, match="E417"):
        thalweg.why_event("plant.toml", "alarm(a)")


def spark_checkpoint() -> None:
    Path("kept").mkdir()
    options = {"--tick": 1000, "--zone": "UTC"}
    Claim("p", "f", options).make(Path("kept"))


def complete_run() -> None:
    assert invoke("run", *RULE_RUN, "--checkpoint", "kept").exit_code == 0


@pytest.mark.parametrize(
    ("prepare", "words", "said"),
    [
        (None, ("--checkpoint", "kept"), "E401 is not a checkpoint of a run"),
        (spark_checkpoint, ("--checkpoint", "kept"), "E417 is a checkpoint of Spark --stream RECORDING --at T"),
        (complete_run, ("--checkpoint", "kept"), "E417 is complete, and its state is gone"),
        (None, (), "E403 give `--at`"),
        (None, ("--at", "3", "--stream", "mqtt://127.0.0.1:1/x?session=s"), "E417 `mqtt://…` --checkpoint DIR"),
        (None, ("--stream", "kafka://nowhere/x?until=end"), "E417 `kafka://…`"),
    ],
)
def test_what_cannot_be_asked_says_what_can(prepare: Any, words: tuple[str, ...], said: str) -> None:
    if prepare is not None:
        prepare()
    result = invoke("why", "plant.lars", "alarm(a)", *words)
    assert result.exit_code in (1, 2)
    for part in said.split(" "):
        assert part in result.output, result.output


def test_the_checkpoint_of_another_program_or_tick_is_refused(saves: None) -> None:
    invoke("run", *RULE_RUN, "--checkpoint", "kept")
    assert "another `--tick`" in invoke("why", "plant.lars", "alarm(a)", "--checkpoint", "kept", "--tick", "5s").output
    Path("plant.lars").write_text(RULES.replace("30", "31"))
    result = invoke("why", "plant.lars", "alarm(a)", "--checkpoint", "kept")
    assert result.exit_code == 1
    assert "E408" in result.output
    assert "another program" in result.output


def test_events_and_queries_alone_are_not_in_checkpoints(saves: None) -> None:
    Path("q.rspql").write_text(
        "REGISTER RSTREAM <q> AS SELECT ?d FROM NAMED WINDOW <w> ON <in> [RANGE PT5S STEP PT1S] "
        "WHERE { WINDOW <w> { ?d <urn:thalweg:temp> ?v } }"
    )
    assert "this is a crash" in invoke("run", "q.rspql", "--stream", "in.facts", "--checkpoint", "kept").output
    result = invoke("why", "q.rspql", "?d=a", "--checkpoint", "kept")
    assert result.exit_code == 1
    assert "E417" in result.output


# A running deployment ------------------------------------------------------------------------------------------------

PLANT = """
program = ["plant.lars"]
[streams.plant]
from = "mqtt://{address}/{topic}?session={session}"
map = ["temp(d, v) at ts"]
[output]
to = "out.jsonl"
format = "jsonl"
[runtime]
checkpoint = "kept"
"""


def until(condition: Any) -> None:
    deadline = monotonic() + 120
    while not condition():
        assert monotonic() < deadline, "it never happens"
        sleep(0.1)


def test_a_running_deployment_is_asked_and_goes_on(mosquitto: Any) -> None:
    topic, session = f"plant/{uuid.uuid4().hex}", uuid.uuid4().hex
    Path("plant.toml").write_text(PLANT.format(address=mosquitto.address, topic=topic, session=session))
    command = [sys.executable, "-m", "thalweg"]
    with subprocess.Popen([*command, "run", "plant.toml"], stderr=subprocess.PIPE) as running:
        try:
            until(lambda: Path("out.jsonl").exists())
            # The run may not have subscribed yet.
            publish(mosquitto, topic, 35, 1, retain=True)
            seconds = count(2)

            def answered() -> bool:
                publish(mosquitto, topic, 20, next(seconds))
                return (Path("kept") / STATE).exists() and invoke("why", "plant.toml", "alarm(a)").exit_code == 0

            until(answered)
            said = invoke("why", "plant.toml", "alarm(a)").stdout
            assert "[recorded at 2026-11-15T08:00:01Z]" in said, said
            for verb in ("check", "explain"):
                assert invoke(verb, "plant.toml").exit_code == 0
            assert "E417" in invoke("why", "plant.toml", "alarm(a)", "--at", "2026-11-15T08:00:02Z").output
            # Had the session been taken, the run would have to connect again and would miss this.
            publish(mosquitto, topic, 35, 60 * 58)
            publish(mosquitto, topic, 19, 60 * 59)
            until(lambda: "08:58:00Z" in Path("out.jsonl").read_text())
            assert running.poll() is None
        finally:
            running.send_signal(signal.SIGTERM)
            said_by_run = running.communicate(timeout=30)[1].decode()
    assert running.returncode == 0
    assert "connect" not in said_by_run, said_by_run


def publish(broker: Any, topic: str, value: int, second: int, retain: bool = False) -> None:
    host, _, port = broker.address.partition(":")
    message = {"d": "a", "v": value, "ts": f"2026-11-15T08:{second // 60:02}:{second % 60:02}Z"}
    mqtt = pytest.importorskip("paho.mqtt.publish")
    mqtt.single(topic, json.dumps(message), qos=1, retain=retain, hostname=host, port=int(port))


def test_a_checkpoint_on_another_file_system_is_asked_by_its_uri(saves: None) -> None:
    assert "this is a crash" in invoke("run", *RULE_RUN, "--checkpoint", "kept").output
    uri = Path("kept").absolute().as_uri()
    asked = ("why", "plant.lars", "alarm(a)", "--checkpoint")
    assert invoke(*asked, uri).output == invoke(*asked, "kept").output
    refused = invoke(*asked, "hdfs://nowhere:1/kept")
    assert (refused.exit_code, "error[E402]" in refused.output) == (1, True)
