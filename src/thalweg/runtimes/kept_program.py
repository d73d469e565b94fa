"""What a checkpoint keeps of its program besides the state, so that the run can go on with a changed one.

    plan-<key>    the settings of the run, the units of its program, and its plan as data

The state names the key, so a change of the program takes effect with the first state that is saved after it: a run that
is killed before goes on from where the earlier program was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from thalweg.dataflow.context import Context
from thalweg.dataflow.state import StateFormat, other_version
from thalweg.kinds.part import Part
from thalweg.kinds.units import (
    AgedPlan,
    ProgramChange,
    Units,
    aged,
    aged_plan,
    changed,
    is_same,
    origins,
    shown_by,
)
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.plain_data import as_data, of_data
from thalweg.runtimes.checkpoint_folder import refused
from thalweg.runtimes.local import MovedStreams, Succession

FORMAT: Final = StateFormat("program", 2)

Source = tuple[str, bool]
"""A stream of a run: its name, and whether it is live."""


@dataclass(frozen=True)
class KeptProgram:
    """The settings and the units of a program, and the plan that it runs by."""

    settings: Mapping[str, str]
    units: Units
    planned: AgedPlan
    sources: tuple[Source, ...] = ()

    def save(self) -> bytes:
        """It as bytes, without what is only asked in the process that made the plan."""
        plan, units = self.planned.plan, self.units
        header = {
            "version": FORMAT.version,
            "settings": dict(self.settings),
            "units": units.save(),
            "sources": self.sources,
            "owners": list(self.planned.owners),
            "begins": sorted(self.planned.begins.items()),
        }
        return frame([encode(header, {}), as_data((plan.operators, plan.edges, plan.is_mixed, plan.parts))])

    @classmethod
    def load(cls, data: bytes) -> "KeptProgram":
        """What was saved; `RejectedError` where another version of Thalweg did it."""
        from thalweg.dataflow.plan import Plan

        about, plan = unframe(data)
        header: dict[str, Any] = decode(about)[0]
        if (version := header.get("version", 1)) != FORMAT.version:
            raise other_version(FORMAT, FORMAT.name, version)
        operators, edges, is_mixed, parts = of_data(plan)
        units = Units.load(header["units"])
        planned = AgedPlan(
            Plan(operators, edges, is_mixed=is_mixed, parts=parts), tuple(header["owners"]), dict(header["begins"])
        )
        return cls(header["settings"], units, planned, tuple((name, live) for name, live in header["sources"]))

    def resumed(self, part: Part, context: Context, units: Units) -> "KeptProgram":
        """The same program, as this process has compiled it; units go on from where each began."""
        by_name = {name: replace(unit, since=self._since(name)) for name, unit in units.by_name.items()}
        aged_units = replace(units, by_name=by_name)
        return KeptProgram(self.settings, aged_units, aged_plan(part, context, aged_units), self.sources)

    def _since(self, name: str) -> int | None:
        unit = self.units.by_name.get(name)
        return None if unit is None else unit.since

    def succeeded(
        self,
        part: Part,
        context: Context,
        units: Units,
        first: int,
        sources: Sequence[Source] = (),
        change: ProgramChange | None = None,
    ) -> "tuple[KeptProgram, Handover]":
        """A changed program in its place, whose new units begin at tick `first`; `RejectedError` where it cannot be.

        The `change` is what goes on and what begins, where more is to begin than has changed.
        """
        change = change or changed(self.units, units, first)
        aged_units = aged(self.units, units, change, first)
        planned = aged_plan(part, context, aged_units)
        before, after = shown_by(self.planned.plan), shown_by(planned.plan)
        same = frozenset(name for name in after if is_same(change, name))
        succession = Succession(
            self.planned.plan,
            self.planned.begins,
            origins(self.planned, planned, change),
            stay=same & before,
            appear=same - before,
        )
        kept = KeptProgram(self.settings, aged_units, planned, tuple(sources))
        return kept, Handover(change, succession, first, _moved(self.sources, kept.sources))


@dataclass(frozen=True)
class RunProgram:
    """The program that is to run: its settings and units; `begins`: it may take over from another one."""

    settings: Mapping[str, str]
    units: Units
    begins: bool = False

    def fresh(self, part: Part, context: Context, sources: Sequence[Source] = ()) -> KeptProgram:
        """The program at the beginning of a run."""
        return KeptProgram(self.settings, self.units, aged_plan(part, context, self.units), tuple(sources))

    def check_settings(self, earlier: KeptProgram, saved: str) -> None:
        """`RejectedError` where what was `saved` has other settings, which must not change with the program."""
        for option in sorted(self.settings.keys() | earlier.settings.keys()):
            if self.settings.get(option) != earlier.settings.get(option):
                raise refused(f"{saved} belongs to a run with another `{option}`")


@dataclass(frozen=True, slots=True)
class Handover:
    """A changed program takes over: what goes on and what begins, and at which tick."""

    change: ProgramChange
    succession: Succession
    first: int
    moved: MovedStreams | None = None
    """Where the streams of the run were among the earlier ones; None where they are the same."""


def _moved(old: Sequence[Source], new: Sequence[Source]) -> MovedStreams | None:
    """Where streams were, each among those of its kind; a name that occurs twice is taken in its order."""
    if tuple(old) == tuple(new):
        return None
    places: dict[bool, list[int | None]] = {True: [], False: []}
    for is_live in (True, False):
        left = [name for name, live in old if live == is_live]
        numbers = list(range(len(left)))
        for name in (name for name, live in new if live == is_live):
            place = next((number for number in numbers if left[number] == name), None)
            numbers = [number for number in numbers if number != place]
            places[is_live].append(place)
    return MovedStreams(tuple(places[True]), tuple(places[False]), any(not live for _, live in old))
