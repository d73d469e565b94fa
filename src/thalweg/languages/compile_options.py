"""What users ask of languages, and what a compiler is given besides its texts."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, get_args, runtime_checkable

from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Program
from thalweg.languages.options import Individuals, ProfileName, ReasonerName, Task
from thalweg.model.dataset import Dataset
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.planning.choose_topology import TOPOLOGIES


@runtime_checkable
class QuestionsOntologies(Protocol):
    """A compiled text that says what is to be asked of the ontologies beside it."""

    @property
    def events(self) -> Iterable[Any]:
        """The events that it defines."""

    def asking(self, ontology: "OntologyOptions") -> "OntologyOptions":
        """How ontologies are to be read for it."""

    def needed(self, names: Collection[str]) -> Any:
        """The same with what some of its names need."""

    def placed(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """What is wrong with its questions, where they are written."""


@runtime_checkable
class Outlined(Protocol):
    """A compiled text whose statements are known by what they derive and read."""

    @property
    def outlines(self) -> tuple[Any, ...]:
        """The statements."""


PROFILES: Final[tuple[str, ...]] = get_args(ProfileName)
TASKS: Final[tuple[str, ...]] = get_args(Task)
REASONERS: Final[tuple[str, ...]] = get_args(ReasonerName)
INDIVIDUALS: Final[tuple[str, ...]] = get_args(Individuals)


@dataclass(frozen=True, slots=True)
class OntologyOptions:
    """How ontologies are read: by which profile, and for how long a triple of a stream counts after its tick.

    `schema`: triples about classes and properties may come on streams too, and what follows about them is output. To
    pD* can be added: `literals`, blank nodes that stand for them; `witnesses`, for values that restrictions promise.

    `task` says what for: `entailment`, what follows; `consistency`, who breaks which axiom of DL-Lite. That is checked
    by a `topology`: `ntm`, `ltm` on a number of `bolts`, or `auto`, which takes the cheapest way for classes and
    properties that are as frequent as `frequencies` says; where it is `spread` by Spark, moving them has its price.
    `abstraction`, with the profile `dl`: which of the `classes`, a list of class expressions in Manchester syntax with
    `prefixes`, the `individuals` of an event are in: its `subjects`, or `all` that it names, also as objects;
    `reasoner` is asked what rules do not decide.
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
    classes: str | None = None
    reasoner: str = "auto"
    individuals: str = "subjects"
    prefixes: tuple[tuple[str, str], ...] = ()
    events_by: str | None = None
    """Beside events (`.tw`): the profile whose axioms classify them; the others are left out. All of DL by default."""
    looked_up: tuple[Predicate, ...] | None = ()
    """Classes and properties of which patterns look up what follows, as predicates; None for all of them."""
    owl_streamed: bool = True
    """Whether streams may bring facts in the vocabulary of OWL, such as `owl:sameAs`; the profile `auto` asks."""

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
        self._check_abstraction()
        self._check_topology()

    def _check_abstraction(self) -> None:
        if self.reasoner not in REASONERS:
            raise ValueError(f"unknown reasoner `{self.reasoner}`; choose one of {', '.join(REASONERS)}")
        if self.individuals not in INDIVIDUALS:
            raise ValueError(f"unknown individuals `{self.individuals}`; choose one of {', '.join(INDIVIDUALS)}")
        if self.events_by not in (None, "dl", "rl", "ql", "rdfs"):
            raise ValueError(f"events cannot be classified by `{self.events_by}`; choose dl, rl, ql or rdfs")
        if (self.profile == "dl") != self.abstracts:
            raise ValueError("`--profile dl` and `--as abstraction` need each other: give both")
        about_events = self.classes is not None or (self.reasoner != "auto" and self.events_by is None)
        if not self.abstracts and about_events:
            raise ValueError("`--classes` and `--reasoner` need `--as abstraction`")
        if not self.abstracts and self.individuals != "subjects":
            raise ValueError("`--individuals` needs `--as abstraction`")
        if self.abstracts and (self.schema or self.window not in (0, "0")):
            raise ValueError(
                "`--as abstraction` looks at one event at a time: leave `--keep`, `--window` and `--schema-stream` out"
            )

    def _check_topology(self) -> None:
        if not self.checks:
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

    @property
    def checks(self) -> bool:
        """Whether contradictions are looked for, and not what follows."""
        return self.task == "consistency"

    @property
    def abstracts(self) -> bool:
        """Whether events are classified."""
        return self.task == "abstraction"

    @property
    def wants_frequencies(self) -> bool:
        """Whether it would help to know how frequent classes and properties are."""
        return self.checks and self.topology in (None, "auto") and self.frequencies is None


@dataclass(frozen=True, slots=True)
class Options:
    """What a compiler may need to know: how many milliseconds a tick lasts; what the user asks of ontologies, whose
    `window` is in ticks; the `inputs` of answer set programs; the facts that always hold; and the rules `beside`.
    Mappings are known to make facts of what is `mapped`.

    The `dataset` has the same facts in the graphs of the background.
    """

    tick_length: int = 1_000
    ontology: OntologyOptions = OntologyOptions()
    inputs: tuple[Predicate, ...] = ()
    background: tuple[Fact, ...] = ()
    beside: tuple[Program, ...] = ()
    dataset: Dataset = Dataset()
    mapped: frozenset[Predicate] = frozenset()
