"""Programs of every kind, alone and together, with their streams: what `golden_bytes.py` runs besides pages and docs.

All of it is written here, or drawn from a seeded generator, so that it stays as it is whatever becomes of other tests.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

_TYPE: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_AT: Final = "<http://www.w3.org/ns/prov#generatedAtTime>"
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_OWL: Final = """@prefix : <http://ex/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """Programs and streams as files, the words of a command that runs them, and questions for `why` with their ticks.

    `shape` are words of `run` alone, `meaning` words of `explain`, too, and `known` words of every verb. `emits` are
    the kinds of output that the plan has; Spark runs only some plans with each of them.
    """

    name: str
    files: dict[str, str]
    programs: tuple[str, ...]
    streams: tuple[str, ...]
    shape: tuple[str, ...] = ()
    meaning: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    questions: tuple[tuple[str, str], ...] = ()
    emits: tuple[str, ...] = ("changes",)
    writes: tuple[str, ...] = ()


# Streams ----------------------------------------------------------------------------------------------------------


def readings(seed: int, ticks: int, count: int, make: Callable[[Random, int], str], disorder: int = 0) -> str:
    """Facts with times, `count` a tick, each up to `disorder` ticks behind, and a few of them late."""
    random = Random(seed)
    lines = []
    for tick in range(ticks):
        for _ in range(count):
            behind = random.choice((0, 0, *range(disorder + 1))) if random.random() > 0.01 * disorder else disorder + 2
            lines.append(f"{make(random, tick)} at {max(0, tick - behind)}.\n")
    return "".join(lines)


def _city(random: Random, _: int) -> str:
    if random.random() < 0.2:
        return f"light(r{random.randrange(8)},{random.randrange(9)})"
    return f"speed(s{random.randrange(20)},{random.randrange(80)})"


def _roads(random: Random, tick: int) -> str:
    road, number = f"<http://ex/r{random.randrange(7)}>", random.randrange(60)
    facts = (
        f"speed>({road},{number})",
        f"load>({road},{number % 9})",
        f"closed>({road})",
        f"opened>({road})",
        f"Closed>({road})",
        f"load>({road},{tick})",
    )
    return f"<http://ex/{random.choices(facts, (5, 3, 1, 1, 1, 2))[0]}"


def _works(random: Random, _: int) -> str:
    road, sensor, car = f"r{random.randrange(5)}", f"s{random.randrange(6)}", f"c{random.randrange(4)}"
    facts = (
        f"speed({sensor},{random.randrange(40)})",
        f"on({sensor},{road})",
        f"works({road})",
        f"done({road})",
        f"parked({car})",
        f"noted({car})",
    )
    return random.choice(facts)


def _cars(random: Random, _: int) -> str:
    road, car = random.choice("abc"), f"<http://city.org/c{random.randrange(5)}>"
    facts = f"at({car},{road})", f"<http://city.org/Ambulance>({car})", f"<http://city.org/Bus>({car})"
    return random.choices(facts, (6, 1, 1))[0]


def _hot(random: Random, _: int) -> str:
    return f"<http://city.org/value>(<http://city.org/s{random.randrange(3)}>,{random.randrange(20, 50)})"


def _switches(random: Random, _: int) -> str:
    return f"on({random.choice('cde')},{random.choice('ab')})"


def events(seed: int, count: int, rooms: int = 9) -> str:
    """Readings of rooms as graphs with times; some are out of order, and some contradict `SITE`."""
    random, lines = Random(seed), []
    for number in range(count):
        graph, reading = f"<http://ex/g{number}>", f"<http://ex/o{number}>"
        subject = random.choice(("<http://ex/r1>", *(5 * (reading,))))
        lines += [
            f"{graph} {_AT} {_integer(number // 3 + random.choice((0, 0, 0, 2)))} .",
            f"{subject} {_TYPE} <http://ex/Reading> {graph} .",
            f"{reading} <http://ex/in> <http://ex/r{random.randrange(rooms)}> {graph} .",
            f"{reading} <http://ex/celsius> {_integer(random.randrange(40))} {graph} .",
        ]
    return "\n".join(lines) + "\n"


def cars(seed: int, count: int) -> str:
    """Readings of cars by sensors as graphs with times; some contradict `CARS`."""
    random, lines = Random(seed), []
    for number in range(count):
        graph, reading = f"<http://ex/g{number}>", f"<http://ex/o{number}>"
        sensor = reading if random.random() < 0.02 else f"<http://ex/s{random.randrange(12)}>"
        lines += [
            f"{graph} {_AT} {_integer(number // 4)} .",
            f"{reading} {_TYPE} <http://ex/Reading> {graph} .",
            f"{reading} <http://ex/speed> {_integer(random.randrange(80))} {graph} .",
            f"{reading} <http://ex/by> {sensor} {graph} .",
        ]
    return "\n".join(lines) + "\n"


def _integer(number: int) -> str:
    return f'"{number}"^^<{_XSD}integer>'


def statements() -> str:
    """Thirty people, each in some classes at some ticks, and what relates them, as triples with ticks."""
    kinds = ("Student", "Faculty", "Admin", "Work", "Employee", "Person")
    lines = [
        f"{tick} <http://ex/p{tick * 7 % 30}> {_TYPE} <http://ex/{kinds[tick * step % 6]}> ."
        for tick in range(60)
        for step in (1, 2)
    ]
    for tick in range(0, 60, 3):
        person, other = f"<http://ex/p{tick % 30}>", f"<http://ex/p{tick % 5}>"
        verb = ("teaches", "likes", "fears", "manages")[tick // 3 % 4]
        lines += [f"{tick} {person} <http://ex/{verb}> {other} .", f"{tick} {other} <http://ex/{verb}> {person} ."]
        lines.append(f"{tick + 1} {person} <http://ex/fears> {other} .")
    return "\n".join(sorted(lines, key=lambda line: int(line.split()[0]))) + "\n"


# Programs ---------------------------------------------------------------------------------------------------------

_KEYED: Final = """slow(R)   :- speed(S,V) in [5], on(S,R), V < 20.
jam(R)    :- slow(R), not light(R,_) in [3].
dark(R,N) :- slow(R), N = count{L : light(R,L) in [40]}, N < 3.
"""
_ON: Final = "".join(f"on(s{sensor},r{sensor % 8}).\n" for sensor in range(20))
_LOOKING_BACK: Final = """#record hot/1.
hot(S)      :- speed(S,V), V > 70.
hot(S)      :- hot(S) before [1], speed(S,V) in [3], V > 50.
mean(S,M)   :- hot(S), M = avg{V : speed(S,V) in [6]}.
fastest(S)  :- speed(S,V), V = max{W : speed(T,W)}.
near(S,T)   :- speed(S,V) in [2], speed(T,V) in [2], S < T.
near(S,U)   :- near(S,T), near(T,U).
steady(S)   :- speed(S,V) in [4 #].
quiet       :- not speed(_,_) in [1].
"""
_PIECES_ALONE: Final = """slow(S) :- speed(S,V), V < 20, not speed(S,79).
dim(R)  :- light(R,L), L < 4, not light(R,8).
{ visit(R) : light(R,0) } 1.
:- visit(R), light(R,5).
"""
_OPTIMUM: Final = """1 { pick(S) : speed(S,_) } 1 :- speed(_,_).
:~ pick(S), speed(S,V). [V@1,S]
#show pick/1.
"""
_PAIRS: Final = """PREFIX : <http://ex/>
REGISTER ISTREAM :pairs AS SELECT ?r ?v ?w FROM NAMED WINDOW :w ON STREAM :readings [RANGE 5s, SLIDE 2s]
WHERE { WINDOW :w { ?r :speed ?v . ?r :load ?w FILTER(?v > 20) FILTER NOT EXISTS { ?r a :Closed } } }
"""
_COUNTS: Final = """PREFIX : <http://ex/>
SELECT ?r (COUNT(*) AS ?n) (AVG(?v) AS ?mean) FROM NAMED WINDOW :w ON STREAM :readings [RANGE 6s, SLIDE 2s]
WHERE { WINDOW :w { ?r :speed ?v } } GROUP BY ?r ORDER BY DESC(?n) ?r LIMIT 3
"""
_OPTIONAL: Final = """PREFIX : <http://ex/>
REGISTER DSTREAM :gone AS SELECT ?r ?v ?name FROM NAMED WINDOW :w ON STREAM :readings [RANGE 4s, SLIDE 1s]
WHERE { WINDOW :w { ?r :speed ?v } OPTIONAL { ?r :name ?name } FILTER(?v > 30) }
"""
_MADE: Final = """PREFIX : <http://ex/>
REGISTER RSTREAM :made AS CONSTRUCT { ?r :fast ?v } FROM NAMED WINDOW :w ON STREAM :readings [RANGE 4s, SLIDE 3s]
WHERE { WINDOW :w { ?r :speed ?v . FILTER(?v > 20) } }
"""
_LATER: Final = """PREFIX : <http://ex/>
SELECT ?r (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON STREAM :rules [RANGE 6s, SLIDE 2s]
WHERE { WINDOW :w { ?r a ?c } } GROUP BY ?r
"""
_NAMES: Final = "".join(f'<http://ex/r{road}> <http://ex/name> "road {road}" .\n' for road in range(4))
SITE: Final = """Prefix(:=<http://ex/>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(
  Declaration(DataProperty(:celsius)) DisjointClasses(:Reading :Room) ClassAssertion(:Room :r1)
  EquivalentClasses(:HotReading ObjectIntersectionOf(:Reading
    DataSomeValuesFrom(:celsius DatatypeRestriction(xsd:decimal xsd:minInclusive "20"^^xsd:integer))))
  SubClassOf(:Reading ObjectUnionOf(:Wet :Dry)) SubClassOf(:Wet :Damp) SubClassOf(:Dry :Damp)
)
"""
COOLING: Final = """PREFIX : <http://ex/>
NAMED EVENT :Hot  AS :HotReading
NAMED EVENT :Cold AS :Reading and (:celsius some xsd:decimal[< 20])
NAMED EVENT :Cooling { MATCH EVERY :Hot SEQ :Cold WITHIN (10 s)
  IF { EVENT :Hot { ?h :in ?room } EVENT :Cold { ?c :in ?room } } }
NAMED EVENT :Stays { MATCH EVERY :Cooling SEQ NOT :Hot WITHIN (12 s)
  IF { EVENT :Cooling { ?x :in ?room } EVENT :Hot { ?h :in ?room } } }
"""
CARS: Final = """Prefix(:=<http://ex/>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(Declaration(DataProperty(:speed)) DisjointClasses(:Reading :Sensor) ObjectPropertyRange(:by :Sensor))
"""
BRAKING: Final = """PREFIX : <http://ex/>
NAMED EVENT :Slow AS :Reading and (:speed some xsd:integer[< 20])
NAMED EVENT :Fast AS :Reading and (:speed some xsd:integer[> 60])
NAMED EVENT :Braking { MATCH EVERY :Fast SEQ :Slow WITHIN (5 s)
  IF { EVENT :Fast { ?f :by ?s . ?s :on ?road } EVENT :Slow { ?o :by ?t . ?t :on ?road } } }
NAMED EVENT :Jam { MATCH EVERY :Braking SEQ NOT :Fast WITHIN (9 s)
  IF { EVENT :Braking { ?o :by ?s . ?s :on ?road } EVENT :Fast { ?f :by ?t . ?t :on ?road } } }
NAMED EVENT :Worse { MATCH LAST :Jam SEQ :Jam WITHIN (22 s) }
"""
_SENSORS: Final = "".join(f"<http://ex/s{each}> <http://ex/on> <http://ex/r{each % 5}> .\n" for each in range(12))
_STAFF: Final = f"""{_OWL}:Student rdfs:subClassOf :Person . :Employee rdfs:subClassOf :Person .
:Faculty rdfs:subClassOf :Employee . :Admin rdfs:subClassOf :Employee .
:Person owl:disjointWith :Work . :Student owl:disjointWith :Employee . :Faculty owl:disjointWith :Admin .
:Student owl:disjointWith :Faculty .
:teaches rdfs:domain :Faculty ; rdfs:range :Work . :likes owl:propertyDisjointWith :fears .
:manages a owl:AsymmetricProperty .
"""
_SCHOOL: Final = f"""{_OWL}:Student rdfs:subClassOf :Person . :Faculty rdfs:subClassOf :Person .
:teaches rdfs:domain :Teacher ; rdfs:range :Course ; owl:inverseOf :taughtBy .
:likes a owl:SymmetricProperty ; rdfs:subPropertyOf :near . :manages a owl:TransitiveProperty .
:Busy owl:equivalentClass [ a owl:Restriction ; owl:onProperty :teaches ; owl:someValuesFrom :Course ] .
:p1 owl:sameAs :first . :p1 :manages :p2 .
"""
_ACTING: Final = """@prefix : <http://ex/> .
:slow(R)  :- :speed(R,V) in [2], V < 30.
:watch(R) :- :slow(R), :fast(R,V) in [5].
:move(R)  :- :speed(R,V) in [3], ex_go(R).
:calm(R)  :- :fast(R,V) from made in [4], not :slow(R).
"""
_CHOOSING: Final = "#prefix ex: <http://ex/>. 1 { ex_go(R) : ex_slow(R) } 1 :- ex_slow(_). #show ex_go/1.\n"
_RAISED: Final = """@prefix : <http://ex/> .
slow(R) :- :speed(R,V) in [3], V < 30.
calm(R) :- slow(R), not busy(R), not shut(R).
"""
_PIECES: Final = """#prefix ex: <http://ex/>.
busy(R) :- ex_load(R,N), N > 5, not ex_load(R,0).
shut(R) :- ex_closed(R), not ex_opened(R). 1 { pick(R) : ex_closed(R) } 1.
#show busy/1. #show shut/1. #show pick/1.
"""
_BESIDE_CARS: Final = """@prefix : <http://ex/> .
slow(S)  :- :speed(O,V) in [5], :by(O,S) in [5], V < 20.
jam(R)   :- :Jam_road(E,R) in [9], not calm(R).
calm(R)  :- first(S), :on(S,R), not slow(S).
meet(S)  :- slow(S), seen(S) in [4], not first(S).
"""
_CHOICE_OF_CARS: Final = """#prefix ex: <http://ex/>.
fast(O) :- ex_speed(O,V), V > 70.
seen(S) :- ex_by(O,S), not ex_by(O,ex_s1).
first(ex_s2) :- ex_by(O,ex_s2).
#show seen/1. #show first/1. #show fast/1.
"""
_WAITING: Final = """@prefix : <http://city.org/> .
waiting(R) :- at(C,R) in [2].
urgent(R)  :- at(C,R) in [2], :Urgent(C).
go(C)      :- at(C,R) in [2], green(R).
"""
_LIGHTS: Final = "1 { green(R) : waiting(R) } 1 :- waiting(_).\n:~ urgent(R), not green(R). [1,R]\n#show green/1.\n"
_VEHICLES: Final = """@prefix : <http://city.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Ambulance rdfs:subClassOf :Urgent .   :FireEngine rdfs:subClassOf :Urgent .
"""
_HOT_QUERY: Final = """PREFIX : <http://city.org/>
REGISTER RSTREAM :hot AS CONSTRUCT { ?sensor :above ?value }
FROM NAMED WINDOW :w ON STREAM :readings [RANGE 3s, SLIDE 3s]
WHERE { WINDOW :w { ?sensor :value ?value FILTER(?value > 30) } }
"""
_ALARMS: Final = """@prefix : <http://city.org/> .
:alarm(S) :- :above(S,V) from hot in [4], :above(S,W) from hot, V < W.
"""
_ALARMED: Final = """PREFIX : <http://city.org/>
SELECT ?sensor FROM NAMED WINDOW :w ON STREAM :alarms [RANGE 6s, SLIDE 6s]
WHERE { WINDOW :w { ?sensor a :alarm } }
"""
_TURNS: Final = "#record green/1. busy(R) :- on(C,R) in [3]. last(R) :- green(R) before [1].\n"
_TURN: Final = "1 { green(R) : busy(R) } 1 :- busy(_). :- green(R), last(R), busy(X), X != R. #show green/1.\n"
_STAGED: Final = "slow(R) :- speed(S,V) in [5], on(S,R), V < 20. go(R) :- slow(R), not closed(R).\n"
_SOLVED: Final = "closed(R) :- works(R), not done(R). tow(C) :- parked(C), noted(C).\n"
_OF_EVENTS: Final = """@prefix : <http://ex/> .
hot(E) :- :Hot(E). stays(E) :- :Stays(E) in [2]. warm(R) :- :in(O,R) in [6], :celsius(O,V) in [6], V > 25.
:HotReading(R) :- warm(R).
"""
_ROOMS: Final = """PREFIX : <http://ex/>
REGISTER RSTREAM :crowd AS CONSTRUCT { ?r :warmest ?most } FROM NAMED WINDOW :w ON STREAM :events [RANGE 6s, SLIDE 3s]
WHERE { { SELECT ?r (MAX(?v) AS ?most) WHERE { WINDOW :w { ?o :in ?r . ?o :celsius ?v } } GROUP BY ?r } }
"""
_FIVE_RULES: Final = """@prefix : <http://ex/> .
warm(R)  :- :warmest(R,V) from crowd in [4], V > 30.
cools(R) :- :Cooling_room(E,R) in [5].
vent(R)  :- open(R), not cools(R).
"""
_FIVE_CHOICE: Final = "1 { open(R) : warm(R) } 2 :- warm(_). #show open/1.\n"

ALONE: Final[Sequence[Plan]] = (
    Plan(
        "rules-by-key",
        {"program.lars": _KEYED, "city.facts": _ON, "readings.facts": readings(1, 60, 8, _city, 3)},
        ("program.lars",),
        ("readings.facts",),
        shape=("--delay", "3", "--late", "late.jsonl"),
        known=("--background", "city.facts"),
        questions=(("slow(r1)", "30"), ("jam(r2)", "20"), ("dark(r3,0)", "12"), ("jam(nowhere)", "9")),
        emits=("changes", "snapshot", "intervals"),
        writes=("late.jsonl",),
    ),
    Plan(
        "rules-in-order",
        {"program.lars": _KEYED, "city.facts": _ON, "readings.facts": readings(23, 60, 8, _city)},
        ("program.lars",),
        ("readings.facts",),
        known=("--background", "city.facts"),
        questions=(("slow(r1)", "30"),),
        emits=("changes",),
    ),
    Plan(
        "rules-that-look-back",
        {"program.lars": _LOOKING_BACK, "readings.facts": readings(2, 40, 5, _city)},
        ("program.lars",),
        ("readings.facts",),
        shape=("--to", "44"),
        questions=(("hot(s1)", "20"), ("quiet", "42"), ("near(s1,s2)", "30")),
        emits=("changes", "snapshot", "intervals"),
    ),
    Plan(
        "pieces-all-models",
        {"program.lp": _PIECES_ALONE, "readings.facts": readings(3, 40, 6, _city, 2)},
        ("program.lp",),
        ("readings.facts",),
        shape=("--window", "5", "--slide", "3", "--models", "all", "--delay", "2"),
    ),
    Plan(
        "pieces-first-model",
        {"program.lp": _PIECES_ALONE, "readings.facts": readings(3, 40, 6, _city)},
        ("program.lp",),
        ("readings.facts",),
        shape=("--window", "4", "--slide", "4", "--models", "first"),
    ),
    Plan(
        "pieces-brave",
        {"program.lp": _PIECES_ALONE, "readings.facts": readings(4, 30, 4, _city)},
        ("program.lp",),
        ("readings.facts",),
        shape=("--window", "4", "--slide", "2", "--models", "brave"),
    ),
    Plan(
        "optimum",
        {"program.lp": _OPTIMUM, "readings.facts": readings(5, 24, 3, _city)},
        ("program.lp",),
        ("readings.facts",),
        shape=("--window", "3", "--slide", "2"),
    ),
    Plan(
        "query-of-pairs",
        {"pairs.rspql": _PAIRS, "readings.facts": readings(6, 50, 6, _roads)},
        ("pairs.rspql",),
        ("readings.facts",),
        questions=(("?r=<http://ex/r1>", "21"),),
    ),
    Plan(
        "query-of-counts",
        {"counts.rspql": _COUNTS, "readings.facts": readings(7, 40, 4, _roads)},
        ("counts.rspql",),
        ("readings.facts",),
        questions=(("?r=<http://ex/r2>", "21"),),
    ),
    Plan(
        "query-with-background",
        {"gone.rspql": _OPTIONAL, "names.nt": _NAMES, "readings.facts": readings(8, 30, 4, _roads)},
        ("gone.rspql",),
        ("readings.facts",),
        known=("--background", "names.nt"),
    ),
    Plan(
        "query-that-constructs",
        {"made.rspql": _MADE, "readings.facts": readings(9, 30, 4, _roads)},
        ("made.rspql",),
        ("readings.facts",),
    ),
    Plan(
        "classes",
        {"site.ofn": SITE, "events.nq": events(10, 120)},
        ("site.ofn",),
        ("events.nq",),
        shape=("--delay", "2"),
        meaning=("--classes", ":HotReading, :Damp"),
        known=("--as", "abstraction", "--profile", "dl"),
    ),
    Plan(
        "events",
        {"cooling.tw": COOLING, "site.ofn": SITE, "events.nq": events(11, 160)},
        ("cooling.tw", "site.ofn"),
        ("events.nq",),
        shape=("--delay", "2", "--event", ":Stays", "--event", ":Cooling"),
        questions=((":Cooling", "12"), (":Stays", "30")),
    ),
    Plan(
        "events-with-background",
        {"braking.tw": BRAKING, "cars.ofn": CARS, "cars.nt": _SENSORS, "cars.nq": cars(12, 240)},
        ("braking.tw", "cars.ofn"),
        ("cars.nq",),
        shape=("--event", ":Jam", "--event", ":Worse", "--event", ":Braking"),
        known=("--background", "cars.nt"),
        questions=((":Braking", "10"),),
    ),
    Plan(
        "consistency-pipeline",
        {"staff.ttl": _STAFF, "staff.tnt": statements()},
        ("staff.ttl",),
        ("staff.tnt",),
        shape=("--to", "90"),
        meaning=("--topology", "ltm", "--bolts", "3", "--window", "20"),
        known=("--as", "consistency"),
        emits=("changes", "snapshot"),
    ),
    Plan(
        "consistency-auto",
        {"staff.ttl": _STAFF, "staff.tnt": statements()},
        ("staff.ttl",),
        ("staff.tnt",),
        meaning=("--topology", "auto", "--window", "20"),
        known=("--as", "consistency"),
        emits=("changes",),
    ),
    Plan(
        "ontology-rl",
        {"school.ttl": _SCHOOL, "staff.tnt": statements()},
        ("school.ttl",),
        ("staff.tnt",),
        shape=("--to", "70"),
        meaning=("--window", "6", "--profile", "rl"),
        questions=(("<http://ex/Person>(<http://ex/p7>)", "2"),),
        emits=("changes", "snapshot", "intervals"),
    ),
    Plan(
        "ontology-rdfs",
        {"school.ttl": _SCHOOL, "staff.tnt": statements()},
        ("school.ttl",),
        ("staff.tnt",),
        meaning=("--window", "3", "--profile", "rdfs"),
        emits=("intervals",),
    ),
)

MIXED: Final[Sequence[Plan]] = (
    Plan(
        "rules-pieces-queries",
        {
            "rules.lars": _ACTING,
            "choice.lp": _CHOOSING,
            "made.rspql": _MADE,
            "later.rspql": _LATER,
            "readings.facts": readings(13, 50, 2, _roads),
        },
        ("rules.lars", "choice.lp", "made.rspql", "later.rspql"),
        ("readings.facts",),
        questions=(("<http://ex/watch>(<http://ex/r1>)", "14"), ("<http://ex/calm>(<http://ex/r2>)", "30")),
        emits=("changes", "snapshot", "intervals"),
    ),
    Plan(
        "rules-beside-pieces",
        {"rules.lars": _RAISED, "pieces.lp": _PIECES, "readings.facts": readings(14, 60, 5, _roads)},
        ("rules.lars", "pieces.lp"),
        ("readings.facts",),
        questions=(("calm(<http://ex/r1>)", "20"),),
    ),
    Plan(
        "cars",
        {
            "braking.tw": BRAKING,
            "cars.ofn": CARS,
            "rules.lars": _BESIDE_CARS,
            "choice.lp": _CHOICE_OF_CARS,
            "cars.nt": _SENSORS,
            "cars.nq": cars(15, 200),
        },
        ("braking.tw", "cars.ofn", "rules.lars", "choice.lp"),
        ("cars.nq",),
        shape=("--window", "4", "--slide", "3", "--event", ":Jam", "--event", ":Worse"),
        known=("--background", "cars.nt"),
        questions=(("slow(<http://ex/s3>)", "20"),),
    ),
    Plan(
        "lights",
        {
            "rules.lars": _WAITING,
            "lights.lp": _LIGHTS,
            "city.ttl": _VEHICLES,
            "city.facts": readings(16, 40, 2, _cars),
        },
        ("rules.lars", "lights.lp", "city.ttl"),
        ("city.facts",),
        shape=("--keep", "5"),
        questions=(("go(<http://city.org/c1>)", "12"), ("urgent(a)", "20")),
        emits=("changes", "intervals"),
    ),
    Plan(
        "queries-and-rules",
        {
            "hot.rspql": _HOT_QUERY,
            "alarms.lars": _ALARMS,
            "alarmed.rspql": _ALARMED,
            "readings.facts": readings(17, 40, 2, _hot),
        },
        ("hot.rspql", "alarms.lars", "alarmed.rspql"),
        ("readings.facts",),
        shape=("--from", "0"),
        questions=(("<http://city.org/alarm>(<http://city.org/s1>)", "14"),),
        emits=("changes", "snapshot"),
    ),
    Plan(
        "loop-through-the-past",
        {"rules.lars": _TURNS, "choice.lp": _TURN, "switches.facts": readings(18, 20, 1, _switches)},
        ("rules.lars", "choice.lp"),
        ("switches.facts",),
        shape=("--to", "26"),
        questions=(("last(a)", "9"),),
    ),
    Plan(
        "staged",
        {"rules.lars": _STAGED, "solved.lp": _SOLVED, "works.facts": readings(19, 50, 5, _works, 2)},
        ("rules.lars", "solved.lp"),
        ("works.facts",),
        shape=("--delay", "2"),
        questions=(("go(r1)", "20"), ("slow(r2)", "20")),
        emits=("changes", "intervals"),
    ),
    Plan(
        "staged-windows",
        {"rules.lars": _STAGED, "solved.lp": _SOLVED, "works.facts": readings(20, 50, 5, _works)},
        ("rules.lars", "solved.lp"),
        ("works.facts",),
        shape=("--window", "4", "--slide", "2"),
    ),
    Plan(
        "events-and-rules",
        {"rules.lars": _OF_EVENTS, "cooling.tw": COOLING, "site.ofn": SITE, "events.nq": events(21, 120)},
        ("rules.lars", "cooling.tw", "site.ofn"),
        ("events.nq",),
        shape=("--delay", "2"),
        questions=(("warm(<http://ex/r2>)", "20"),),
    ),
    Plan(
        "five-kinds",
        {
            "rules.lars": _FIVE_RULES,
            "choice.lp": _FIVE_CHOICE,
            "crowd.rspql": _ROOMS,
            "cooling.tw": COOLING,
            "site.ofn": SITE,
            "events.nq": events(22, 120, 4),
        },
        ("rules.lars", "choice.lp", "crowd.rspql", "cooling.tw", "site.ofn"),
        ("events.nq",),
        shape=("--delay", "2"),
        questions=(("vent(<http://ex/r2>)", "20"), ("cools(<http://ex/r3>)", "25")),
        emits=("changes", "snapshot", "intervals"),
    ),
)
