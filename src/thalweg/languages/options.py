"""The options of all verbs in one table: the command line, the keywords of Python and the keys of deployments.

    Option("max_ahead", str, "A row whose …", "1 d", python="max_ahead", key=Key("time", "max_ahead"))

    thalweg run … --max-ahead 1d        thalweg.run(…, max_ahead="1 d")        [time] max_ahead = "1 d"

A new option is a row of `OPTIONS`; a keyword of Python is also written in the signature of its verbs, which users and
type checkers read, and a test compares them with the table. Rows stand in the order in which `--help` shows them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

Emit = Literal["changes", "snapshot", "intervals"]
Times = Literal["iso", "ticks"]
Passing = Literal["events", "wall"]
OnError = Literal["stop", "skip"]
RuntimeName = Literal["embedded", "spark"]
SplitName = Literal["auto", "always"]
ChangeName = Literal["refuse", "begin"]
ProfileName = Literal["rdfs", "pd", "rl", "ql", "dl", "auto"]
Task = Literal["entailment", "consistency", "abstraction"]
TopologyName = Literal["ntm", "ltm", "auto"]
ReasonerName = Literal["auto", "hermit", "none"]
Individuals = Literal["subjects", "all"]
Models = Literal["first", "all", "brave", "cautious"]
SolverName = Literal["auto", "clingo", "engine"]
Decomposition = Literal["sound", "paper"]
AnswerFormatName = Literal["text", "jsonl", "atoms", "csv", "parquet", "nquads", "jsonld"]

KeyKind = Literal[
    "a text", "a file", "a list of texts", "a list of files", "true or false", "a table", "a table of settings"
]


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a deployment that stands for an option: its section, its name there, and what its value is."""

    section: str
    name: str
    kind: KeyKind = "a text"


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the verbs.

    `name` is the parameter of the commands, and `flag` how it is typed. `type` is what the command line reads. `kinds`
    are the kinds of programs that an option has a meaning for; without any it is for all of them. `python` is its
    keyword in Python, where there is one; `python_default` what that is by default, if it is not the same. One with a
    `callback` is a file on the command line and a function in Python. `key` is its key in deployments, and `check`
    raises a `ValueError` for a word that it cannot be. `panel` is the title of its group in `--help`.
    """

    name: str
    type: Any
    help: str
    default: object = None
    verbs: tuple[str, ...] = ("run",)
    kinds: tuple[str, ...] = ()
    metavar: str | None = None
    python: str | None = None
    python_default: object = ...
    callback: bool = False
    key: Key | None = None
    min: int | None = None
    check: Callable[[str], None] | None = None
    word: str = ""
    panel: str = ""

    @property
    def flag(self) -> str:
        """The word of the command line.

        >>> [option.flag for option in OPTIONS if option.name in ("from_", "solve_limit", "jars")]
        ['--from', '--solve-limit', '--jar']
        """
        return self.word or flag_of(self.name)

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be, where there are only a few."""
        return _members(self.type)

    @property
    def is_count(self) -> bool:
        """Whether its value is a whole number."""
        return self.type is int or int in get_args(self.type)

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be typed several times."""
        return any(get_origin(member) is list for member in (self.type, *get_args(self.type)))


def flag_of(name: str) -> str:
    """The word of the command line for a keyword.

    >>> flag_of("as_"), flag_of("solve_limit")
    ('--as', '--solve-limit')
    """
    return f"--{name.rstrip('_').replace('_', '-')}"


def _members(type_: Any) -> tuple[str, ...]:
    """The words of the `Literal` types in a type."""
    if get_origin(type_) is Literal:
        return get_args(type_)
    return tuple(word for member in get_args(type_) for word in _members(member))


def _names_a_class(text: str) -> None:
    if not text.strip(" ,"):
        raise ValueError("it names no class; leave it out to output all classes")


def _panel(title: str, *options: Option) -> Iterator[Option]:
    """Rows as the group of a title."""
    return (replace(option, panel=title) for option in options)


_VERBS: Final = ("run", "check", "explain", "why")
_LENGTH: Final = "DURATION|TICKS"
_WINDOW: Final = "DURATION|TICKS|'N #'"

OPTIONS: Final[tuple[Option, ...]] = (
    *_panel(
        "Input",
        Option(
            "stream",
            list[str] | None,
            "Where facts come from: files (`.facts .jsonl .json .tnt .nq .trig .jsonld .csv`, also `.gz`, and "
            "`.parquet`), folders of them, also on `s3://`, `gs://`, `abfs://` and `hdfs://`; `-` for standard input, "
            "`tcp://`, `mqtt://`, `kafka://`, `http(s)://` or `ws(s)://`; on Spark `table:catalog.schema.t`, "
            "`delta:URI` and `iceberg:NAME`. Several are merged by time.",
            verbs=("run", "why"),
            metavar="FILE|URI",
            python="stream",
            python_default=(),
        ),
        Option(
            "background",
            list[str] | None,
            "Facts that hold at every tick: lines such as `road(a).`, any RDF, or a table with `--map`; on Spark also "
            "`table:`, `delta:` and `iceberg:`, read at the start.",
            verbs=_VERBS,
            metavar="FILE|URI",
            python="background",
            python_default=(),
            key=Key("", "background", "a list of files"),
        ),
        Option(
            "map_",
            list[str] | None,
            "What facts the rows of a table or the messages of a device are: `temp(device_id, meta.temp) at ts`; "
            "repeatable. For a background without `at`.",
            verbs=_VERBS,
            metavar="'p(column, path.in.json) at column'",
            python="map",
            python_default=(),
        ),
        Option(
            "on_error",
            OnError,
            "At a malformed line: stop after answering what came before, or report it and continue.",
            "stop",
            python="on_error",
            key=Key("runtime", "on_error"),
        ),
        Option(
            "prefix",
            list[str] | None,
            "A prefix for IRIs that you type and read, besides those that the programs declare: `ex=http://ex.org/`.",
            verbs=_VERBS,
            metavar="p=IRI",
            python="prefix",
            key=Key("output", "prefix", "a table"),
        ),
    ),
    *_panel(
        "Time",
        Option(
            "at",
            str | None,
            "The tick, or timestamp, to explain; the last one of a checkpoint needs none.",
            verbs=("why",),
            metavar="T",
            python="at",
        ),
        Option(
            "from_",
            str | None,
            "First tick, or a timestamp; by default that of the first event.",
            verbs=("run", "why"),
            metavar="T",
            python="start",
            key=Key("time", "from"),
        ),
        Option(
            "to",
            str | None,
            "Last tick, or a timestamp; by default that of the last event.",
            metavar="T",
            python="end",
            key=Key("time", "to"),
        ),
        Option(
            "tick",
            str,
            "How long a tick lasts: `1s`, `100ms`, `5 min`.",
            "1s",
            verbs=_VERBS,
            metavar="DURATION",
            python="tick",
            key=Key("time", "tick"),
        ),
        Option(
            "delay",
            str,
            "How far out of order events may arrive without being late.",
            "0s",
            verbs=("run", "why"),
            metavar=_LENGTH,
            python="delay",
            python_default=0,
            key=Key("time", "delay"),
        ),
        Option(
            "clock",
            Passing,
            "What moves time on live streams: events, or the machine's clock, so that absence is noticed in silence.",
            "events",
            python="clock",
            key=Key("time", "clock"),
        ),
        Option(
            "idle",
            str | None,
            "A live stream that has been silent for so long no longer holds the others back.",
            metavar="DURATION",
            python="idle",
            key=Key("time", "idle"),
        ),
        Option(
            "max_ahead",
            str,
            "A row whose timestamp is further beyond the last one, on a live stream beyond the machine's clock, waits "
            "for three others, and is left out if most of them are before it.",
            "1 d",
            verbs=("run", "why"),
            metavar="DURATION",
            python="max_ahead",
            key=Key("time", "max_ahead"),
        ),
        Option(
            "zone",
            str | None,
            "The time zone of times without one, of the output, and of hours and dates in rules: `Europe/Rome`; by "
            "default UTC.",
            verbs=("run", "why"),
            metavar="ZONE",
            python="zone",
            key=Key("time", "zone"),
        ),
        Option(
            "times",
            Times | None,
            "How ticks are written: as timestamps or as numbers; by default as the streams write them.",
            verbs=("run", "why"),
            python="times",
            key=Key("output", "times"),
        ),
    ),
    *_panel(
        "Service",
        Option(
            "service",
            str | None,
            "Ask a service (`thalweg serve`) at this address: the fact is the only argument.",
            verbs=("why",),
            metavar="URL",
        ),
        Option("program", str | None, "The program of the service.", verbs=("why",), metavar="NAME"),
        Option(
            "token",
            str | None,
            "The token that the service asks for; by default what `THALWEG_TOKEN` has.",
            verbs=("why",),
            metavar="TOKEN",
        ),
    ),
    *_panel(
        "Output",
        Option(
            "emit",
            Emit,
            "`changes`: what begins and ends; `snapshot`: everything that holds, at every tick; "
            "`intervals`: each fact with its first and last tick, when it ends.",
            "changes",
            kinds=("rules",),
            python="emit",
            key=Key("output", "emit"),
        ),
        Option(
            "show",
            str | None,
            "The predicates that are output, such as `jam/1,ex:Camera/1`; by default what `#show` names, or all that "
            "is derived.",
            verbs=("run", "check"),
            metavar="p/1,…",
            python="show",
            key=Key("output", "show", "a list of texts"),
        ),
        Option(
            "out",
            str | None,
            "Where answers go; by default standard output. Its ending says the format: `.jsonl .csv .parquet .nq`.",
            metavar="FILE|URI",
            key=Key("output", "to", "a file"),
        ),
        # How answers are written; `--format` of other verbs is about plans, proofs and diagnostics.
        Option(
            "answer_format",
            AnswerFormatName | None,
            "Lines for people, lines of JSON, facts such as `q(x) at 41.`, tables, or RDF with its validity; by "
            "default what the ending of `--out` says, text on a terminal, and elsewhere `jsonl`.",
            key=Key("output", "format"),
            word="--format",
        ),
        Option(
            "format",
            Literal["text", "json", "svg", "rspql"],
            "As text for people, as data, as a drawing; or, with `--as abstraction`, the filter of events that "
            "follows from the classes asked for, as a continuous query.",
            "text",
            verbs=("explain",),
        ),
        Option("format", Literal["text", "json"], "As text for people, or as data.", "text", verbs=("check", "why")),
        Option(
            "late",
            str | None,
            "File for late facts, as lines of JSON; by default they are only counted.",
            metavar="FILE",
            python="late",
            callback=True,
            key=Key("output", "late", "a file"),
        ),
        Option(
            "picture",
            Path | None,
            "Draw a timeline of the run: `.svg`, `.png`, or `.html` with zoom, search and proofs.",
            metavar="FILE",
            key=Key("output", "picture", "a file"),
        ),
        # A key that deployments may have already.
        Option("base", str | None, "The IRI of names in RDF output.", verbs=(), key=Key("output", "base")),
        Option(
            "quiet",
            bool,
            "Leave out the summary at the end, and what live runs warn of on the way.",
            False,
            key=Key("output", "quiet", "true or false"),
        ),
        Option(
            "verbose",
            bool,
            "List everything that warnings count, and say of rules that never held how far they got; on Spark, "
            "also show its log.",
            False,
            verbs=_VERBS,
        ),
        Option(
            "report",
            str | None,
            "For `.lp`: write facts, seconds and answers of each piece of the program here; for `--as abstraction`, "
            "what decided how many events; `-` is standard error.",
            kinds=("answer sets",),
            metavar="FILE",
            python="report",
            callback=True,
            key=Key("answer_sets", "report", "a file"),
        ),
        Option(
            "event",
            list[str] | None,
            "For `.tw`: an event that is output, as in `:Jam`, with what it needs and nothing else; repeatable. By "
            "default all that no other event is made of.",
            kinds=("events",),
            metavar="E",
            python="event",
            key=Key("output", "event", "a list of texts"),
        ),
    ),
    *_panel(
        "Ontologies",
        Option(
            "profile",
            ProfileName | None,
            "What an ontology means: RDFS, pD*, OWL 2 RL, OWL 2 QL for instances, or OWL 2 DL for `--as abstraction`. "
            "By default RL, and DL for the events of a `.tw`. `auto` is RL without equality, as QL is, where "
            "streams are files of facts or triples without a word of OWL, so that it answers the same.",
            verbs=_VERBS,
            kinds=("ontologies",),
            python="profile",
            key=Key("ontology", "profile"),
        ),
        Option(
            "as_",
            Task,
            "For ontologies: output what follows, what contradicts them and why, or the classes of each event.",
            "entailment",
            verbs=_VERBS,
            kinds=("ontologies",),
            python="as_",
            key=Key("ontology", "as"),
        ),
        Option(
            "keep",
            str | None,
            "For ontologies: how long a streamed triple counts after its own tick; by default `--window`, or "
            "beside `.lp` not at all.",
            kinds=("ontologies",),
            metavar=_LENGTH,
            python="keep",
            key=Key("ontology", "keep"),
        ),
        Option(
            "schema_stream",
            bool,
            "For ontologies: triples about classes and properties may arrive on streams; slower.",
            False,
            verbs=("run", "explain", "why"),
            kinds=("ontologies",),
            python="schema_stream",
            key=Key("ontology", "schema_stream", "true or false"),
        ),
        Option(
            "literals",
            bool,
            "For `pd`: add blank nodes that stand for literals (rules lg-*).",
            False,
            verbs=("run", "explain", "why"),
            kinds=("ontologies",),
            python="literals",
            key=Key("ontology", "literals", "true or false"),
        ),
        Option(
            "witnesses",
            bool,
            "For `pd`: add blank nodes for the values that restrictions require (pD*sv).",
            False,
            verbs=("run", "explain", "why"),
            kinds=("ontologies",),
            python="witnesses",
            key=Key("ontology", "witnesses", "true or false"),
        ),
        Option(
            "topology",
            TopologyName | None,
            "For `--as consistency`: every disjoint pair in one bolt (`ntm`), a pipeline of bolts (`ltm`), or "
            "the cheapest (`auto`, the default).",
            verbs=("run", "explain", "why"),
            kinds=("ontologies",),
            python="topology",
            key=Key("ontology", "topology"),
        ),
        Option(
            "bolts",
            int | None,
            "For `ltm`: the number of bolts; for `auto`: the largest number.",
            verbs=("run", "explain", "why"),
            kinds=("ontologies",),
            metavar="N",
            python="bolts",
            key=Key("ontology", "bolts"),
            min=1,
        ),
        Option(
            "classes",
            str | None,
            "For `--as abstraction`: the classes that are output, names or expressions in Manchester syntax such as "
            "`:A and (:w some xsd:double[> 3])`; by default all that not everything is in.",
            verbs=("run", "check", "explain"),
            kinds=("ontologies",),
            metavar="C,…",
            python="classes",
            key=Key("ontology", "classes"),
            check=_names_a_class,
        ),
        Option(
            "individuals",
            Individuals,
            "For `--as abstraction`: the individuals of an event that are classified: the subjects of its triples, or "
            "all that it names, also as objects.",
            "subjects",
            kinds=("ontologies",),
            python="individuals",
            key=Key("ontology", "individuals"),
        ),
        Option(
            "reasoner",
            ReasonerName,
            "For `--as abstraction`: what decides where rules do not: HermiT where it is installed (`auto`), HermiT, "
            "or nothing; such events are then reported as undecided.",
            "auto",
            kinds=("ontologies",),
            python="reasoner",
            key=Key("ontology", "reasoner"),
        ),
    ),
    *_panel(
        "Answer sets",
        Option(
            "window",
            str | None,
            "For `.lp`: the length of a window, in time or in facts (`'100 #'`); by default one tick. For ontologies "
            "without `.lp`: how long a streamed triple counts after its own tick; by default not at all.",
            kinds=("answer sets", "ontologies"),
            metavar=_WINDOW,
            python="window",
            key=Key("answer_sets", "window"),
        ),
        Option(
            "window",
            str | None,
            "For ontologies: how long a streamed triple counts after its own tick.",
            verbs=("explain", "why"),
            kinds=("answer sets", "ontologies"),
            metavar=_LENGTH,
            python="window",
        ),
        Option(
            "slide",
            str | None,
            "For `.lp`: from one window to the next; by default a window's length.",
            kinds=("answer sets",),
            metavar=_WINDOW,
            python="slide",
            key=Key("answer_sets", "slide"),
        ),
        Option(
            "models",
            Models | None,
            "For `.lp`: one answer set (the default), all, or what holds in some or in all of them.",
            kinds=("answer sets",),
            python="models",
            key=Key("answer_sets", "models"),
        ),
        Option(
            "inputs",
            str | None,
            "For `.lp`: the only predicates that it takes from streams; by default all that it uses.",
            verbs=("run", "check", "explain"),
            kinds=("answer sets",),
            metavar="p/2,…",
            python="inputs",
            key=Key("answer_sets", "inputs", "a list of texts"),
        ),
        Option(
            "solve_limit",
            str | None,
            "For `.lp`: time limit for each window; one that takes longer is marked incomplete.",
            kinds=("answer sets",),
            metavar="DURATION",
            python="solve_limit",
            key=Key("answer_sets", "solve_limit"),
        ),
        Option(
            "solver",
            SolverName | None,
            "For `.lp`: `auto` uses the incremental engine where possible, otherwise clingo.",
            kinds=("answer sets",),
            python="solver",
            key=Key("answer_sets", "solver"),
        ),
        Option(
            "workers",
            int | None,
            "For `.lp`: number of solver processes; by default one for each core.",
            kinds=("answer sets",),
            metavar="N",
            python="workers",
            key=Key("answer_sets", "workers"),
            min=0,
        ),
        Option(
            "decomposition",
            Decomposition,
            "For `.lp`: sound communities, or the published ones, with a warning where they change answers.",
            "sound",
            verbs=("explain",),
            kinds=("answer sets",),
            python="decomposition",
        ),
    ),
    *_panel(
        "Spark",
        Option(
            "runtime",
            RuntimeName,
            "Where to run: in this process, or on Apache Spark.",
            "embedded",
            python="runtime",
            key=Key("runtime", "kind"),
        ),
        Option(
            "runtime",
            RuntimeName,
            "`spark` also shows stages, keys and what cannot be split.",
            "embedded",
            verbs=("explain",),
        ),
        Option(
            "master",
            str | None,
            "Spark's master: `spark://host:7077`; by default this machine.",
            metavar="URL",
            python="master",
            key=Key("runtime", "master"),
        ),
        Option(
            "partitions",
            int | None,
            "Number of partitions on Spark; by default one for each core.",
            metavar="N",
            python="partitions",
            key=Key("runtime", "partitions"),
            min=1,
        ),
        Option(
            "partitions",
            int,
            "Buckets of a stage on Spark. A run has as many as partitions, by default one for each core; with a "
            "checkpoint 64, on one machine 8.",
            2,
            verbs=("explain",),
            metavar="N",
            python="partitions",
            python_default=None,
            min=1,
        ),
        Option(
            "split",
            SplitName | None,
            "Which parts of a mix are split over partitions: where it pays (`auto`, the default), or wherever it is "
            "exact.",
            verbs=("run", "explain"),
            python="split",
            key=Key("runtime", "split"),
        ),
        Option(
            "checkpoint",
            str | None,
            "A folder, or a URI such as `s3a://bucket/run`, in which a run keeps what it needs to go on after a crash "
            "or Ctrl-C, when the same command is run again; a file given with `--out` gets every answer exactly once.",
            metavar="DIR",
            key=Key("runtime", "checkpoint", "a file"),
        ),
        Option(
            "on_change",
            ChangeName | None,
            "When the program of a `--checkpoint` is another one now: `refuse` to go on (the default), or `begin` what "
            "has changed at the next tick and go on with the rest.",
            key=Key("runtime", "on_change"),
        ),
        Option(
            "checkpoint",
            str | None,
            "Without `--at`: the checkpoint of a run in one process, a folder or a URI, which may go on. It is asked "
            "at its last tick, and no stream is read.",
            verbs=("why",),
            metavar="DIR",
            python="checkpoint",
        ),
        Option(
            "checkpoint",
            str | None,
            "The checkpoint of a run in one process: shows, in place of the plan, what of the run would go on with "
            "these programs and what would begin (`--on-change begin`), and why.",
            verbs=("explain",),
            metavar="DIR",
        ),
        Option(
            "jars",
            list[str] | None,
            "An additional jar for Spark.",
            metavar="FILE",
            key=Key("runtime", "jar", "a list of files"),
            word="--jar",
        ),
        Option(
            "conf",
            list[str] | None,
            "A setting of Spark, such as `spark.executor.memory=4g`; repeatable. It counts before all others.",
            metavar="KEY=VALUE",
            python="conf",
            key=Key("runtime", "conf", "a table of settings"),
        ),
        Option(
            "archive",
            str | None,
            "A packed Python environment (`env.tar.gz`) that Spark sends to the machines of a cluster, and runs there.",
            metavar="FILE",
            python="archive",
            key=Key("runtime", "archive", "a file"),
        ),
        Option(
            "memory",
            str | None,
            "Budget such as `32M`, on Spark for each bucket; over it facts are shed and answers marked partial.",
            kinds=("rules",),
            metavar="SIZE",
            python="memory",
            key=Key("runtime", "memory"),
        ),
    ),
)

IN_PYTHON: Final = {option.name: option for option in reversed(OPTIONS) if option.python is not None}
"""The options that Python has, by their parameter of the command line."""

PANELS: Final = {
    title: tuple(dict.fromkeys(option.name for option in OPTIONS if option.panel == title))
    for title in dict.fromkeys(option.panel for option in OPTIONS)
}
"""The parameters of the commands, by the title of their group in `--help`."""


def option_named(name: str, verb: str = "run") -> Option:
    """The row of a parameter of a verb."""
    return next(option for option in OPTIONS if option.name == name and verb in option.verbs)


def flags_for(kind: str) -> frozenset[str]:
    """The options that have a meaning for a kind of programs, as they are typed.

    >>> sorted(flags_for("rules"))
    ['--emit', '--memory']
    """
    return frozenset(option.flag for option in OPTIONS if kind in option.kinds)
