"""Commands that are refused, fail or warn: programs, data, options and files, of every family of diagnostics."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

FILES: Final = {
    "slow.lars": "slow(S) :- speed(S,V) in [10 sec], V < 20.\n",
    "other.lars": "slow(S) :- speed(S,V) in [9 sec], V < 20.\n",
    "readings.facts": "speed(a,12) at 0.\nspeed(b,35) at 3.\nspeed(b,15) at 4.\n",
    "broken.facts": "speed(a,12) at 0.\nspeed(b,\nspeed(b,15) at 4.\n",
    "broken-first.facts": "speed(a\nspeed(b,15) at 4.\n",
    "late.facts": "speed(a,1) at 9.\nspeed(b,2) at 3.\nspeed(c,3) at 9.\nspeed(d,4) at 9.\n",
    "mostly-late.facts": "speed(a,1) at 9.\nspeed(b,2) at 3.\nspeed(c,3) at 3.\nspeed(d,4) at 2.\n",
    "misspelt.facts": "sped(a,12) at 0.\n",
    "texts.facts": 'speed(a,"n/a") at 0.\nspeed(b,"12") at 1.\n',
    "fast.facts": "speed(a,90) at 0.\nspeed(b,70) at 1.\n",
    "derived.facts": "slow(z) at 1.\nspeed(a,12) at 2.\n",
    "times.jsonl": '{"t":"2026-11-15T08:00:00Z","facts":["speed(a,1)"]}\n{"t":5,"facts":["speed(a,2)"]}\n',
    "table.csv": (
        "ts,device,temp\n2026-11-15T08:00:00Z,a,21\n2026-11-15T08:00:01Z,b,\n2093-08-02T00:00:00Z,c,3\n"
        "2026-11-15T08:00:02Z,a,22\n2026-11-15T08:00:03Z,a,23\n2026-11-15T08:00:04Z,a,24\n"
    ),
    "local.csv": "ts,device,temp\n2026-11-15 08:00:00,a,21\n2026-11-15 08:00:01,b,30\n",
    "hot.lars": "hot(D) :- temp(D,V), V > 20.\n",
    "deep.lars": f"a :- p(X), X = {'(' * 300}1{')' * 300}.\n",
    "pair.lars": "slow(S) :- speed(S,V), V < 10.\n",
    "loop.lars": "busy(R) :- on(C,R).\nbusy(R) :- green(R).\n",
    "lights.lp": "green(R) :- busy(R), not closed(R). #show green/1.\n",
    "wrong.lp": "green(R) :- busy(R, not closed(R).\n",
    "unsafe.lp": "green(R) :- not closed(R).\n",
    "constants.lp": "#const n = 1.\n#const n = 2.\na(n).\n",
    "steps.lp": "step(f(R)) :- on(_,R). step(R) :- on(_,R).\n",
    "reads.lars": "next(X) :- step(X).\n",
    "on.facts": "on(c,a) at 1.\nclosed(b) at 2.\ngreen(q) at 3.\n",
    "far.facts": "on(c,a) at 1.\non(c,b) at 5000.\n",
    "includes.lp": '#include "../secret.lp".\na.\n',
    "query.rspql": (
        "PREFIX : <http://ex/>\nSELECT ?s ?v FROM NAMED WINDOW :w ON STREAM :triples [RANGE 5s, SLIDE 2s]\n"
        "WHERE { WINDOW :w { ?s :value ?v } }\n"
    ),
    "long.rspql": (
        "PREFIX : <http://ex/>\nSELECT ?s ?v FROM NAMED WINDOW :w ON STREAM :triples [RANGE 60s, SLIDE 60s]\n"
        "WHERE { WINDOW :w { ?s :value ?v } }\n"
    ),
    "unused.rspql": (
        "PREFIX : <http://ex/>\nSELECT ?s ?v FROM NAMED WINDOW :w ON STREAM :triples [RANGE 5s, SLIDE 2s]\n"
        "FROM NAMED WINDOW :x ON STREAM :triples [RANGE 5s, SLIDE 2s]\nWHERE { WINDOW :w { ?s :value ?v } }\n"
    ),
    "undeclared.rspql": "PREFIX : <http://ex/>\nSELECT ?s WHERE { WINDOW :w { ?s :value ?v } }\n",
    "triples.facts": (
        "<http://ex/value>(<http://ex/a>,3) at 1.\nodd(a,b,c) at 2.\n<http://ex/value>(<http://ex/a>,4) at 5.\n"
    ),
    "zoo.ttl": (
        "@prefix : <http://zoo/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ":Cat rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :eats ; owl:someValuesFrom :Fish ] .\n"
        ":Animal owl:disjointWith :Person . :Sphinx rdfs:subClassOf :Animal , :Person .\n"
    ),
    "zoo.tnt": (
        "1 <http://zoo/tom> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://zoo/Sphinx> .\n"
        "2 <http://zoo/Dog> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://zoo/Animal> .\n"
    ),
    "broken.ttl": "@prefix : <http://zoo/> . :a :b\n",
    "city.ofn": (
        "Prefix(:=<http://ex/>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)\n"
        "Ontology(Declaration(ObjectProperty(:in)) Declaration(DataProperty(:value)) DisjointClasses(:Road :Sensor)\n"
        "  SubClassOf(DataSomeValuesFrom(:value DatatypeRestriction(xsd:double xsd:minInclusive "
        '"0.5"^^xsd:double)) :High))\n'
    ),
    "city.nt": (
        "<http://ex/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Road> .\n"
        "<http://ex/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex/Sensor> .\n"
    ),
    "wrong-class.tw": "PREFIX : <http://ex/>\nNAMED EVENT :A AS :Reading and (:in some xsd:double)\n",
    "never.tw": "PREFIX : <http://ex/>\nNAMED EVENT :A AS :Road and :Sensor\n",
    "pattern.tw": (
        "PREFIX : <http://ex/>\nNAMED EVENT :A AS :High\nNAMED EVENT :B { MATCH EVERY :A SEQ :A WITHIN (3 s) }\n"
    ),
    "values.nq": (
        '<http://ex/g> <http://www.w3.org/ns/prov#generatedAtTime> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        '<http://ex/o> <http://ex/value> "0.7"^^<http://www.w3.org/2001/XMLSchema#decimal> <http://ex/g> .\n'
    ),
    "key.toml": 'program = "slow.lars"\n[time]\ntik = "1s"\n',
    "kind.toml": 'program = ["slow.lars"]\n[streams.readings]\nfrom = "readings.facts"\n[runtime]\nkind = "flink"\n',
    "good.toml": 'program = ["slow.lars"]\n[streams.readings]\nfrom = "readings.facts"\n[time]\nto = 16\n',
    "broken.toml": "programs = [\n",
    "program.txt": "slow(S).\n",
    "many.facts": "".join(f"speed(s{each},{each % 40}) at {each // 50}.\n" for each in range(2_000)),
    "wide.lars": "pair(S,T) :- speed(S,V) in [40], speed(T,V) in [40].\n",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A command with its words, and the files that it may write."""

    name: str
    words: tuple[str, ...]
    writes: tuple[str, ...] = field(default=())


def _fault(name: str, line: str, *more: str, writes: tuple[str, ...] = ()) -> Fault:
    return Fault(name, (*line.split(), *more), writes)


_SLOW: Final = "run slow.lars --stream readings.facts"

FAULTS: Final[Sequence[Fault]] = (
    # Usage.
    _fault("no-verb", "walk slow.lars"),
    _fault("no-program", "run"),
    _fault("no-stream", "run slow.lars"),
    _fault("unknown-option", f"{_SLOW} --colour"),
    _fault("unknown-emit", f"{_SLOW} --emit all"),
    _fault("unknown-format", f"{_SLOW} --format xml"),
    _fault("unknown-runtime", f"{_SLOW} --runtime flink"),
    _fault("no-partitions", f"{_SLOW} --runtime spark --partitions 0"),
    _fault("partitions-in-one-process", f"{_SLOW} --partitions 2"),
    _fault("master-in-one-process", f"{_SLOW} --master local[2]"),
    _fault("parquet-without-file", f"{_SLOW} --format parquet"),
    _fault("negative-delay", f"{_SLOW} --delay=-1"),
    _fault("no-tick", f"{_SLOW} --tick 0s"),
    _fault("wrong-tick", f"{_SLOW} --tick soon"),
    _fault("wrong-from", f"{_SLOW} --from yesterday"),
    _fault("from-behind-to", f"{_SLOW} --from 9 --to 3"),
    _fault("wrong-zone", f"{_SLOW} --zone Mars/Olympus"),
    _fault("wrong-memory", f"{_SLOW} --memory much"),
    _fault("wrong-prefix", f"{_SLOW} --prefix ex"),
    _fault("unknown-shown", f"{_SLOW} --show jam/1"),
    _fault("models-of-rules", f"{_SLOW} --models all"),
    _fault("slide-of-rules", f"{_SLOW} --slide 2"),
    _fault("event-of-rules", f"{_SLOW} --event :A"),
    _fault("profile-of-rules", f"{_SLOW} --profile rl"),
    _fault("consistency-of-rules", f"{_SLOW} --as consistency"),
    _fault("out-in-no-folder", f"{_SLOW} --out nowhere/answers.jsonl"),
    _fault("picture-of-no-kind", f"{_SLOW} --picture answers.bmp"),
    _fault("wrong-master", f"{_SLOW} --runtime spark --master nonsense"),
    _fault("workers-on-spark", "run lights.lp --stream on.facts --runtime spark --workers 2"),
    # Files and connections.
    _fault("missing-program", "run nowhere.lars --stream readings.facts"),
    _fault("missing-stream", "run slow.lars --stream nowhere.facts"),
    _fault("missing-background", f"{_SLOW} --background nowhere.facts"),
    _fault("program-of-no-kind", "run program.txt --stream readings.facts"),
    _fault("stream-of-no-kind", "run slow.lars --stream program.txt"),
    _fault("no-connection", "run slow.lars --stream tcp://127.0.0.1:1"),
    _fault("check-missing", "check nowhere.lars"),
    _fault("check-json", "check pair.lars deep.lars --format json"),
    _fault("derived-twice", "check slow.lars pair.lars"),
    # Streams.
    _fault("malformed", "run slow.lars --stream broken.facts"),
    _fault("malformed-first", "run slow.lars --stream broken-first.facts"),
    _fault("malformed-skipped", "run slow.lars --stream broken.facts --on-error skip"),
    _fault("late", "run slow.lars --stream late.facts"),
    _fault("late-kept", "run slow.lars --stream late.facts --late kept.jsonl", writes=("kept.jsonl",)),
    _fault("late-verbose", "run slow.lars --stream late.facts --verbose"),
    _fault("mostly-late", "run slow.lars --stream mostly-late.facts"),
    _fault("never-came", "run slow.lars --stream misspelt.facts"),
    _fault("texts", "run slow.lars --stream texts.facts"),
    _fault("never-held", "run slow.lars --stream fast.facts --verbose"),
    _fault("derived-came", "run slow.lars --stream derived.facts"),
    _fault("ticks-and-times", "run slow.lars --stream times.jsonl"),
    _fault("nested", "check deep.lars"),
    _fault("budget", "run wide.lars --stream many.facts --memory 1MB --quiet"),
    # Tables and mappings.
    _fault("no-mapping", "run hot.lars --stream table.csv"),
    _fault("wrong-mapping", "run hot.lars --stream table.csv --map", "temp(device temp) at ts"),
    _fault("unfit-mapping", "run hot.lars --stream table.csv --map", "temp(device, tmp) at ts"),
    _fault("mapping-without-time", "run hot.lars --stream table.csv --map", "temp(device, temp)"),
    _fault("empty-cells-and-far-times", "run hot.lars --stream table.csv --map", "temp(device, temp) at ts"),
    _fault("no-zone", "run hot.lars --stream local.csv --map", "temp(device, temp) at ts"),
    _fault("unread-mapping", "run hot.lars --stream table.csv --map", "tempp(device, temp) at ts"),
    _fault("init-of-no-table", "init program.txt"),
    _fault("timeline-of-no-answers", "timeline readings.facts"),
    # Answer sets.
    _fault("solver-syntax", "run wrong.lp --stream on.facts"),
    _fault("solver-safety", "check unsafe.lp"),
    _fault("solver-constants", "check constants.lp"),
    _fault("include-outside", "check includes.lp"),
    _fault("loop", "run loop.lars lights.lp --stream on.facts"),
    _fault("unreadable-terms", "run reads.lars steps.lp --stream on.facts"),
    _fault("no-input", "run lights.lp --stream on.facts --window 2 --slide 1"),
    _fault("empty-windows", "run lights.lp --stream far.facts --window 1 --slide 1 --inputs on/2 --quiet"),
    _fault("several-models-as-table", "run lights.lp --stream on.facts --models all --format nquads"),
    _fault("several-models-for-rules", "run reads.lars steps.lp --stream on.facts --models all"),
    # Queries.
    _fault("unknown-stream", "run query.rspql --stream readings.facts"),
    _fault("not-a-triple", "run query.rspql --stream triples.facts"),
    _fault("never-closes", "run long.rspql --stream triples.facts"),
    _fault("unused-window", "check unused.rspql"),
    _fault("undeclared-window", "check undeclared.rspql"),
    # Ontologies and events.
    _fault("ontology-syntax", "check broken.ttl"),
    _fault("outside-the-profile", "check zoo.ttl --verbose"),
    _fault("schema-on-a-stream", "run zoo.ttl --stream zoo.tnt"),
    _fault("no-window", "run zoo.ttl --stream zoo.tnt --as consistency"),
    _fault("clashes-as-quads", "run zoo.ttl --stream zoo.tnt --as consistency --window 3 --format nquads"),
    _fault("few-groups", "explain zoo.ttl --as consistency --topology ltm --bolts 9"),
    _fault("contradictory-background", "run pattern.tw city.ofn --background city.nt --stream values.nq --event :B"),
    _fault("unknown-class", "check wrong-class.tw city.ofn"),
    _fault("impossible-event", "check never.tw city.ofn"),
    _fault("other-datatype", "run pattern.tw city.ofn --stream values.nq"),
    _fault("unknown-event", "run pattern.tw city.ofn --stream values.nq --event :C"),
    # Questions.
    _fault("why-not", "why slow.lars slow(b) --at 3 --stream readings.facts"),
    _fault("why-unknown", "why slow.lars jam(b) --at 3 --stream readings.facts"),
    _fault("why-not-json", "why slow.lars slow(b) --at 3 --stream readings.facts --format json"),
    _fault("why-without-tick", "why slow.lars slow(b) --stream readings.facts"),
    _fault("why-of-nonsense", "why slow.lars slow(b --at 3 --stream readings.facts"),
    _fault("why-live", "why slow.lars slow(b) --at 3 --stream mqtt://localhost/x"),
    # Deployments.
    _fault("unknown-key", "run key.toml"),
    _fault("unknown-value", "run kind.toml"),
    _fault("broken-deployment", "run broken.toml"),
    _fault("deployment", "run good.toml"),
    _fault("deployment-and-program", "run good.toml slow.lars"),
    # Checkpoints: in this order.
    _fault("checkpoint", f"{_SLOW} --checkpoint saved --out saved.jsonl", writes=("saved.jsonl",)),
    _fault("checkpoint-complete", f"{_SLOW} --checkpoint saved --out saved.jsonl", writes=("saved.jsonl",)),
    _fault("checkpoint-of-another", "run other.lars --stream readings.facts --checkpoint saved --out saved.jsonl"),
    _fault("checkpoint-elsewhere", f"{_SLOW} --checkpoint saved --out elsewhere.jsonl"),
    _fault("checkpoint-asked", "why slow.lars slow(b) --checkpoint saved"),
    _fault("checkpoint-not-there", "why slow.lars slow(b) --checkpoint nowhere"),
)
