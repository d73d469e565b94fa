"""What of a run goes on and what begins if it goes on with other programs: its checkpoint says what it runs now."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thalweg.api.jobs import run_program
from thalweg.api.kind_options import resolve_options
from thalweg.api.loading import load_resolved
from thalweg.api.run_options import RunOptions
from thalweg.api.sources import Background, On, Text, as_list
from thalweg.api.timing import Timing
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.time import Duration

if TYPE_CHECKING:
    from thalweg.kinds.units import ProgramChange
    from thalweg.runtimes.kept_program import KeptProgram


def would_change(
    programs: Iterable[Text],
    checkpoint: str,
    report: Callable[[Diagnostic], None],
    *,
    streams: On = (),
    background: Background = (),
    map: Iterable[str] = (),
    tick: Duration = "1s",
    kinds: Any = None,
) -> "ProgramChange":
    """What goes on and what begins; where no streams or mappings are stated, they stay those of the run."""
    from thalweg.kinds.units import changed

    kept, last = _kept(checkpoint)
    texts, facts = as_list(programs), as_list(background)
    options = RunOptions(Timing(tick), map=map, kinds=kinds or {})
    resolved = resolve_options(texts, iter(()), facts, options)
    part = load_resolved(texts, facts, replace(resolved, shown=None), report)
    units = run_program(part, replace(options, mapped=resolved.mapped), streams, kept.units).units
    return changed(kept.units, units, None if last is None else last + 1)


def _kept(checkpoint: str) -> "tuple[KeptProgram, int | None]":
    """The program of a run, and the last tick that it had evaluated when its state was saved."""
    from thalweg.runtimes.embedded_checkpoint import STATE, kept_nothing, read_kept, read_state
    from thalweg.runtimes.local import LocalRun
    from thalweg.runtimes.stored_path import checkpoint_path

    folder = checkpoint_path(checkpoint)
    if not (folder / STATE).exists():
        message = f"`{folder}` has no state of a run in this process"
        raise RejectedError([Diagnostic("E401", message, help="name the folder of its `--checkpoint`")])
    header, state = read_state(folder)
    kept = read_kept(folder, header.get("program"))
    if kept is None:
        raise kept_nothing(folder)
    return kept, LocalRun.last_tick(state) if state else None
