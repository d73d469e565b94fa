"""The options that verbs share, each with what its help says."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Programs = Annotated[
    list[Path],
    typer.Argument(
        metavar="PROGRAM",
        help="Rule programs (`.lars`), answer set programs (`.lp`), continuous queries (`.rspql`) and ontologies "
        "(`.ttl .owl .rdf .nt .jsonld .ofn .omn`) and events (`.tw`), run together; or a deployment (`.toml`).",
    ),
]
Profile = Annotated[
    Literal["rdfs", "pd", "rl", "ql", "dl"] | None,
    typer.Option(
        help="What an ontology means: RDFS, pD*, OWL 2 RL, OWL 2 QL for instances, or OWL 2 DL for `--as abstraction`. "
        "By default RL, and DL for the events of a `.tw`."
    ),
]
Window = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION|TICKS", help="For ontologies: how long a streamed triple counts after its own tick."
    ),
]
Inputs = Annotated[
    str | None,
    typer.Option(
        metavar="p/2,…", help="For `.lp`: the only predicates that it takes from streams; by default all that it uses."
    ),
]
SchemaStream = Annotated[
    bool,
    typer.Option(
        "--schema-stream",
        help="For ontologies: triples about classes and properties may arrive on streams; slower.",
    ),
]
Stream = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE|URI",
        help="Where facts come from: files (`.facts .jsonl .json .tnt .nq .trig .jsonld .csv`, also `.gz`, and "
        "`.parquet`), folders of them, `-` for standard input, `tcp://`, `mqtt://`, `kafka://`, `http(s)://` or "
        "`ws(s)://`. Several are merged by time.",
    ),
]
Background = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Facts that hold at every tick: lines such as `road(a).`, any RDF, or a table with `--map`.",
    ),
]
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="'p(column, path.in.json) at column'",
        help="What facts the rows of a table or the messages of a device are: `temp(device_id, meta.temp) at ts`; "
        "repeatable. For a background without `at`.",
    ),
]
Tick = Annotated[str, typer.Option(metavar="DURATION", help="How long a tick lasts: `1s`, `100ms`, `5 min`.")]
Delay = Annotated[
    str, typer.Option(metavar="DURATION|TICKS", help="How far out of order events may arrive without being late.")
]
Zone = Annotated[
    str | None,
    typer.Option(
        metavar="ZONE",
        help="The time zone of times without one, of the output, and of hours and dates in rules: `Europe/Rome`; by "
        "default UTC.",
    ),
]
ClockOption = Annotated[
    Literal["events", "wall"],
    typer.Option(
        "--clock",
        help="What moves time on live streams: events, or the machine's clock, so that absence is noticed in silence.",
    ),
]
Idle = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION", help="A live stream that has been silent for so long no longer holds the others back."
    ),
]
MaxAhead = Annotated[
    str,
    typer.Option(
        metavar="DURATION",
        help="A row whose timestamp is further beyond the last one, on a live stream beyond the machine's clock, waits "
        "for three others, and is left out if most of them are before it.",
    ),
]
Times = Annotated[
    Literal["iso", "ticks"] | None,
    typer.Option(help="How ticks are written: as timestamps or as numbers; by default as the streams write them."),
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="T", help="First tick, or a timestamp; by default that of the first event."),
]
As = Annotated[
    Literal["entailment", "consistency", "abstraction"],
    typer.Option(
        "--as", help="For ontologies: output what follows, what contradicts them and why, or the classes of each event."
    ),
]


def _some_classes(given: str | None) -> str | None:
    if given is not None and not given.strip(" ,"):
        raise typer.BadParameter("it names no class; leave it out to output all classes")
    return given


Classes = Annotated[
    str | None,
    typer.Option(
        metavar="C,…",
        callback=_some_classes,
        help="For `--as abstraction`: the classes that are output, names or expressions in Manchester syntax such as "
        "`:A and (:w some xsd:double[> 3])`; by default all that not everything is in.",
    ),
]
Events = Annotated[
    list[str] | None,
    typer.Option(
        "--event",
        metavar="E",
        help="For `.tw`: an event that is output, as in `:Jam`, with what it needs and nothing else; repeatable. By "
        "default all that no other event is made of.",
    ),
]
Individuals = Annotated[
    Literal["subjects", "all"],
    typer.Option(
        help="For `--as abstraction`: the individuals of an event that are classified: the subjects of its triples, or "
        "all that it names, also as objects.",
    ),
]
Reasoner = Annotated[
    Literal["auto", "hermit", "none"],
    typer.Option(
        help="For `--as abstraction`: what decides where rules do not: HermiT where it is installed (`auto`), HermiT, "
        "or nothing; such events are then reported as undecided.",
    ),
]
Topology = Annotated[
    Literal["ntm", "ltm", "auto"] | None,
    typer.Option(
        help="For `--as consistency`: every disjoint pair in one bolt (`ntm`), a pipeline of bolts (`ltm`), or "
        "the cheapest (`auto`, the default).",
    ),
]
Bolts = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="For `ltm`: the number of bolts; for `auto`: the largest number.")
]
Literals = Annotated[
    bool, typer.Option("--literals", help="For `pd`: add blank nodes that stand for literals (rules lg-*).")
]
Witnesses = Annotated[
    bool,
    typer.Option("--witnesses", help="For `pd`: add blank nodes for the values that restrictions require (pD*sv)."),
]
Emit = Annotated[
    Literal["changes", "snapshot", "intervals"],
    typer.Option(
        help="`changes`: what begins and ends; `snapshot`: everything that holds, at every tick; "
        "`intervals`: each fact with its first and last tick, when it ends."
    ),
]
To = Annotated[
    str | None,
    typer.Option(metavar="T", help="Last tick, or a timestamp; by default that of the last event."),
]
Windows = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION|TICKS|'N #'",
        help="For `.lp`: the length of a window, in time or in facts (`'100 #'`); by default one tick. For ontologies "
        "without `.lp`: how long a streamed triple counts after its own tick; by default not at all.",
    ),
]
Keep = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION|TICKS",
        help="For ontologies: how long a streamed triple counts after its own tick; by default `--window`, or "
        "beside `.lp` not at all.",
    ),
]
Slide = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION|TICKS|'N #'", help="For `.lp`: from one window to the next; by default a window's length."
    ),
]
Models = Annotated[
    Literal["first", "all", "brave", "cautious"] | None,
    typer.Option(help="For `.lp`: one answer set (the default), all, or what holds in some or in all of them."),
]
SolveLimit = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION", help="For `.lp`: time limit for each window; one that takes longer is marked incomplete."
    ),
]
Solver = Annotated[
    Literal["auto", "clingo", "engine"] | None,
    typer.Option(help="For `.lp`: `auto` uses the incremental engine where possible, otherwise clingo."),
]
Workers = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, help="For `.lp`: number of solver processes; by default one for each core."),
]
Report = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="For `.lp`: write facts, seconds and answers of each piece of the program here; for `--as abstraction`, "
        "what decided how many events; `-` is standard error.",
    ),
]
Show = Annotated[
    str | None,
    typer.Option(
        metavar="p/1,…",
        help="The predicates that are output, such as `jam/1,ex:Camera/1`; by default what `#show` names, or all that "
        "is derived.",
    ),
]
Prefix = Annotated[
    list[str] | None,
    typer.Option(
        metavar="p=IRI",
        help="A prefix for IRIs that you type and read, besides those that the programs declare: `ex=http://ex.org/`.",
    ),
]
Late = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="File for late facts, as lines of JSON; by default they are only counted."),
]
Out = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|URI",
        help="Where answers go; by default standard output. Its ending says the format: `.jsonl .csv .parquet .nq`.",
    ),
]
AnswerFormat = Annotated[
    Literal["text", "jsonl", "atoms", "csv", "parquet", "nquads", "jsonld"] | None,
    typer.Option(
        "--format",
        help="Lines for people, lines of JSON, facts such as `q(x) at 41.`, tables, or RDF with its validity; by "
        "default what the ending of `--out` says, text on a terminal, and elsewhere `jsonl`.",
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw a timeline of the run: `.svg`, `.png`, or `.html` with zoom, search and proofs.",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Leave out the summary at the end, and what live runs warn of on the way.")
]
OnError = Annotated[
    Literal["stop", "skip"],
    typer.Option(help="At a malformed line: stop after answering what came before, or report it and continue."),
]
Runtime = Annotated[
    Literal["embedded", "spark"], typer.Option(help="Where to run: in this process, or on Apache Spark.")
]
Master = Annotated[
    str | None, typer.Option(metavar="URL", help="Spark's master: `spark://host:7077`; by default this machine.")
]
Partitions = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Number of partitions on Spark; by default 2.")
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="A folder in which a run keeps what it needs to go on after a crash or Ctrl-C, when the same command is "
        "run again; a file given with `--out` gets every answer exactly once.",
    ),
]
Jars = Annotated[list[str] | None, typer.Option("--jar", metavar="FILE", help="An additional jar for Spark.")]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        help="List everything that warnings count, and say of rules that never held how far they got; on Spark, "
        "also show its log.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Budget such as `32M`, on Spark for each bucket; over it facts are shed and answers marked partial.",
    ),
]
AsTextOrData = Annotated[Literal["text", "json"], typer.Option(help="As text for people, or as data.")]
