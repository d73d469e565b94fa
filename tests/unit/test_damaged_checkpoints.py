"""What was saved and is damaged, or of another version, is refused with a sentence: never read, never a traceback."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from click.testing import Result
from typer.testing import CliRunner

import thalweg
from taken_items import Taken, after_each_item
from thalweg.cli import app
from thalweg.diagnostics import RejectedError
from thalweg.model import sealed
from thalweg.runtimes import embedded_checkpoint
from thalweg.runtimes.local import LocalRun
from thalweg.runtimes.spark import job
from thalweg.runtimes.spark.delivery import Delivered, Delivery

COMMAND = ("run", "rules.lars", "--stream", "in.facts", "--out", "out.jsonl", "--checkpoint", "kept")


def run() -> Result:
    return CliRunner().invoke(app, list(COMMAND))


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was asked to end in the middle, with facts that wait for their tick."""
    monkeypatch.chdir(tmp_path)
    Path("rules.lars").write_text("busy(R,N) :- road(R), N = count{V : speed(R,V) in [4]}.  road(a).  road(b).\n")
    Path("in.facts").write_text("".join(f"speed({'ab'[tick % 2]},{tick}) at {tick}.\n" for tick in range(40)))

    def interrupt(run: LocalRun, item: Taken) -> None:
        assert isinstance(item, tuple)
        run._interrupt.asked = run._interrupt.asked or item[0] == 20

    with monkeypatch.context() as patch:
        after_each_item(patch, interrupt)
        assert run().exit_code == 0
    assert Path("kept/state").exists()


def damages(data: bytes, count: int) -> Iterator[bytes]:
    """The same bytes with one bit flipped, everywhere, or with some missing at the end."""
    random = Random(len(data))
    for place in {0, len(data) - 1, *(random.randrange(len(data)) for _ in range(count))}:
        flipped = bytearray(data)
        flipped[place] ^= 1 << random.randrange(8)
        yield bytes(flipped)
    for left in {0, 1, len(data) - 1, *(random.randrange(len(data)) for _ in range(count // 4))}:
        yield data[:left]


@pytest.mark.parametrize("name", ["state", "program.json"])
@pytest.mark.parametrize("count", [20, pytest.param(2_000, marks=pytest.mark.slow)], ids=["some", "many"])
@pytest.mark.usefixtures("stopped")
def test_a_damaged_checkpoint_is_refused(name: str, count: int) -> None:
    file, answers = Path("kept", name), Path("out.jsonl").read_bytes()
    whole = file.read_bytes()
    for damaged in damages(whole, count):
        file.write_bytes(damaged)
        result = run()
        assert (result.exit_code, result.output.count("error[E408]")) == (1, 1), result.output
        assert f"`kept/{name}` of the checkpoint is damaged" in result.output
        assert "help: restore the folder" in result.output
        assert Path("out.jsonl").read_bytes() == answers
    file.write_bytes(whole)
    assert run().exit_code == 0
    assert Path("out.jsonl").read_bytes().startswith(answers)


@pytest.mark.usefixtures("stopped")
def test_the_state_of_another_program_is_refused() -> None:
    state, manifest = Path("kept/state").read_bytes(), Path("kept/program.json")
    Path("rules.lars").write_text("slow(R) :- speed(R,V) in [4], V < 20.\n")
    manifest.unlink()
    Path("kept/state").unlink()
    Path("out.jsonl").unlink()
    assert run().exit_code == 0
    Path("kept/state").write_bytes(state)
    result = run()
    assert (result.exit_code, result.output.count("error[E408]")) == (1, 1), result.output
    assert "belongs to another program" in result.output


@pytest.mark.usefixtures("stopped")
def test_a_state_without_its_manifest_is_refused() -> None:
    Path("kept/program.json").unlink()
    answers = Path("out.jsonl").read_bytes()
    result = run()
    assert (result.exit_code, result.output.count("error[E408]")) == (1, 1), result.output
    assert "`kept/program.json` of the checkpoint is damaged" in result.output
    assert Path("out.jsonl").read_bytes() == answers


@pytest.mark.usefixtures("stopped")
def test_a_checkpoint_of_another_version_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "version", lambda name: "9.9.9")
    before = embedded_checkpoint.FORMAT.number
    mine = before + 1
    monkeypatch.setattr(embedded_checkpoint, "FORMAT", sealed.Format(mine, oldest=mine))
    result = run()
    assert result.exit_code == 1
    assert f"(format {before}), and this is Thalweg 9.9.9 (format {mine})" in result.output
    assert f"error[E408]: the checkpoint `kept` was made by Thalweg {thalweg.__version__}" in result.output


@pytest.mark.usefixtures("stopped")
def test_a_checkpoint_of_the_version_before_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    number, answers = embedded_checkpoint.FORMAT.number, Path("out.jsonl").read_bytes()
    monkeypatch.setattr(embedded_checkpoint, "FORMAT", sealed.Format(number + 1, oldest=number))
    result = run()
    assert result.exit_code == 0, result.output
    assert Path("out.jsonl").read_bytes().startswith(answers)
    assert f"thalweg {number + 1} " in Path("kept/state").read_bytes().partition(b"\n")[0].decode()


@pytest.mark.parametrize(("format", "first"), [(embedded_checkpoint.FORMAT, 8), (job.FORMAT, 14)])
def test_a_version_reads_what_the_one_before_has_saved(format: sealed.Format, first: int) -> None:
    """Whoever changes what a checkpoint holds keeps a way to read what it held."""
    assert format.oldest == max(first, format.number - 1)


@pytest.mark.usefixtures("stopped")
def test_a_checkpoint_from_before_there_were_checksums_is_of_another_version() -> None:
    manifest = Path("kept/program.json")
    known = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({key: known[key] for key in ("fingerprint", "program", "options")}))
    result = run()
    assert result.exit_code == 1
    assert "error[E408]: the checkpoint `kept` was made by an earlier Thalweg, and this is Thalweg" in result.output


def test_a_damaged_snapshot_of_a_session_is_refused() -> None:
    rule = "slow(S) :- speed(S,V) in [3], V < 20."
    with thalweg.open(rule) as session:
        session.push("speed", "a", 12, at=3)
        snapshot = session.snapshot()
    for damaged in damages(snapshot, 60):
        with thalweg.open(rule) as session, pytest.raises(RejectedError, match="E408"):
            session.restore(damaged)
    with thalweg.open(rule) as session:
        session.restore(snapshot)
        assert [str(change) for change in session.advance(to=3)] == ['{"t":3,"begin":["slow(a)"],"end":[]}']


def refuses(read: Callable[[], object]) -> bool:
    try:
        read()
    except RejectedError as error:
        return error.diagnostics[0].code == "E408"
    return False


def test_a_damaged_ledger_of_spark_is_refused(tmp_path: Path) -> None:
    ledger = tmp_path / "delivered.json"
    delivery = Delivery(ledger, str(tmp_path / "out"), None, "changes")
    delivery.close()
    whole = ledger.read_bytes()
    assert Delivered.read(ledger) == Delivered(run=delivery.done.run)
    for damaged in damages(whole, 60):
        ledger.write_bytes(damaged)
        assert refuses(lambda: Delivered.read(ledger)), damaged
