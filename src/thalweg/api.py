"""Load a program, run it somewhere, ask why. The command line and Python users go through the same functions.

A program is a path, LARS text (anything with `:-`, a line break, or a full stop at its end), or a `Program`. A stream
is a path, `-`, a URI, text, or any iterable of events: `Event` values or pairs `(tick, facts)`.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from thalweg.connectors.files import read_text
from thalweg.diagnostics import Diagnostic, Rejected, Source
from thalweg.ir.nodes import Door, Program
from thalweg.languages import lars
from thalweg.languages.lars.facts import read_fact
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.time import FOREVER, Clock, milliseconds
from thalweg.planning.check_safety import check_safety
from thalweg.planning.choose_topology import TOPOLOGIES, USUAL, Choice, lay_out, moved
from thalweg.planning.stratify import check_strata
from thalweg.planning.topology import Taxonomy as Known
from thalweg.runtimes.asking import Asking, evaluator, own_frame

if TYPE_CHECKING:
    # The engine's compiler takes a moment to import, and `check` can do without it.
    from thalweg.connectors.interrupt import Interrupt
    from thalweg.connectors.transport import Transport
    from thalweg.engine import Engine, Proof
    from thalweg.languages.asp import AspProgram
    from thalweg.languages.owl.checking import Checked
    from thalweg.languages.owl.consistency import Bolt
    from thalweg.languages.owl.negative import Taxonomy
    from thalweg.planning.explain_answer_sets import ExplainedAnswerSets
    from thalweg.planning.explain_topology import ExplainedTopology
    from thalweg.runtimes.answer_sets import Listener, Windowed
    from thalweg.runtimes.embedded import Embedded, Items, Reasoner
    from thalweg.runtimes.emit import Answer, Piece
    from thalweg.runtimes.solving import Solvers
    from thalweg.runtimes.spark.run import Outcome, Place

R = TypeVar("R", bound="Reasoner")
Text = str | Path
Facts = str | Fact | Iterable[str | Fact]
Background = Text | Iterable[Text | Fact]
On = Text | Iterable[Text] | Iterable[Event | tuple[int, Facts]]


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


PROGRAM_ENDINGS: Final = (".lars",)
BACKGROUND_ENDINGS: Final = (".facts", ".lars")


def load(
    *programs: Program | Text,
    background: Background = (),
    tick: str = "1s",
    reading: Reading = Reading(),
    report: Callable[[Diagnostic], None] = lambda found: None,
) -> Program:
    """One program from many, with its background; raises `Rejected` with all that is wrong, reports the warnings.

    >>> load("q(X) :- p(X) in [3].").derived
    frozenset({'q/1'})
    """
    program, found = analyse(programs, background, tick, reading)
    if any(one.severity == "error" for one in found):
        raise Rejected(found)
    for warning in found:
        report(warning)
    return program


def check(
    *programs: Program | Text,
    background: Background = (),
    tick: str = "1s",
    reading: Reading = Reading(),
    inputs: Sequence[str] = (),
) -> list[Diagnostic]:
    """All that is wrong with a program, and what deserves a warning.

    >>> [found.code for found in check("q(X,Y) :- p(X).")]
    ['E203']
    """
    if not any(map(is_answer_sets, programs)):
        return analyse(programs, background, tick, reading)[1]
    found: list[Diagnostic] = []
    try:
        load_answer_sets(programs, background, inputs, found.append, Timing(tick).clock)
    except Rejected as error:
        return list(error.diagnostics)
    return found


def run(
    program: Program | Text,
    on: On = (),
    *,
    background: Background = (),
    emit: Literal["snapshot", "changes", "intervals"] = "snapshot",
    first: int | str | None = None,
    last: int | str | None = None,
    delay: int | str = 0,
    tick: str = "1s",
    late: Callable[[str], None] | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    reading: Reading = Reading(),
    asking: Asking = Asking(),
    inputs: Sequence[str] = (),
    report: Callable[[Diagnostic], None] | None = None,
    memory: int | None = None,
) -> "Iterator[Answer]":
    """Answers as they follow: `Snapshot`, `Change` or `Interval` values, which print as lines of JSON.

    Answer set programs (`.lp`) are answered window by window, with `Solution` values.

    >>> for answer in run("q(X) :- p(X) in [1].", on=[(3, "p(a)")], last=5):
    ...     print(answer)
    {"t":3,"facts":["q(a)"]}
    {"t":4,"facts":["q(a)"]}
    {"t":5,"facts":[]}
    """
    timing, reading = alone([program], on, Timing(tick, first, last, delay), reading)
    if is_answer_sets(program):
        if emit != "snapshot":
            raise Rejected([Diagnostic("E403", "`emit` does not go with answer set programs (`.lp`): leave it out")])
        asked, facts = load_answer_sets([program], background, inputs, report or (lambda found: None))
        with ask(asked, on, timing, asking, facts, on_error, late, report or _warn) as windows:
            yield from (answer for piece in windows.pieces() if piece is not None for answer in piece.answers())
        return
    reading = measured(reading, on, timing)
    known = load(program, background=background, tick=tick, reading=reading, report=report or (lambda found: None))
    with start(known, on, timing, emit, on_error, memory, late, report or _warn) as job:
        for piece in job.pieces():
            if piece is not None:
                yield from piece.answers()


def alone(
    programs: Iterable[Program | Text], on: On | None, timing: "Timing", reading: Reading
) -> "tuple[Timing, Reading]":
    """How to run: of an ontology without a stream all that follows is told, at tick 0, about its schema as well."""
    nothing = on is None or (isinstance(on, list | tuple) and not on)
    if not nothing or not any(map(is_ontology, programs)):
        return timing, reading
    first = 0 if timing.first is None else timing.first
    timing = replace(timing, first=first, last=first if timing.last is None else timing.last)
    return timing, replace(reading, schema=reading.profile != "ql" and reading.task == "entailment")


def measured(reading: Reading, on: On | None, timing: "Timing") -> Reading:
    """How to read: where it matters, with what recorded streams are about."""
    names = _named(on or ()) or []
    asks = reading.task == "consistency" and reading.topology in (None, "auto") and reading.frequencies is None
    if not (asks and names and all(_is_text(name) or Path(name).is_file() for name in names)):
        return reading
    from thalweg.runtimes.frequencies import frequencies

    found = frequencies([(name, _is_text(name)) for name in names], timing.clock)
    return replace(reading, frequencies=found or None)


def why(
    program: Program | Text,
    fact: str | Fact,
    at: int | str,
    on: On = (),
    *,
    background: Background = (),
    first: int | str | None = None,
    delay: int | str = 0,
    tick: str = "1s",
    reading: Reading = Reading(),
) -> "Proof | None":
    """The derivation of a fact at a tick; None where it does not hold.

    >>> print(why("q(X) :- p(X) in [1].", "q(a)", at=4, on=[(3, "p(a)")]).render().split()[0])
    q(a)
    """
    engine = run_to(
        load(program, background=background, tick=tick, reading=reading), on, Timing(tick, first, at, delay)
    )
    return None if engine.now is None else engine.why(read_fact(fact) if isinstance(fact, str) else fact)


def run_to(program: Program, on: On, timing: "Timing") -> "Engine":
    """The engine at the last tick; its answers on the way are forgotten."""
    with start(program, on, timing, "changes") as job:
        for _ in job.pieces():
            pass
        return job.runtime.engine


@dataclass(frozen=True, slots=True)
class Timing:
    """Times as users write them: ticks, durations, timestamps.

    >>> Timing(tick="10s", delay="1 min", last="1970-01-01T00:01:30Z").ticks()
    (None, 9, 6)
    """

    tick: str = "1s"
    first: int | str | None = None
    last: int | str | None = None
    delay: int | str = 0

    @property
    def clock(self) -> Clock:
        length = milliseconds(self.tick)
        if length <= 0:
            raise ValueError("a tick must last longer than nothing")
        return Clock(length)

    def ticks(self) -> tuple[int | None, int | None, int]:
        """First, last and delay in ticks; what cannot be understood, or does not fit together, is a `ValueError`."""
        clock = self.clock
        first, last = (None if time is None else self._moment(time, clock) for time in (self.first, self.last))
        if first is not None and last is not None and last < first:
            raise ValueError(f"the timeline cannot end at {last} before it begins at {first}")
        return first, last, self._duration(clock)

    @staticmethod
    def _moment(time: int | str, clock: Clock) -> int:
        try:
            tick = int(time) if isinstance(time, int) or time.isdecimal() else clock.tick(time)
        except ValueError:
            raise ValueError(f"`{time}` is neither a tick nor a timestamp such as `2026-01-01T12:00:00Z`") from None
        if tick < 0:
            raise ValueError(f"`{time}` lies before tick 0")
        return tick

    def _duration(self, clock: Clock) -> int:
        if isinstance(self.delay, int) or self.delay.strip().isdecimal():
            ticks, rest = int(self.delay), 0
        else:
            ticks, rest = divmod(milliseconds(self.delay), clock.tick_length)
        if ticks >= FOREVER:
            raise ValueError(f"`{self.delay}` is longer than any timeline")
        if rest or ticks < 0:
            raise ValueError(f"`{self.delay}` is not a whole number of ticks of {self.tick}")
        return ticks


@dataclass(frozen=True, slots=True)
class Job(Generic[R]):
    """A program, ready to run over its streams."""

    runtime: "Embedded[R]"
    inputs: "Items"
    transports: "Sequence[Transport]"
    end: Callable[[], None] = lambda: None

    def pieces(self) -> "Iterator[Piece | None]":
        return self.runtime.answers(self.inputs)

    def __enter__(self) -> "Job[R]":
        return self

    def __exit__(self, *_: object) -> None:
        for transport in self.transports:
            transport.close()
        self.end()


def start(
    program: Program,
    on: On,
    timing: Timing,
    emit: str = "snapshot",
    on_error: Literal["stop", "skip"] = "stop",
    memory: int | None = None,
    late: Callable[[str], None] | None = None,
    report: Callable[[Diagnostic], None] = lambda found: None,
    interrupt: "Interrupt | None" = None,
) -> "Job[Engine]":
    """Opens the streams and makes the engine; nothing has been read or evaluated yet."""
    from thalweg.connectors.interrupt import Interrupt
    from thalweg.engine import Engine
    from thalweg.runtimes.embedded import Embedded, Settings

    first, last, delay = timing.ticks()
    interrupt = interrupt or Interrupt()
    transports = _opened(on)
    settings = Settings(first, last, delay, emit, on_error)
    engine = Engine(program, first=first, memory=memory)
    explaining = None
    if program.reasons is not None:
        from thalweg.runtimes.clashes import Explaining

        explaining = Explaining(engine, emit)
    runtime = Embedded(
        engine,
        settings,
        fixed=program.fixed,
        explaining=explaining,
        write_late=late,
        report=report,
        interrupt=interrupt,
    )
    return Job(runtime, _items(on, transports, engine.dictionary, timing.clock, interrupt), transports)


def ask(
    program: "AspProgram",
    on: On,
    timing: Timing,
    asking: Asking = Asking(),
    background: Iterable[Fact] = (),
    on_error: Literal["stop", "skip"] = "stop",
    late: Callable[[str], None] | None = None,
    report: Callable[[Diagnostic], None] = lambda found: None,
    interrupt: "Interrupt | None" = None,
    listen: "Listener" = lambda solution, shares: None,
    executors: "Callable[[], Solvers] | None" = None,
) -> "Job[Windowed]":
    """The same for an answer set program; `executors` solve it elsewhere than on this machine."""
    from thalweg.connectors.interrupt import Interrupt
    from thalweg.runtimes.answer_sets import Inputs, Windowed
    from thalweg.runtimes.embedded import Embedded, Settings

    first, last, delay = timing.ticks()
    interrupt = interrupt or Interrupt()
    frame = asking.frame(timing.clock, program)
    answerer = evaluator(program, asking, frame, background, executors)
    transports = _opened(on)
    windowed = Windowed(answerer, Inputs(program, report, answerer.dictionary), frame, first, report, listen, interrupt)
    settings = Settings(first, last, delay, on_error=on_error)
    runtime = Embedded(windowed, settings, emitter=windowed, write_late=late, report=report, interrupt=interrupt)
    inputs = _items(on, transports, windowed.dictionary, timing.clock, interrupt)
    return Job(runtime, inputs, transports, windowed.close)


def _opened(on: On) -> "Sequence[Transport]":
    """The streams, where names say which."""
    from thalweg.runtimes.inputs import open_all

    return open_all([(name, _is_text(name)) for name in _named(on) or ()])


def _items(
    on: On, transports: "Sequence[Transport]", words: Dictionary, clock: Clock, interrupt: "Interrupt"
) -> "Items":
    """What comes, from streams that are open or from Python itself."""
    from thalweg.runtimes.inputs import Streams, Values

    if _named(on) is None:
        return Values(on, words)  # type: ignore[arg-type]
    return Streams(transports, words, clock, interrupt)


def run_on_spark(
    program: Program,
    on: On,
    timing: Timing,
    place: "Place",
    partitions: int = 2,
    *,
    emit: str = "snapshot",
    on_error: Literal["stop", "skip"] = "stop",
    out: str | None = None,
    late: str | None = None,
    format: str = "jsonl",
    report: Callable[[Diagnostic], None] = lambda found: None,
    interrupt: "Interrupt | None" = None,
) -> "Outcome":
    """Runs a program on Spark from streams to a sink; raises what is wrong with the streams when all is answered."""
    from uuid import uuid4

    from thalweg.connectors.interrupt import Interrupt
    from thalweg.planning.reasons import keep_reasons
    from thalweg.runtimes.clashes import as_clashes
    from thalweg.runtimes.embedded import Settings
    from thalweg.runtimes.emit import spelling
    from thalweg.runtimes.spark.session import need_spark

    need_spark()
    from thalweg.runtimes.spark.deliver import Delivery
    from thalweg.runtimes.spark.job import Job as SparkJob
    from thalweg.runtimes.spark.run import run

    settings = Settings(*timing.ticks(), emit, on_error)
    names, transports = _named(on), _opened(on)
    job = SparkJob(keep_reasons(program), settings, partitions, name=uuid4().hex)
    spell = spelling(format, timing.clock)
    say = spell if program.reasons is None else lambda piece: spell(as_clashes(piece))

    def items(words: "Dictionary") -> "Items":
        # The streams are read beside the main thread, which is the one that hears of Ctrl-C.
        return _items(on, transports, words, timing.clock, Interrupt())

    try:
        outcome = run(
            job,
            items,
            place,
            lambda ledger: Delivery(ledger, out, late, emit, say),
            interrupt or Interrupt(),
            report,
            options={
                "--stream": None if names is None else [_whole(name) for name in names],
                "--out": _whole(out),
                "--late": _whole(late),
                "--format": format,
                "--tick": timing.clock.tick_length,
            },
        )
    finally:
        for transport in transports:
            transport.close()
    if outcome.late_told:
        report(outcome.late_told)
    if outcome.malformed is not None:
        raise Rejected([outcome.malformed])
    return outcome


def analyse(
    programs: Iterable[Program | Text],
    background: Background = (),
    tick: str = "1s",
    reading: Reading = Reading(),
) -> tuple[Program, list[Diagnostic]]:
    """The program as far as it can be read, and every diagnostic."""
    found: list[Diagnostic] = []
    length = milliseconds(tick)
    programs, facts = list(programs), _several(background)
    ontologies = [name for name in programs if is_ontology(name)]
    parts = [_read_program(program, length, found) for program in programs if program not in ontologies]
    # What a document says about classes and properties matters to an ontology, whichever option brings it.
    documents = [*ontologies, *(name for name in facts if ontologies and is_ontology(name))]
    parts += [_read_background(name, length, found) for name in facts if name not in documents]
    if not ontologies and reading.task == "consistency":
        found.append(Diagnostic("E403", "there is no ontology whose consistency could be checked"))
    if ontologies:
        parts.append(_read_ontology([str(name) for name in documents], Timing(tick), reading, parts, found))
    program = _united(parts)
    # A part that could not be read takes no circle away: what is found in the rest stands.
    found += (one for check in (check_safety, check_strata) for one in check(program))
    sources = list(dict.fromkeys(one.span.source for one in found))
    return program, sorted(found, key=lambda one: (sources.index(one.span.source), one.span.start))


def load_answer_sets(
    programs: Sequence[Program | Text],
    background: Background = (),
    inputs: Sequence[str] = (),
    report: Callable[[Diagnostic], None] = lambda found: None,
    clock: Clock | None = None,
) -> "tuple[AspProgram, list[Fact]]":
    """An answer set program and its background; raises `Rejected` with all that is wrong, reports the warnings.

    With a clock the windows that the program brings are looked at, too.
    """
    from thalweg.languages.asp import contradictions, take_out
    from thalweg.solvers.programs import read_program

    if not all(map(is_answer_sets, programs)):
        raise Rejected([Diagnostic("E403", "answer set programs run on their own: leave the other programs out")])
    found: list[Diagnostic] = []
    known = [_read_background(name, 1_000, found) for name in _several(background)]
    sources = _with_included([Source(str(name), read_text(Path(str(name)))) for name in programs], found)
    found += contradictions(map(take_out, sources))
    # Each is read on its own, so that whatever is wrong has its place; then they are one.
    found += (one for source in sources for one in read_program(source, inputs)[1])
    whole = Source(", ".join(one.name for one in sources), "\n#program base.\n".join(one.text for one in sources))
    program, wrong = read_program(sources[0] if len(sources) == 1 else whole, inputs)
    found += wrong if len(sources) > 1 and not found else ()
    if clock is not None and program.window is not None:
        try:
            own_frame(program.window, clock)
        except Rejected as error:
            found += error.diagnostics
    if any(one.severity == "error" for one in found):
        raise Rejected(found)
    for warning in found:
        report(warning)
    facts = [fact for one in known for fact in one.background]
    return program.knowing(facts), facts


def _with_included(sources: Iterable[Source], wrong: list[Diagnostic]) -> list[Source]:
    """The sources and what they include, each once."""
    from thalweg.languages.asp import take_out

    found = {Path(one.name).resolve(): one for one in sources}
    waiting = list(found.values())
    while waiting:
        source = waiting.pop(0)
        for file, span in take_out(source).includes:
            path = Path(source.name).parent / file
            if path.resolve() in found:
                continue
            try:
                found[path.resolve()] = included = Source(str(path), read_text(path))
            except Rejected as error:
                wrong += (replace(one, span=span) for one in error.diagnostics)
            else:
                waiting.append(included)
    return list(found.values())


def explain_answer_sets(
    programs: Sequence[Program | Text],
    background: Background = (),
    inputs: Sequence[str] = (),
    as_published: bool = False,
    report: Callable[[Diagnostic], None] = lambda found: None,
    tick: str = "1s",
) -> "ExplainedAnswerSets":
    """How an answer set program is taken apart; `as_published`, with the communities of the paper."""
    from thalweg.planning.explain_answer_sets import ExplainedAnswerSets
    from thalweg.planning.input_dependency import analyse
    from thalweg.planning.published import Published

    program, _ = load_answer_sets(programs, background, inputs, report, Timing(tick).clock)
    found = analyse(program.outlines, program.inputs)
    reasons = tuple(dict.fromkeys(obstacle.words for obstacle in program.obstacles))
    return ExplainedAnswerSets(found, Published(found) if as_published else None, reasons)


def is_answer_sets(name: object) -> bool:
    """Whether something names a file with an answer set program.

    >>> is_answer_sets("jam.lp"), is_answer_sets("jam.lars")
    (True, False)
    """
    return isinstance(name, str | Path) and not _is_text(str(name)) and str(name).endswith(".lp")


def _whole(name: str | None) -> str | None:
    """A name that means the same from every folder."""
    return name if name is None or name == "-" or "://" in name or _is_text(name) else str(Path(name).resolve())


def _united(parts: Sequence[Program]) -> Program:
    """One program from its parts: what one of them keeps to itself is not told."""
    told = None
    if any(part.told is not None for part in parts):
        told = frozenset(name for part in parts for name in (part.derived if part.told is None else part.told))
    return Program(
        tuple(rule for part in parts for rule in part.rules),
        tuple(fact for part in parts for fact in part.background),
        told=told,
        streamed=frozenset(name for part in parts for name in part.streamed),
        door=next((part.door for part in parts if part.door != Door()), Door()),
        fixed=any(part.fixed for part in parts),
        equality=next((part.equality for part in parts if part.equality is not None), None),
        gathered=frozenset(name for part in parts for name in part.gathered),
        static=frozenset(name for part in parts for name in part.static),
        pinned=frozenset(pin for part in parts for pin in part.pinned),
        reasons=next((part.reasons for part in parts if part.reasons is not None), None),
    )


def _read_ontology(
    names: list[str], timing: Timing, reading: Reading, others: Sequence[Program], found: list[Diagnostic]
) -> Program:
    from thalweg.languages import owl

    if reading.task == "consistency":
        if any(part.rules for part in others):
            found.append(Diagnostic("E403", "`--as consistency` checks an ontology, without rules beside it"))
        checked, _ = check_ontology(names, timing, reading, found)
        return checked.program
    triples = _triples(names, found)
    window = replace(timing, delay=reading.window).ticks()[2]
    options = owl.Options(reading.literals, reading.witnesses)
    name = ", ".join(names)
    program, warnings = owl.compile(name, triples, reading.profile, window, reading.schema, options, others)
    found += warnings
    return program


def check_ontology(
    names: list[str], timing: Timing, reading: Reading, found: list[Diagnostic]
) -> "tuple[Checked, Choice]":
    """The checks of an ontology, and the topology by which they are made."""
    from thalweg.languages import owl

    chosen: list[Choice] = []

    def bolts(known: "Taxonomy") -> "Sequence[Bolt] | None":
        how = (reading.topology or "auto", reading.bolts, reading.frequencies, moved() if reading.spread else USUAL)
        chosen.append(lay_out(Known(*known), *how))
        return chosen[-1].topology

    window = replace(timing, delay=reading.window).ticks()[2]
    checked = owl.checked(", ".join(names), _triples(names, found), window, bolts)
    found += (*checked.warnings, *_fewer_bolts(reading, chosen[-1]))
    return checked, chosen[-1]


def _fewer_bolts(reading: Reading, chosen: Choice) -> Iterator[Diagnostic]:
    count = len(chosen.topology or ())
    if reading.topology == "ltm" and reading.bolts is not None and count < reading.bolts:
        message = f"`--bolts {reading.bolts}`: the disjoint classes make {count} groups, so there are {count} bolts"
        yield Diagnostic("W413", message, help=f"ask for `--bolts {count}`, or leave it out for the cheapest number")


def explain_checks(
    programs: Iterable[Text],
    background: Background = (),
    tick: str = "1s",
    reading: Reading = Reading(),
    partitions: int | None = None,
    report: Callable[[Diagnostic], None] = lambda found: None,
) -> "ExplainedTopology":
    """How the consistency of an ontology is checked; with its stages, where it is spread over partitions."""
    from thalweg.planning.explain import explain
    from thalweg.planning.explain_topology import explain_topology
    from thalweg.planning.reasons import keep_reasons

    program = load(*programs, background=background, tick=tick, reading=reading, report=report)
    documents = [str(name) for name in (*programs, *_several(background)) if is_ontology(name)]
    checked, chosen = check_ontology(documents, Timing(tick), reading, [])
    plan = None if partitions is None else explain(keep_reasons(program), partitions)
    costs = moved() if reading.spread else USUAL
    closed = checked.closed
    known = Known(*closed.taxonomy())
    known = known if chosen.topology is None else known.in_pairs()
    return explain_topology(known, closed.closure(), chosen, plan, costs, closed.counts_conjunctions)


def _triples(names: list[str], found: list[Diagnostic]) -> list[tuple[str, str, str]]:
    from thalweg.connectors.ontologies import read_triples

    triples: list[tuple[str, str, str]] = []
    for name in names:
        try:
            triples += read_triples(name)
        except Rejected as error:
            found += error.diagnostics
    return triples


def _warn(found: Diagnostic) -> None:
    warnings.warn(found.render(), stacklevel=2)


def _read_program(program: Program | Text, tick_length: int, found: list[Diagnostic]) -> Program:
    return program if isinstance(program, Program) else _parse(program, PROGRAM_ENDINGS, tick_length, found)


def _read_background(facts: Text | Fact, tick_length: int, found: list[Diagnostic]) -> Program:
    if isinstance(facts, Fact):
        return Program(background=(facts,))
    if is_ontology(facts):
        from thalweg.connectors.background import read_background

        known, wrong = read_background(facts)
        found += wrong
        return Program(background=tuple(known))
    program = _parse(facts, BACKGROUND_ENDINGS, tick_length, found)
    found += (Diagnostic("E403", "a background holds facts, and this is a rule", rule.span) for rule in program.rules)
    return Program(background=program.background)


def _parse(text: Text, endings: tuple[str, ...], tick_length: int, found: list[Diagnostic]) -> Program:
    try:
        program, wrong = lars.parse(_source(text, endings), tick_length)
    except Rejected as error:
        program, wrong = Program(), list(error.diagnostics)
    found += wrong
    return program


def _source(text: Text, endings: tuple[str, ...]) -> Source:
    if isinstance(text, str) and _is_text(text):
        return Source("<text>", text)
    path = Path(text)
    if path.suffix not in endings:
        way_out = f"it must end in {' or '.join(endings)}, or be RDF or an ontology such as `city.ttl`"
        raise Rejected([Diagnostic("E402", f"`{path}` has an ending that says nothing here", help=way_out)])
    return Source(str(path), read_text(path))


def _is_text(text: str) -> bool:
    return ":-" in text or "\n" in text or text.rstrip().endswith(".")


def is_ontology(name: object) -> bool:
    """Whether something names a file with an ontology or other RDF.

    >>> is_ontology("koala.owl"), is_ontology("city.lars"), is_ontology("p(a).")
    (True, False, False)
    """
    from thalweg.model.rdf import format_of

    is_text = isinstance(name, str) and _is_text(name)
    return isinstance(name, str | Path) and not is_text and format_of(str(name)) is not None


def _several(things: Any) -> list[Any]:
    return [things] if isinstance(things, str | Path | Fact) else list(things)


def _named(on: On) -> list[str] | None:
    """The names or texts of streams; None where Python hands over the events themselves."""
    if isinstance(on, str | Path):
        return [str(on)]
    if isinstance(on, list | tuple) and all(isinstance(one, str | Path) for one in on):
        return [str(one) for one in on]
    return None
