"""What the options of a run mean for its programs, and which of them fit these.

An option of a kind of program that is not there is wrong usage, on the command line and in Python.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from thalweg.api.mentioned_vocabulary import mention_owl
from thalweg.api.naming import events_of, predicates_of, prefixes_of
from thalweg.api.run_options import RunOptions
from thalweg.api.sources import On, language_of_program, looks_like_a_stream, name_of, named, unnamed
from thalweg.api.timing import Timing
from thalweg.connectors.held_tables import HeldTable
from thalweg.connectors.mapping.dialect import UNSTATED
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.named_source import NamedSource
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.languages.compile_options import OntologyOptions
from thalweg.languages.options import IN_PYTHON, flag_of, flags_for, option_named
from thalweg.languages.registry import registry
from thalweg.model.local_times import zone_named
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import Prefixes

_DEFAULTS: Final[Mapping[str, object]] = {name: option.default for name, option in IN_PYTHON.items()}


@dataclass(frozen=True, slots=True)
class ResolvedOptions:
    """What the options of a run mean for its programs; predicates are named in full.

    `run` are those options with its times and with the mappings that were read.
    """

    run: RunOptions
    ontology: OntologyOptions
    solving: SolveOptions
    inputs: tuple[Predicate, ...]
    shown: tuple[Predicate, ...] | None
    prefixes: Prefixes
    warnings: tuple[Diagnostic, ...]

    @property
    def timing(self) -> Timing:
        return self.run.timing

    @property
    def mapped(self) -> Tally | None:
        return self.run.mapped


def resolve_options(
    programs: Sequence[object], streams: On, background: Sequence[object], options: RunOptions
) -> ResolvedOptions:
    """What the options of a run mean; `RejectedError` (E403) where one does not fit the programs or cannot be read.

    >>> resolve_options(["jam.lars"], (), (), RunOptions(kinds={"models": "all"}))
    Traceback (most recent call last):
    thalweg.diagnostics.RejectedError: error[E403]: `--models` is only for answer set programs (`.lp`)
    """
    need_choice("emit", options.emit)
    need_choice("times", options.timing.times)
    need_choice("clock", options.timing.passing)
    for name in (_title_of_program(program) for program in programs if looks_like_a_stream(program)):
        raise wrong_usage(f"`{name}` looks like a stream: `--stream {name}`")
    flags = understood(programs)
    values = {name: value for name, value in options.kinds.items() if value != _DEFAULTS.get(name)}
    profile, events_by = _profiles(flags, values.pop("profile", None))
    task, window, keep = values.get("as_", "entailment"), values.get("window"), values.get("keep")
    _refuse_misfits(
        flags, {**_values_for_all(options, profile, task), **values}, shapes_answers=any(map(_shapes_answers, programs))
    )
    _need_ontologies(programs, task)
    # With answer sets a window is what they are asked over.
    slides = "--slide" in flags
    counts = keep or (None if slides else window) or 0
    prefix = _mapping_of("prefix", values.get("prefix", {}))
    with usage():
        ontology = OntologyOptions(
            profile,
            counts,
            values.get("schema_stream", False),
            values.get("literals", False),
            values.get("witnesses", False),
            task,
            values.get("topology"),
            values.get("bolts"),
            spread=options.on_spark,
            classes=values.get("classes"),
            reasoner=values.get("reasoner", "auto"),
            individuals=values.get("individuals", "subjects"),
            prefixes=tuple(prefix.items()),
            events_by=events_by,
        )
        timing, ontology = default_timing(programs, streams, options.timing, ontology)
        timing.ticks()
        timing.calendar, timing.idle_seconds, timing.max_ahead_milliseconds  # noqa: B018
        Timing(timing.tick, delay=counts).ticks()
        solving = SolveOptions(
            values.get("models") or "first",
            window if slides else None,
            values.get("slide"),
            values.get("solve_limit"),
            values.get("solver") or "auto",
            values.get("workers"),
        )
        solving.check(timing.clock)
        prefixes = prefixes_of([*programs, *background], prefix)
        shown = None if options.show is None else predicates_of(options.show, prefixes)
        if event := values.get("event"):
            shown = (*(shown or ()), *events_of(event, prefixes))
        inputs = _signatures(values.get("inputs"))
    if task == "abstraction" and options.emit != "changes":
        raise wrong_usage("an event is a point of the output: `--emit` cannot be used with `--as abstraction`")
    alone = task == "consistency" and window is None and keep is None and not is_nothing(streams)
    mapped = _read_mappings(options.map, (*(named(streams) or ()), *background), prefixes)
    ontology = with_frequencies(ontology, streams, timing)
    recorded = named(streams) if ontology.profile == "auto" and streams is not None else None
    if recorded is not None:
        ontology = replace(ontology, owl_streamed=mention_owl(unnamed(recorded)))
    run = replace(options, timing=timing, mapped=mapped)
    return ResolvedOptions(run, ontology, solving, inputs, shown, prefixes, (_same_tick(),) if alone else ())


def _values_for_all(options: RunOptions, profile: str, task: str) -> dict[str, object]:
    """The values of options that do not fit all kinds of programs, although all runs have them."""
    return {
        "emit": options.emit != "changes",
        "memory": options.memory,
        "profile": profile != "rl",
        "show": options.show,
        "report": options.report if task != "abstraction" else None,
    }


def _read_mappings(mappings: str | Iterable[str], sources: Sequence[object], prefixes: Prefixes) -> Tally | None:
    """The mappings of a run, with what its sources state about their text and their zone; None without either."""
    texts = [mappings] if isinstance(mappings, str) else [*mappings]
    if isinstance(mappings, Mapping) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f'`map` is a text such as "speed(sensor, v) at ts", or several of them, and not {mappings!r}')
    named_sources = [source for source in sources if isinstance(source, NamedSource)]
    stated = {source.name: source.stated for source in named_sources if source.stated != UNSTATED}
    zoned = (source for source in sources if isinstance(source, NamedSource | HeldTable) and source.zone)
    zones = {source.name: zone_named(source.zone) for source in zoned if source.zone}
    return Tally(read_mappings(texts, prefixes), stated, zones) if texts or stated or zones else None


def _mapping_of(name: str, value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise TypeError(f'`{name}` is a dict such as {{"ex": "http://example.org/"}}, and not {value!r}')
    return dict(value)


def check_keywords(keywords: Iterable[str], options: Iterable[str]) -> None:
    """`TypeError` for a keyword that a verb does not know, with the one that was meant.

    >>> check_keywords(["profle"], ["profile", "map"])
    Traceback (most recent call last):
    TypeError: unknown option `profle`; did you mean `profile`?
    """
    for name in keywords:
        if name not in options:
            close = get_close_matches(name, options, 1)
            raise TypeError(f"unknown option `{name}`" + (f"; did you mean `{close[0]}`?" if close else ""))


def need_choice(name: str, value: object, *choices: str) -> None:
    """`RejectedError` (E403) for an option that is none of its choices, by default those of the table.

    >>> need_choice("runtime", "sprk")
    Traceback (most recent call last):
    thalweg.diagnostics.RejectedError: error[E403]: `runtime` cannot be `sprk`; it is `embedded` or `spark`
    """
    option = option_named(name)
    words = choices or option.choices
    if value not in words and (value is not None or option.default is not None):
        raise wrong_usage(f"`{name}` cannot be `{value}`; it is {' or '.join(f'`{word}`' for word in words)}")


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
    return frozenset(flag for program in programs for flag in language_of_program(program).understands)


def is_nothing(streams: On | None) -> bool:
    """Whether there is no stream at all."""
    return streams is None or (isinstance(streams, list | tuple) and not streams)


def default_timing(
    programs: Iterable[object], streams: On | None, timing: Timing, ontology: OntologyOptions
) -> tuple[Timing, OntologyOptions]:
    """How to run: without a stream, all that follows from an ontology is output at tick 0, also about its schema."""
    if not is_nothing(streams) or not any(language_of_program(program).specialised for program in programs):
        return timing, ontology
    first = 0 if timing.first is None else timing.first
    timing = replace(timing, first=first, last=first if timing.last is None else timing.last)
    about_schema = ontology.profile not in ("ql", "dl") and not ontology.checks and ontology.events_by is None
    return timing, replace(ontology, schema=about_schema)


def with_frequencies(ontology: OntologyOptions, streams: On | None, timing: Timing) -> OntologyOptions:
    """How to read ontologies: where it helps, with the frequencies of classes and properties in recorded streams."""
    names = unnamed(named(() if streams is None else streams) or [])
    recorded = all(isinstance(name, Source) or (isinstance(name, Path) and name.is_file()) for name in names)
    if not (ontology.wants_frequencies and names and recorded):
        return ontology
    from thalweg.api.frequencies import frequencies

    return replace(ontology, frequencies=frequencies(names, timing.clock) or None)


def _signatures(inputs: str | Sequence[str] | None) -> tuple[Predicate, ...]:
    from thalweg.languages.asp.directives import signatures

    if inputs is None:
        return ()
    return tuple(signatures(inputs) if isinstance(inputs, str) else map(Predicate.read, inputs))


def _need_ontologies(programs: Sequence[object], task: str) -> None:
    """What is checked for consistency is an ontology and nothing else."""
    foreign = [program for program in programs if "--as" not in understood([program])]
    if task != "entailment" and foreign:
        title = _title_of_program(foreign[0])
        raise wrong_usage(f"`--as {task}` is for ontologies, and `{title}` is not one: leave it out")


def _profiles(flags: Collection[str], profile: str | None) -> tuple[str, str | None]:
    """The profile of ontologies, and that by which they classify events beside them: OWL 2 DL unless it is named."""
    if "--event" not in flags:
        return profile or "rl", None
    if profile in ("pd", "auto"):
        message = f"events are classified by OWL 2 DL, RL, QL or RDFS: `--profile {profile}` cannot be used with `.tw`"
        raise wrong_usage(message)
    return "rl", profile or "dl"


def _same_tick() -> Diagnostic:
    message = "without `--window` only facts of the same tick can contradict each other"
    help_ = "set how long a fact counts, for example `--window 5min`, or `--window 0` if this is what you want"
    return Diagnostic("W412", message, help=help_)


def _title_of_program(program: object) -> str:
    return name_of(program) if isinstance(program, str | Path | Source) else "the program"


def _shapes_answers(program: object) -> bool:
    """Whether a program has rules or answer sets that are not an ontology's."""
    language = language_of_program(program)
    return not language.specialised and bool(language.understands & {"--emit", "--slide"})


def _refuse_misfits(understood_flags: Collection[str], values: Mapping[str, object], shapes_answers: bool) -> None:
    """Refuses options that have no meaning for any of the programs: they are not passed over."""
    flags = {flag_of(name): value for name, value in values.items() if value is not None and value is not False}
    flags.pop("--prefix", None)
    if "--event" in understood_flags:
        # What shapes the answers of rules and answer sets has a meaning where they stand beside events.
        shaping = {"--emit", *flags_for("answer sets")} if shapes_answers else set()
        fitting = {"--reasoner", "--event", "--show", *shaping}
        foreign = [flag for flag in flags if flag not in fitting]
        _refuse(foreign, "cannot be used with", _title("--event"))
    elif "--slide" in understood_flags:
        # Answer set programs cannot keep to a budget, whatever they run beside.
        foreign = [flag for flag in flags if flag != "--show" and (flag not in understood_flags or flag == "--memory")]
        _refuse(foreign, "cannot be used with", _title("--slide"))
    elif understood_flags and "--emit" not in understood_flags:
        _refuse(flags, "cannot be used with", _title("why row"))
    misfits = [flag for flag in flags if flag not in understood_flags]
    for title in dict.fromkeys(_title(flag) for flag in misfits if flag != "--show"):
        _refuse([flag for flag in misfits if _title(flag) == title], "is only for", title)


def _title(option: str) -> str:
    """The kinds of programs that an option is for, in words."""
    kinds = dict.fromkeys(registry().programs.values())
    return " and ".join(kind.title for kind in kinds if option in kind.understands and kind.title)


def _refuse(options: Collection[str], verb: str, what: str) -> None:
    if options:
        names, verb = "` and `".join(options), verb if len(options) == 1 else verb.replace("is only", "are only")
        raise wrong_usage(f"`{names}` {verb} {what}")
