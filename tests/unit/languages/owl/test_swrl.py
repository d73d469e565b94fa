"""Rules of SWRL in every syntax become rules; what does not is reported, and shapes of SHACL are not an ontology."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from thalweg.cli import app

EX = "http://ex.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
FACTS = """@prefix : <http://ex.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Sensor(:s1) at 1. :in(:s1,:r1) at 1. :value(:s1,31) at 1.
:Sensor(:s2) at 2. :in(:s2,:r2) at 2. :value(:s2,30) at 2.
:card(:a,:k) at 3. :card(:b,:k) at 3. :Student(:a) at 3. owl:differentFrom(:m,:n) at 3.
"""
FUNCTIONAL = """Prefix(:=<http://ex.org/>)
Prefix(swrlb:=<http://www.w3.org/2003/11/swrlb#>)
Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(
  Declaration(ObjectProperty(:in)) Declaration(ObjectProperty(:seenBy)) Declaration(DataProperty(:value))
  SubClassOf(:Hot :Alarm)
  DLSafeRule(
    Body(ClassAtom(:Sensor Variable(:s)) ObjectPropertyAtom(:in Variable(:s) Variable(:room))
         DataPropertyAtom(:value Variable(:s) Variable(:n))
         BuiltInAtom(swrlb:greaterThan Variable(:n) "30"^^xsd:integer))
    Head(ClassAtom(:Hot Variable(:room)) ObjectPropertyAtom(:seenBy Variable(:room) Variable(:s))))
)"""
MANCHESTER = """Prefix: : <http://ex.org/>
Prefix: swrlb: <http://www.w3.org/2003/11/swrlb#>
Prefix: xsd: <http://www.w3.org/2001/XMLSchema#>
Ontology:
Class: Hot
    SubClassOf: Alarm
ObjectProperty: in
ObjectProperty: seenBy
DataProperty: value
Rule: Sensor(?s), in(?s, ?room), value(?s, ?n), swrlb:greaterThan(?n, 30) -> Hot(?room), seenBy(?room, ?s)
"""
OWL_XML = f"""<?xml version="1.0"?>
<Ontology xmlns="http://www.w3.org/2002/07/owl#">
  <SubClassOf><Class IRI="{EX}Hot"/><Class IRI="{EX}Alarm"/></SubClassOf>
  <DLSafeRule>
    <Body>
      <ClassAtom><Class IRI="{EX}Sensor"/><Variable IRI="urn:swrl#s"/></ClassAtom>
      <ObjectPropertyAtom>
        <ObjectProperty IRI="{EX}in"/><Variable IRI="urn:swrl#s"/><Variable IRI="urn:swrl#room"/>
      </ObjectPropertyAtom>
      <DataPropertyAtom>
        <DataProperty IRI="{EX}value"/><Variable IRI="urn:swrl#s"/><Variable IRI="urn:swrl#n"/>
      </DataPropertyAtom>
      <BuiltInAtom IRI="http://www.w3.org/2003/11/swrlb#greaterThan">
        <Variable IRI="urn:swrl#n"/><Literal datatypeIRI="{XSD}integer">30</Literal>
      </BuiltInAtom>
    </Body>
    <Head>
      <ClassAtom><Class IRI="{EX}Hot"/><Variable IRI="urn:swrl#room"/></ClassAtom>
      <ObjectPropertyAtom>
        <ObjectProperty IRI="{EX}seenBy"/><Variable IRI="urn:swrl#room"/><Variable IRI="urn:swrl#s"/>
      </ObjectPropertyAtom>
    </Head>
  </DLSafeRule>
</Ontology>"""
PREFIXES = """@prefix : <http://ex.org/> . @prefix swrl: <http://www.w3.org/2003/11/swrl#> .
@prefix swrlb: <http://www.w3.org/2003/11/swrlb#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:s a swrl:Variable . :room a swrl:Variable . :n a swrl:Variable . :x a swrl:Variable . :y a swrl:Variable .
"""
TURTLE = f"""{PREFIXES}
:Hot rdfs:subClassOf :Alarm .
:hot a swrl:Imp ; rdfs:label "a hot room" ;
  swrl:body ( [ a swrl:ClassAtom ; swrl:classPredicate :Sensor ; swrl:argument1 :s ]
    [ a swrl:IndividualPropertyAtom ; swrl:propertyPredicate :in ; swrl:argument1 :s ; swrl:argument2 :room ]
    [ a swrl:DatavaluedPropertyAtom ; swrl:propertyPredicate :value ; swrl:argument1 :s ; swrl:argument2 :n ]
    [ a swrl:BuiltinAtom ; swrl:builtin swrlb:greaterThan ; swrl:arguments ( :n 30 ) ] ) ;
  swrl:head ( [ a swrl:ClassAtom ; swrl:classPredicate :Hot ; swrl:argument1 :room ]
    [ a swrl:IndividualPropertyAtom ; swrl:propertyPredicate :seenBy ; swrl:argument1 :room ; swrl:argument2 :s ] ) .
"""
# As Protégé writes it.
RDF_XML = f"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
         xmlns:swrl="http://www.w3.org/2003/11/swrl#">
  <rdf:Description rdf:about="{EX}Hot"><rdfs:subClassOf rdf:resource="{EX}Alarm"/></rdf:Description>
  <swrl:Variable rdf:about="urn:swrl:var#s"/>
  <swrl:Variable rdf:about="urn:swrl:var#room"/>
  <swrl:Variable rdf:about="urn:swrl:var#n"/>
  <swrl:Imp>
    <swrl:body>
      <swrl:AtomList>
        <rdf:first>
          <swrl:ClassAtom>
            <swrl:classPredicate rdf:resource="{EX}Sensor"/><swrl:argument1 rdf:resource="urn:swrl:var#s"/>
          </swrl:ClassAtom>
        </rdf:first>
        <rdf:rest>
          <swrl:AtomList>
            <rdf:first>
              <swrl:IndividualPropertyAtom>
                <swrl:propertyPredicate rdf:resource="{EX}in"/>
                <swrl:argument1 rdf:resource="urn:swrl:var#s"/><swrl:argument2 rdf:resource="urn:swrl:var#room"/>
              </swrl:IndividualPropertyAtom>
            </rdf:first>
            <rdf:rest>
              <swrl:AtomList>
                <rdf:first>
                  <swrl:DatavaluedPropertyAtom>
                    <swrl:propertyPredicate rdf:resource="{EX}value"/>
                    <swrl:argument1 rdf:resource="urn:swrl:var#s"/><swrl:argument2 rdf:resource="urn:swrl:var#n"/>
                  </swrl:DatavaluedPropertyAtom>
                </rdf:first>
                <rdf:rest>
                  <swrl:AtomList>
                    <rdf:first>
                      <swrl:BuiltinAtom>
                        <swrl:builtin rdf:resource="http://www.w3.org/2003/11/swrlb#greaterThan"/>
                        <swrl:arguments>
                          <rdf:Description>
                            <rdf:first rdf:resource="urn:swrl:var#n"/>
                            <rdf:rest>
                              <rdf:Description>
                                <rdf:first rdf:datatype="{XSD}integer">30</rdf:first>
                                <rdf:rest rdf:resource="http://www.w3.org/1999/02/22-rdf-syntax-ns#nil"/>
                              </rdf:Description>
                            </rdf:rest>
                          </rdf:Description>
                        </swrl:arguments>
                      </swrl:BuiltinAtom>
                    </rdf:first>
                    <rdf:rest rdf:resource="http://www.w3.org/1999/02/22-rdf-syntax-ns#nil"/>
                  </swrl:AtomList>
                </rdf:rest>
              </swrl:AtomList>
            </rdf:rest>
          </swrl:AtomList>
        </rdf:rest>
      </swrl:AtomList>
    </swrl:body>
    <swrl:head>
      <swrl:AtomList>
        <rdf:first>
          <swrl:ClassAtom>
            <swrl:classPredicate rdf:resource="{EX}Hot"/><swrl:argument1 rdf:resource="urn:swrl:var#room"/>
          </swrl:ClassAtom>
        </rdf:first>
        <rdf:rest>
          <swrl:AtomList>
            <rdf:first>
              <swrl:IndividualPropertyAtom>
                <swrl:propertyPredicate rdf:resource="{EX}seenBy"/>
                <swrl:argument1 rdf:resource="urn:swrl:var#room"/><swrl:argument2 rdf:resource="urn:swrl:var#s"/>
              </swrl:IndividualPropertyAtom>
            </rdf:first>
            <rdf:rest rdf:resource="http://www.w3.org/1999/02/22-rdf-syntax-ns#nil"/>
          </swrl:AtomList>
        </rdf:rest>
      </swrl:AtomList>
    </swrl:head>
  </swrl:Imp>
</rdf:RDF>"""
DOCUMENTS = {"r.ofn": FUNCTIONAL, "r.omn": MANCHESTER, "r.owx": OWL_XML, "r.ttl": TURTLE, "r.owl": RDF_XML}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.facts").write_text(FACTS)


def run(name: str, text: str, *more: str) -> Result:
    Path(name).write_text(text)
    return CliRunner().invoke(app, ["run", name, "--stream", "s.facts", *more], catch_exceptions=False)


def begun(result: Result) -> set[str]:
    """All that began, with short names."""
    lines = map(json.loads, result.stdout.splitlines())
    return {fact.replace(f"<{EX}", "").replace(">", "") for line in lines for fact in line["begin"]}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_rule_is_used_in_every_syntax(name: str) -> None:
    result = run(name, DOCUMENTS[name], "--profile", "rl")
    assert begun(result) == {"Hot(r1)", "Alarm(r1)", "seenBy(r1,s1)"}
    assert "warning" not in result.stderr


@pytest.mark.parametrize("profile", ["rdfs", "pd", "ql"])
def test_a_rule_is_used_by_every_profile(profile: str) -> None:
    assert begun(run("r.ttl", TURTLE, "--profile", profile)) == {"Hot(r1)", "Alarm(r1)", "seenBy(r1,s1)"}


def test_what_a_rule_concludes_is_output_once_where_the_schema_is_data() -> None:
    result = run("r.ttl", TURTLE, "--profile", "rdfs", "--schema-stream")
    facts = json.loads(result.stdout.splitlines()[0])["begin"]
    assert facts.count(f"<{EX}Hot>(<{EX}r1>)") == facts.count(f"<{EX}Alarm>(<{EX}r1>)") == 1


def test_premises_count_for_the_window_of_the_ontology() -> None:
    result = run("r.ttl", TURTLE, "--profile", "rl", "--window", "1", "--to", "9")
    assert [json.loads(line)["t"] for line in result.stdout.splitlines()] == [1, 3]


SAME = f"""{PREFIXES}
:Student rdfs:subClassOf :Person .
[ a swrl:Imp ;
  swrl:body ( [ a swrl:IndividualPropertyAtom ; swrl:propertyPredicate :card ; swrl:argument1 :x ; swrl:argument2 :n ]
    [ a swrl:IndividualPropertyAtom ; swrl:propertyPredicate :card ; swrl:argument1 :y ; swrl:argument2 :n ] ) ;
  swrl:head ( [ a swrl:SameIndividualAtom ; swrl:argument1 :x ; swrl:argument2 :y ] ) ] .
[ a swrl:Imp ;
  swrl:body ( [ a swrl:DifferentIndividualsAtom ; swrl:argument1 :x ; swrl:argument2 :y ] ) ;
  swrl:head ( [ a swrl:ClassAtom ; swrl:classPredicate :Unlike ; swrl:argument1 :x ] ) ] .
"""


@pytest.mark.parametrize("profile", ["pd", "rl"])
def test_what_a_rule_makes_equal_is_equal(profile: str) -> None:
    result = run("same.ttl", SAME, "--profile", profile)
    assert {"Person(a)", "Person(b)", "Unlike(m)", "Unlike(n)"} <= begun(result)
    assert "warning" not in result.stderr


def test_a_profile_without_equality_says_so() -> None:
    result = run("same.ttl", SAME, "--profile", "rdfs")
    assert begun(result) == {"Person(a)", "Unlike(m)", "Unlike(n)"}
    assert result.stderr.count("warning[W419]: same.ttl: a SWRL rule is not used") == 1
    assert "RDFS has no equality of individuals" in result.stderr


def rule(body: str, head: str) -> str:
    return f"""Prefix(:=<http://ex.org/>) Prefix(swrlb:=<http://www.w3.org/2003/11/swrlb#>)
        Prefix(xsd:=<{XSD}>) Ontology(SubClassOf(:Student :Person) DLSafeRule(Body({body}) Head({head})))"""


S = "Variable(:s)"
N = "Variable(:n)"
THING = "<http://www.w3.org/2002/07/owl#Thing>"
VALUE = f"DataPropertyAtom(:value {S} {N})"


@pytest.mark.parametrize(
    ("body", "head", "facts"),
    [
        (f"{VALUE} BuiltInAtom(swrlb:lessThanOrEqual {N} \"30\"^^xsd:integer)", f"ClassAtom(:B {S})", {"B(s2)"}),
        (f"{VALUE} BuiltInAtom(swrlb:notEqual {N} \"30.0\"^^xsd:decimal)", f"ClassAtom(:B {S})", {"B(s1)"}),
        (f"ClassAtom(ObjectSomeValuesFrom(:in ObjectOneOf(:r1)) {S})", f"ClassAtom(:B {S})", None),
        (f"ClassAtom(ObjectHasValue(:in :r1) {S})", f"ClassAtom(:B {S})", {"B(s1)"}),
        (
            f"ClassAtom(ObjectIntersectionOf(:Sensor ObjectSomeValuesFrom(:in {THING})) {S})",
            f"ClassAtom(ObjectIntersectionOf(:B ObjectHasValue(:by :me)) {S})",
            {"B(s1)", "B(s2)", "by(s1,me)", "by(s2,me)"},
        ),
        (f"ObjectPropertyAtom(ObjectInverseOf(:in) :r1 {S})", f"ClassAtom(:B {S})", {"B(s1)"}),
    ],
)  # fmt: skip
def test_atoms_of_many_kinds(body: str, head: str, facts: set[str] | None) -> None:
    result = run("r.ofn", rule(body, head), "--profile", "rdfs")
    assert begun(result) == {"Person(a)"} | (facts or set())
    assert ("W419" in result.stderr) == (facts is None)


@pytest.mark.parametrize(
    ("body", "head", "reason"),
    [
        (
            f"{VALUE} BuiltInAtom(swrlb:add {N} {N} {N})",
            f"ClassAtom(:B {S})",
            "the built-in `swrlb:add` is not supported",
        ),
        (f"{VALUE} DataRangeAtom(xsd:integer {N})", f"ClassAtom(:B {S})", "a data range as an atom is not supported"),
        (VALUE, "ClassAtom(:B Variable(:t))", "no class or property of the body binds the variable `T`"),
        (VALUE, "", "it has no head"),
        ("", "ClassAtom(:B :b)", "its body names no individual"),
        (f"ClassAtom(:A {S})", f"ClassAtom(ObjectComplementOf(:B) {S})", "`ObjectComplementOf` in the head of a rule"),
    ],
)
def test_what_is_not_one_of_our_rules_is_reported(body: str, head: str, reason: str) -> None:
    result = run("r.ofn", rule(body, head), "--profile", "rl")
    assert begun(result) == {"Person(a)"}
    assert "warning[W419]: r.ofn: a SWRL rule is not used: `DLSafeRule(Body(" in result.stderr
    assert reason in result.stderr


def test_rules_that_are_not_used_are_counted() -> None:
    text = rule("", "ClassAtom(:B :b)").replace("DLSafeRule", "DLSafeRule(Body() Head(ClassAtom(:C :b))) DLSafeRule")
    result = run("r.ofn", text, "--profile", "rl", "--verbose")
    assert "2 SWRL rules are not used, such as `DLSafeRule(Body() Head(ClassAtom(:B :b)))`" in result.stderr
    assert "`DLSafeRule(Body() Head(ClassAtom(:C :b)))`" in result.stderr


def test_a_rule_without_its_atoms_is_reported() -> None:
    result = run("r.ttl", f"{PREFIXES} :r a swrl:Imp ; swrl:body ( :lost ) . :Student rdfs:subClassOf :Person .")
    assert "a SWRL rule is not used: `:r`: its triples are incomplete" in result.stderr


@pytest.mark.parametrize("more", [("abstraction", "--profile", "dl"), ("consistency", "--window", "5")])
def test_what_is_decided_without_rules_says_so(more: tuple[str, ...]) -> None:
    result = run("r.ttl", TURTLE, "--as", *more)
    assert result.exit_code == 0
    assert result.stderr.count("warning[W419]: r.ttl: a SWRL rule is not used") == 1
    assert "without rules" in result.stderr
    assert "W409" not in result.stderr


SHAPES = f"""{PREFIXES}
:PersonShape a sh:NodeShape ; sh:targetClass :Person ;
  sh:property [ sh:path :age ; sh:datatype xsd:integer ; sh:maxCount 1 ; sh:in ( 1 2 3 ) ] .
""".replace(" a swrl:Variable", " a owl:NamedIndividual")


def test_a_file_of_shapes_is_not_an_ontology() -> None:
    result = run("shapes.ttl", SHAPES)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error[E420]: shapes.ttl has 1 SHACL shape, such as `:PersonShape`, and no axioms" in result.stderr
    assert "pySHACL" in result.stderr


def test_axioms_beside_shapes_are_used() -> None:
    result = run("shapes.ttl", f"{SHAPES} :Student rdfs:subClassOf :Person .")
    assert begun(result) == {"Person(a)"}
    assert "warning[W420]: shapes.ttl: 1 SHACL shape, such as `:PersonShape`: not used" in result.stderr
    assert "W409" not in result.stderr
