"""The reasoner of a checkpoint: `why` asks it beside the run, which goes on and keeps its lock and its streams.

why("plant.toml", "alarm(a)")    the state that the run saved last, at its last tick
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from thalweg.api.jobs import started
from thalweg.api.run_options import RunOptions
from thalweg.api.sources import On, named, unnamed
from thalweg.api.timing import Timing
from thalweg.connectors.open import is_remote
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.kinds.part import Part

if TYPE_CHECKING:
    from thalweg.runtimes.stored_path import CheckpointPath

_BY_RECORDING: Final = "record the streams, and ask with `--stream RECORDING --at T`"
_BY_EITHER: Final = f"ask the checkpoint of the run (`--checkpoint DIR`, without `--at`), or {_BY_RECORDING}"


def need_recordings(on: On) -> None:
    """`RejectedError` where streams would have to be connected to: a run may be reading them."""
    for name in unnamed(named(on) or ()):
        if is_remote(name):
            scheme = name.partition("://")[0]
            raise refused(f"`why` does not connect to live streams, and one is `{scheme}://…`", _BY_EITHER)


def saved_reasoner(checkpoint: str | Path, part: Part, timing: Timing, report: Callable[[Diagnostic], None]) -> Any:
    """The reasoner at the last tick of a run's checkpoint; `RejectedError` where it cannot be asked."""
    from thalweg.engine.checkpoint import MismatchError
    from thalweg.model.arrow import DamagedError
    from thalweg.runtimes.checkpoint_folder import refused as mismatched
    from thalweg.runtimes.embedded_checkpoint import read_kept
    from thalweg.runtimes.stored_path import checkpoint_path

    folder = checkpoint_path(str(checkpoint))
    emit, key, state = _saved(folder, timing)
    run = started(part, RunOptions(timing, emit), report, read_kept(folder, key))
    if not run.derivations.explains_facts:
        raise refused("a checkpoint of events or of a query alone does not keep what answers rest on", _BY_RECORDING)
    try:
        run.load_operators(state)
    except (DamagedError, MismatchError) as error:
        raise mismatched(f"`{folder}`: {error}") from None
    if run.now is None:
        raise refused(f"the run of checkpoint `{folder}` has not decided a tick yet", "ask again later")
    return run.derivations


def _saved(folder: "CheckpointPath", timing: Timing) -> tuple[str, str | None, bytes]:
    """The `--emit` of the run, the key of its program and the state of its runtime."""
    from thalweg.model.sealed import unseal_json
    from thalweg.runtimes.checkpoint_folder import MANIFEST, read_sealed
    from thalweg.runtimes.checkpoint_folder import refused as mismatched
    from thalweg.runtimes.embedded_checkpoint import STATE, read_state

    if not (folder / MANIFEST).exists():
        raise RejectedError([Diagnostic("E401", f"`{folder}` is not a checkpoint of a run", help=_BY_EITHER)])
    # Spark has formats of its own, and its checkpoints are refused for another reason.
    options = read_sealed(folder / MANIFEST, None, unseal_json)["options"]
    emit, tick_length = options.get("--emit", "changes"), options["--tick"]
    if "--emit" not in options and not (folder / STATE).exists():
        raise refused(f"`{folder}` is a checkpoint of Spark, where the state is in parts", _BY_RECORDING)
    if tick_length != timing.clock.tick_length:
        raise mismatched(f"the checkpoint `{folder}` belongs to a run with another `--tick`")
    if not (folder / STATE).exists():
        raise refused(f"the run of checkpoint `{folder}` has not saved its state yet", "ask again in a few seconds")
    header, state = read_state(folder)
    if header["over"]:
        raise refused(f"the run of checkpoint `{folder}` is complete, and its state is gone", _BY_RECORDING)
    return emit, header.get("program"), state


def refused(message: str, help: str) -> RejectedError:
    """The error for a question that cannot be answered from here."""
    return RejectedError([Diagnostic("E417", message, help=help)])
