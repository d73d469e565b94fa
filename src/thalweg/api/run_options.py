"""The options of a run as values, and the keywords of Python that only some kinds of programs have.

The names are those of the command line: `solve_limit` is `--solve-limit`, and `as_` is `--as`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict

from thalweg.api.timing import Timing
from thalweg.connectors.mapping.tally import Tally
from thalweg.languages.options import (
    OPTIONS,
    Individuals,
    Models,
    OnError,
    ProfileName,
    ReasonerName,
    RuntimeName,
    SolverName,
    SplitName,
    Task,
    TopologyName,
)
from thalweg.model.time import Duration


class OntologyKeywords(TypedDict, total=False):
    """What an ontology means.

    `profile` is `rdfs`, `pd`, `rl`, `ql` or `dl`; `keep` is how long a streamed triple counts after its own tick (for
    an ontology alone `window` says the same); `as_` is `entailment`, `consistency` or `abstraction`, the last with
    `classes`, `individuals` and `reasoner`, consistency with `topology` and `bolts`; `prefix` are prefixes, as in
    `{"ex": "http://…"}`.
    """

    profile: ProfileName | None
    window: int | Duration | None
    keep: int | Duration | None
    schema_stream: bool
    literals: bool
    witnesses: bool
    as_: Task
    topology: TopologyName | None
    bolts: int | None
    classes: str | None
    reasoner: ReasonerName
    individuals: Individuals
    prefix: Mapping[str, str]


class KindKeywords(OntologyKeywords, total=False):
    """The same, and how answer set programs (`.lp`) are solved and which events (`.tw`) are output.

    `window` and `slide` are a window's length and the way to the next one, `models` is `first`, `all`, `brave` or
    `cautious`, `inputs` names the input predicates, `solve_limit` is the time for a window, `solver` is `auto`,
    `clingo` or `engine`, `workers` the number of solver processes. `event` names the events that are output.
    """

    slide: int | Duration | None
    models: Models | None
    inputs: str | Sequence[str] | None
    solve_limit: Duration | None
    solver: SolverName | None
    workers: int | None
    event: Sequence[str] | None


_TIMES: Final = {
    **{name: name for name in ("tick", "delay", "zone", "times", "idle", "max_ahead")},
    "start": "first",
    "end": "last",
    "at": "last",
    "clock": "passing",
}
_FIELDS: Final = ("emit", "on_error", "memory", "show", "map", "runtime", "split")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How programs are run, as users say it; `memory` is in bytes.

    `report` is the file for what solving took. `kinds` are the values of `KindKeywords`. `mapped` are the mappings,
    once they are read; they count what they find.
    """

    timing: Timing = field(default_factory=Timing)
    emit: str = "changes"
    on_error: OnError = "stop"
    memory: int | None = None
    show: str | Iterable[str] | None = None
    map: str | Iterable[str] = ()
    runtime: RuntimeName = "embedded"
    split: SplitName | None = None
    report: str | None = None
    kinds: Mapping[str, Any] = field(default_factory=dict)
    mapped: Tally | None = None

    @property
    def on_spark(self) -> bool:
        return self.runtime == "spark"

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> "RunOptions":
        """The options that keywords of Python say; keywords of other things are left alone.

        >>> options = RunOptions.of({"end": 5, "emit": "intervals", "models": "all"})
        >>> options.timing.last, options.emit, options.kinds
        (5, 'intervals', {'models': 'all'})
        """
        return cls(
            Timing(**{field: keywords[name] for name, field in _TIMES.items() if name in keywords}),
            **{name: keywords[name] for name in _FIELDS if name in keywords},
            kinds={name: keywords[name] for name in KindKeywords.__annotations__ if name in keywords},
        )


def keywords_of(verb: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the options of a command as keywords of Python; without files that are functions there.

    >>> keywords_of("run", {"from_": "3", "out": "a.csv", "late": "late.jsonl"})
    {'start': '3'}
    """
    rows = [option for option in OPTIONS if verb in option.verbs and option.name in values and not option.callback]
    return {option.python: values[option.name] for option in rows if option.python is not None}
