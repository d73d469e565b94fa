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
            raise ValueError(f"there is no profile `{self.profile}`; there is {', '.join(PROFILES)}")
        if self.profile != "pd" and (self.literals or self.witnesses):
            raise ValueError("`--literals` and `--witnesses` go with `--profile pd`")
        if self.profile == "ql" and self.schema:
            raise ValueError("`--profile ql` is made for a schema: `--schema-stream` goes with the others")
        if self.task not in TASKS:
            raise ValueError(f"an ontology is not read as `{self.task}`; there is {', '.join(TASKS)}")
        self._check_topology()

    def _check_topology(self) -> None:
        if self.task != "consistency":
            if self.topology is not None or self.bolts is not None:
                raise ValueError("`--topology` and `--bolts` go with `--as consistency`")
            return
        if self.topology not in (None, *TOPOLOGIES):
            raise ValueError(f"there is no topology `{self.topology}`; there is {', '.join(TOPOLOGIES)}")
        if self.bolts is not None and (self.topology == "ntm" or self.bolts < 1):
            raise ValueError("`--bolts` is a number from 1 on, for `--topology ltm` or `auto`: `ntm` has one bolt")
        if self.schema or self.profile != "rl":
            raise ValueError("consistency is checked against a schema that stays, by DL-Lite: leave the profile out")
