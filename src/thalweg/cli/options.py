"""The options that verbs share, each with what its help says."""

from pathlib import Path
from typing import Annotated, Literal

import typer

Programs = Annotated[
    list[Path],
    typer.Argument(
        metavar="PROGRAM",
        help="Rule programs (`.lars`), answer set programs (`.lp`) and ontologies "
        "(`.ttl .owl .rdf .nt .jsonld .ofn .omn`); many make one.",
    ),
]
Profile = Annotated[
    Literal["rdfs", "pd", "rl", "ql"],
    typer.Option(help="What an ontology means: RDFS, pD*, OWL 2 RL, or OWL 2 QL for instances."),
]
Window = Annotated[
    str,
    typer.Option(
        metavar="DURATION|TICKS", help="For ontologies: how long a triple of a stream counts after its own tick."
    ),
]
Inputs = Annotated[
    str | None, typer.Option(metavar="p/2,…", help="For `.lp`: what streams bring; else what no rule derives.")
]
SchemaStream = Annotated[
    bool,
    typer.Option(
        "--schema-stream",
        help="For ontologies: triples about classes and properties come on streams too; slower.",
    ),
]
Stream = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE|URI",
        help="Where facts come from: files (`.facts .jsonl .tnt .nq .trig .jsonld .csv`, also `.gz`, and `.parquet`), "
        "folders of them, `-` for standard input, `tcp://`, `mqtt://` or `kafka://`. Several are merged by time.",
    ),
]
Background = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Facts that hold at every tick: lines such as `road(a).`, or any RDF."),
]
Tick = Annotated[str, typer.Option(metavar="DURATION", help="How long a tick lasts: `1s`, `100ms`, `5 min`.")]
Delay = Annotated[
    str, typer.Option(metavar="DURATION|TICKS", help="How far events may come out of order without being late.")
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="T", help="First tick, or a timestamp; else that of the first event."),
]
As = Annotated[
    Literal["entailment", "consistency", "abstraction"],
    typer.Option("--as", help="For ontologies: tell what follows, or who contradicts them and why."),
]
Topology = Annotated[
    Literal["ntm", "ltm", "auto"] | None,
    typer.Option(
        help="For `--as consistency`: every disjoint pair in one bolt, classes that rise through bolts, or the "
        "cheapest way there is, which is the default.",
    ),
]
Bolts = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="For `ltm`: on how many bolts; for `auto`: on how many at most.")
]
Literals = Annotated[
    bool, typer.Option("--literals", help="For `pd`: literals get blank nodes that stand for them (rules lg-*).")
]
Witnesses = Annotated[
    bool, typer.Option("--witnesses", help="For `pd`: values that restrictions promise get blank nodes (pD*sv).")
]
Emit = Annotated[
    Literal["snapshot", "changes", "intervals"],
    typer.Option(
        help="`snapshot`: all that holds, every tick; `changes`: what began and what ended; "
        "`intervals`: each fact with its first and last tick, when it ends."
    ),
]
To = Annotated[
    str | None,
    typer.Option(metavar="T", help="Last tick, or a timestamp; else that of the last event."),
]
Windows = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION|TICKS|'N #'",
        help="For `.lp`: how long a window is, or of how many facts (`'100 #'`); else a tick. For ontologies: how "
        "long a triple of a stream counts after its own tick; else not at all.",
    ),
]
Keep = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION|TICKS",
        help="For ontologies: how long a triple of a stream counts after its own tick; else as `--window` says.",
    ),
]
Slide = Annotated[
    str | None,
    typer.Option(metavar="DURATION|TICKS|'N #'", help="For `.lp`: from window to window; else as long as a window."),
]
Models = Annotated[
    Literal["first", "all", "brave", "cautious"] | None,
    typer.Option(help="For `.lp`: one answer set (the default), all, or what holds in some or in all of them."),
]
SolveLimit = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="For `.lp`: time for a window; what takes longer is marked incomplete."),
]
Solver = Annotated[
    Literal["auto", "clingo", "engine"] | None,
    typer.Option(help="For `.lp`: `auto` takes the incremental engine where it can, and clingo elsewhere."),
]
Workers = Annotated[
    int | None, typer.Option(metavar="N", min=0, help="For `.lp`: processes that solve; else one for each core.")
]
Report = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="For `.lp`: what each part of the program had to do; `-` is standard error."),
]
Late = Annotated[
    str | None, typer.Option(metavar="FILE", help="Where late facts go, as lines of JSON; else they are counted.")
]
Out = Annotated[str | None, typer.Option(metavar="FILE|URI", help="Where answers go; else to the standard output.")]
Format = Annotated[
    Literal["jsonl", "atoms", "nquads", "jsonld"],
    typer.Option(help="Lines of JSON, facts such as `q(x) at 41.`, or RDF with its validity."),
]
OnError = Annotated[
    Literal["stop", "skip"],
    typer.Option(help="At a malformed line: answer what came before and stop, or report it and go on."),
]
Runtime = Annotated[
    Literal["embedded", "spark"], typer.Option(help="Where to run: in this process, or on Apache Spark.")
]
Master = Annotated[
    str | None, typer.Option(metavar="URL", help="Spark's master: `spark://host:7077`; else this machine.")
]
Partitions = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="How many partitions to spread over on Spark; else 2.")
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where a run on Spark keeps what it needs to be resumed after a crash."),
]
Jars = Annotated[
    list[str] | None, typer.Option("--jar", metavar="FILE", help="A jar that Spark needs besides its own.")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show what Spark writes to its log.")]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Budget such as `32M`, on Spark for each bucket; over it facts are shed and answers marked partial.",
    ),
]
AsTextOrData = Annotated[Literal["text", "json"], typer.Option(help="For people, or as data.")]
