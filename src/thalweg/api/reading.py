"""How ontologies are read, and what for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from thalweg.planning.choose_topology import TOPOLOGIES

PROFILES: Final = ("rdfs", "pd", "rl", "ql")
TASKS: Final = ("entailment", "consistency")


@dataclass(frozen=True, slots=True)
class Reading:
    """How ontologies are read: by which profile, and for how long a triple of a stream counts after its tick.

    `schema`: triples about classes and properties may come on streams too, and what follows about them is told. To pD*
    can be added: `literals`, blank nodes that stand for them; `witnesses`, for values that restrictions promise.

    `task` says what for: `entailment`, what follows is told; `consistency`, who breaks which axiom of DL-Lite. That is
    checked by a `topology`: `ntm`, `ltm` on so many `bolts`, or `auto`, which takes the cheapest way for classes and
    properties that are as frequent as `frequencies` says; where it is `spread` by Spark, moving them has its price.
    """

    profile: str = "rl"
    window: int | str = 0
    schema: bool = False
    literals: bool = False
    witnesses: bool = False
    task: str = "entailment"
    topology: str | None = None
    bolts: int | None = None
    frequencies: Mapping[str, float] | None = None
    spread: bool = False

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ValueError(f"unknown profile `{self.profile}`; choose one of {', '.join(PROFILES)}")
        if self.profile != "pd" and (self.literals or self.witnesses):
            raise ValueError("`--literals` and `--witnesses` need `--profile pd`")
        if self.profile == "ql" and self.schema:
            raise ValueError(
                "`--schema-stream` cannot be used with `--profile ql`, which is compiled for a fixed schema"
            )
        if self.task not in TASKS:
            raise ValueError(f"unknown task `--as {self.task}`; choose one of {', '.join(TASKS)}")
        self._check_topology()

    def _check_topology(self) -> None:
        if self.task != "consistency":
            if self.topology is not None or self.bolts is not None:
                raise ValueError("`--topology` and `--bolts` need `--as consistency`")
            return
        if self.topology not in (None, *TOPOLOGIES):
            raise ValueError(f"unknown topology `{self.topology}`; choose one of {', '.join(TOPOLOGIES)}")
        if self.bolts is not None and (self.topology == "ntm" or self.bolts < 1):
            raise ValueError("`--bolts` must be at least 1, with `--topology ltm` or `auto`; `ntm` has one bolt")
        if self.schema or self.profile != "rl":
            left_out = "leave `--profile` and `--schema-stream` out"
            raise ValueError(f"`--as consistency` uses DL-Lite and a fixed schema: {left_out}")
