"""The options of ontologies, answer sets, queries and events: their names, and which of them fit the programs of a run.

The names are those of the command line: `solve_limit` is `--solve-limit`, and `as_` is `--as`. An option of a kind of
program that is not there is wrong usage, on the command line and in Python.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, TypedDict

from thalweg.api.naming import events_of, predicates_of, prefixes_of
from thalweg.api.sources import On, language_of_program, looks_like_a_stream, name_of, named, unnamed
from thalweg.api.timing import Timing
from thalweg.connectors.held_tables import HeldTable
from thalweg.connectors.mapping.dialect import UNSTATED
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.named_source import NamedSource
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.languages.compile_options import OntologyOptions
from thalweg.languages.registry import registry
from thalweg.model.local_times import zone_named
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import Prefixes
from thalweg.model.time import Duration
from thalweg.parts.answer_sets.solve_options import SolveOptions


class OntologyKeywords(TypedDict, total=False):
    """What an ontology means.

    `profile` is `rdfs`, `pd`, `rl`, `ql` or `dl`; `keep` is how long a streamed triple counts after its own tick (for
    an ontology alone `window` says the same); `as_` is `entailment`, `consistency` or `abstraction`, the last with
    `classes`, `individuals` and `reasoner`, consistency with `topology` and `bolts`; `prefix` are prefixes, as in
    `{"ex": "http://…"}`.
    """

    profile: Literal["rdfs", "pd", "rl", "ql", "dl"] | None
    window: int | Duration | None
    keep: int | Duration | None
    schema_stream: bool
    literals: bool
    witnesses: bool
    as_: Literal["entailment", "consistency", "abstraction"]
    topology: Literal["ntm", "ltm", "auto"] | None
    bolts: int | None
    classes: str | None
    reasoner: Literal["auto", "hermit", "none"]
    individuals: Literal["subjects", "all"]
    prefix: Mapping[str, str]


class KindKeywords(OntologyKeywords, total=False):
    """The same, and how answer set programs (`.lp`) are solved and which events (`.tw`) are output.

    `window` and `slide` are a window's length and the way to the next one, `models` is `first`, `all`, `brave` or
    `cautious`, `inputs` names the input predicates, `solve_limit` is the time for a window, `solver` is `auto`,
    `clingo` or `engine`, `workers` the number of solver processes. `event` names the events that are output.
    """

    slide: int | Duration | None
    models: Literal["first", "all", "brave", "cautious"] | None
    inputs: str | Sequence[str] | None
    solve_limit: Duration | None
    solver: Literal["auto", "clingo", "engine"] | None
    workers: int | None
    event: Sequence[str] | None


_OF_ANSWER_SETS: Final = ("--slide", "--models", "--inputs", "--solve-limit", "--solver", "--workers", "--report")
_DEFAULTS: Final[Mapping[str, object]] = {"as_": "entailment", "reasoner": "auto", "individuals": "subjects"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options of a run mean for its programs; predicates are named in full.

    `mapped` are the mappings, and will count what they find.
    """

    timing: Timing
    ontology: OntologyOptions
    solving: SolveOptions
    inputs: tuple[Predicate, ...]
    shown: tuple[Predicate, ...] | None
    prefixes: Prefixes
    mapped: Tally | None
    warnings: tuple[Diagnostic, ...]


def ask(
    programs: Sequence[object],
    streams: On,
    background: Sequence[object],
    timing: Timing,
    keywords: Mapping[str, Any],
    *,
    emit: str = "changes",
    memory: object = None,
    show: str | Iterable[str] | None = None,
    report: object = None,
    mappings: str | Iterable[str] = (),
    on_spark: bool = False,
) -> Asked:
    """What the options of a run mean; `RejectedError` (E403) where one does not fit the programs or cannot be read.

    >>> ask(["jam.lars"], (), (), Timing(), {"models": "all"})
    Traceback (most recent call last):
    thalweg.diagnostics.RejectedError: error[E403]: `--models` is only for answer set programs (`.lp`)
    """
    need_choice("emit", emit, "changes", "snapshot", "intervals")
    need_choice("times", timing.times, None, "iso", "ticks")
    need_choice("clock", timing.passing, "events", "wall")
    for name in (_called(one) for one in programs if looks_like_a_stream(one)):
        raise wrong_usage(f"`{name}` looks like a stream: `--stream {name}`")
    known = understood(programs)
    given = {name: value for name, value in keywords.items() if value != _DEFAULTS.get(name, None)}
    profile, events_by = _profiles(known, given.pop("profile", None))
    task, window, keep = given.get("as_", "entailment"), given.get("window"), given.get("keep")
    extra: dict[str, object] = {"emit": emit != "changes", "memory": memory, "profile": profile != "rl", "show": show}
    extra["report"] = report if task != "abstraction" else None
    _refuse_misfits(known, {**extra, **given}, beside_events=any(map(_shapes_answers, programs)))
    _need_ontologies(programs, task)
    # With answer sets a window is what they are asked over.
    slides = "--slide" in known
    counts = keep or (None if slides else window) or 0
    prefix = _mapping_of("prefix", given.get("prefix", {}))
    with usage():
        ontology = OntologyOptions(
            profile,
            counts,
            given.get("schema_stream", False),
            given.get("literals", False),
            given.get("witnesses", False),
            task,
            given.get("topology"),
            given.get("bolts"),
            spread=on_spark,
            classes=given.get("classes"),
            reasoner=given.get("reasoner", "auto"),
            individuals=given.get("individuals", "subjects"),
            prefixes=tuple(prefix.items()),
            events_by=events_by,
        )
        timing, ontology = default_timing(programs, streams, timing, ontology)
        timing.ticks()
        timing.calendar, timing.idle_seconds, timing.max_ahead_milliseconds  # noqa: B018
        Timing(timing.tick, delay=counts).ticks()
        solving = SolveOptions(
            given.get("models") or "first",
            window if slides else None,
            given.get("slide"),
            given.get("solve_limit"),
            given.get("solver") or "auto",
            given.get("workers"),
        )
        solving.check(timing.clock)
        prefixes = prefixes_of([*programs, *background], prefix)
        shown = None if show is None else predicates_of(show, prefixes)
        if event := given.get("event"):
            shown = (*(shown or ()), *events_of(event, prefixes))
        inputs = _signatures(given.get("inputs"))
    if task == "abstraction" and emit != "changes":
        raise wrong_usage("an event is a point of the output: `--emit` cannot be used with `--as abstraction`")
    alone = task == "consistency" and window is None and keep is None and not is_nothing(streams)
    warnings = (_same_tick(),) if alone else ()
    texts = [mappings] if isinstance(mappings, str) else [*mappings]
    if isinstance(mappings, Mapping) or not all(isinstance(one, str) for one in texts):
        raise TypeError(f'`map` is a text such as "speed(sensor, v) at ts", or several of them, and not {mappings!r}')
    sources = (*(named(streams) or ()), *background)
    stated = {one.name: one.stated for one in sources if isinstance(one, NamedSource) and one.stated != UNSTATED}
    zones = {one.name: zone_named(one.zone) for one in sources if isinstance(one, NamedSource | HeldTable) and one.zone}
    mapped = Tally(read_mappings(texts, prefixes), stated, zones) if texts or stated or zones else None
    ontology = with_frequencies(ontology, streams, timing)
    return Asked(timing, ontology, solving, inputs, shown, prefixes, mapped, warnings)


def _mapping_of(name: str, value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise TypeError(f'`{name}` is a dict such as {{"ex": "http://example.org/"}}, and not {value!r}')
    return dict(value)


def check_keywords(given: Iterable[str], known: Iterable[str]) -> None:
    """`TypeError` for a keyword that a verb does not know, with the one that was meant.

    >>> check_keywords(["profle"], ["profile", "map"])
    Traceback (most recent call last):
    TypeError: unknown option `profle`; did you mean `profile`?
    """
    for name in given:
        if name not in known:
            close = get_close_matches(name, known, 1)
            raise TypeError(f"unknown option `{name}`" + (f"; did you mean `{close[0]}`?" if close else ""))


def need_choice(name: str, value: object, *choices: str | None) -> None:
    """`RejectedError` (E403) for an option that is none of its choices.

    >>> need_choice("emit", "chnges", "changes", "snapshot")
    Traceback (most recent call last):
    thalweg.diagnostics.RejectedError: error[E403]: `emit` cannot be `chnges`; it is `changes` or `snapshot`
    """
    if value not in choices:
        known = " or ".join(f"`{one}`" for one in choices if one is not None)
        raise wrong_usage(f"`{name}` cannot be `{value}`; it is {known}")


@contextmanager
def usage() -> Iterator[None]:
    """An option that cannot be understood is wrong usage."""
    try:
        yield
    except ValueError as error:
        raise wrong_usage(str(error)) from None


def wrong_usage(message: str, help: str = "") -> RejectedError:
    """What is raised where an option has no meaning."""
    return RejectedError([Diagnostic("E403", message, help=help)])


def understood(programs: Sequence[object]) -> frozenset[str]:
    """The options and verbs that have a meaning for some of the programs."""
    return frozenset(option for one in programs for option in language_of_program(one).understands)


def is_nothing(streams: On | None) -> bool:
    """Whether there is no stream at all."""
    return streams is None or (isinstance(streams, list | tuple) and not streams)


def default_timing(
    programs: Iterable[object], streams: On | None, timing: Timing, ontology: OntologyOptions
) -> tuple[Timing, OntologyOptions]:
    """How to run: without a stream, all that follows from an ontology is output at tick 0, also about its schema."""
    if not is_nothing(streams) or not any(language_of_program(one).specialised for one in programs):
        return timing, ontology
    first = 0 if timing.first is None else timing.first
    timing = replace(timing, first=first, last=first if timing.last is None else timing.last)
    about_schema = ontology.profile not in ("ql", "dl") and not ontology.checks and ontology.events_by is None
    return timing, replace(ontology, schema=about_schema)


def with_frequencies(ontology: OntologyOptions, streams: On | None, timing: Timing) -> OntologyOptions:
    """How to read ontologies: where it helps, with the frequencies of classes and properties in recorded streams."""
    names = unnamed(named(() if streams is None else streams) or [])
    recorded = all(isinstance(one, Source) or (isinstance(one, Path) and one.is_file()) for one in names)
    if not (ontology.wants_frequencies and names and recorded):
        return ontology
    from thalweg.parts.consistency.frequencies import frequencies

    return replace(ontology, frequencies=frequencies(names, timing.clock) or None)


def _signatures(inputs: str | Sequence[str] | None) -> tuple[Predicate, ...]:
    from thalweg.languages.asp.directives import signatures

    if inputs is None:
        return ()
    return tuple(signatures(inputs) if isinstance(inputs, str) else map(Predicate.read, inputs))


def _need_ontologies(programs: Sequence[object], task: str) -> None:
    """What is checked for consistency is an ontology and nothing else."""
    others = [one for one in programs if "--as" not in understood([one])]
    if task != "entailment" and others:
        raise wrong_usage(f"`--as {task}` is for ontologies, and `{_called(others[0])}` is not one: leave it out")


def _profiles(known: Collection[str], profile: str | None) -> tuple[str, str | None]:
    """The profile of ontologies, and that by which they classify events beside them: OWL 2 DL unless it is named."""
    if "--event" not in known:
        return profile or "rl", None
    if profile == "pd":
        message = "events are classified by OWL 2 DL, RL, QL or RDFS: `--profile pd` cannot be used with `.tw`"
        raise wrong_usage(message)
    return "rl", profile or "dl"


def _same_tick() -> Diagnostic:
    message = "without `--window` only facts of the same tick can contradict each other"
    help_ = "set how long a fact counts, for example `--window 5min`, or `--window 0` if this is what you want"
    return Diagnostic("W412", message, help=help_)


def _called(program: object) -> str:
    return name_of(program) if isinstance(program, str | Path | Source) else "the program"


def _shapes_answers(program: object) -> bool:
    """Whether a program has rules or answer sets that are not an ontology's."""
    language = language_of_program(program)
    return not language.specialised and bool(language.understands & {"--emit", "--slide"})


def _refuse_misfits(known: Collection[str], given: Mapping[str, object], beside_events: bool) -> None:
    """Refuses options that have no meaning for any of the programs: they are not passed over."""
    flags = {_flag(name): value for name, value in given.items() if value is not None and value is not False}
    flags.pop("--prefix", None)
    if "--event" in known:
        # What shapes the answers of rules and answer sets has a meaning where they stand beside events.
        beside = {"--emit", "--window", *_OF_ANSWER_SETS} if beside_events else set()
        known_here = {"--reasoner", "--event", "--show", *beside}
        foreign = [name for name in flags if name not in known_here]
        _refuse(foreign, "cannot be used with", _title("--event"))
    elif "--slide" in known:
        # Answer set programs cannot keep to a budget, whatever they run beside.
        foreign = [name for name in flags if name != "--show" and (name not in known or name == "--memory")]
        _refuse(foreign, "cannot be used with", _title("--slide"))
    elif known and "--emit" not in known:
        _refuse(flags, "cannot be used with", _title("why row"))
    for title in dict.fromkeys(_title(name) for name in flags if name != "--show" and name not in known):
        _refuse([name for name in flags if name not in known and _title(name) == title], "is only for", title)


def _flag(name: str) -> str:
    return f"--{name.rstrip('_').replace('_', '-')}"


def _title(option: str) -> str:
    """The kinds of programs that an option is for, in words."""
    kinds = dict.fromkeys(registry().programs.values())
    return " and ".join(kind.title for kind in kinds if option in kind.understands and kind.title)


def _refuse(options: Collection[str], verb: str, what: str) -> None:
    if options:
        names, verb = "` and `".join(options), verb if len(options) == 1 else verb.replace("is only", "are only")
        raise wrong_usage(f"`{names}` {verb} {what}")
