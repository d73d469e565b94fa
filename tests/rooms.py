"""Rooms that cool: an ontology, events over it, and readings, that tests of events share."""

from collections.abc import Sequence

from thalweg.model.fact import Fact

EX = "http://ex.org/"
SITE = f"""
Prefix(:=<{EX}>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)
Ontology(
  Declaration(Class(:Reading)) Declaration(Class(:Chilly))
  Declaration(DataProperty(:celsius)) Declaration(ObjectProperty(:in))
  EquivalentClasses(:Hot ObjectIntersectionOf(:Reading
    DataSomeValuesFrom(:celsius DatatypeRestriction(xsd:decimal xsd:minInclusive "12"^^xsd:integer))))
  EquivalentClasses(:Cold ObjectIntersectionOf(:Reading
    DataSomeValuesFrom(:celsius DatatypeRestriction(xsd:decimal xsd:maxExclusive "12"^^xsd:integer))))
  DisjointClasses(:Reading :Room)
  TransitiveObjectProperty(:in)
  ClassAssertion(:Room :room1) ObjectPropertyAssertion(:in :room1 :wing) ObjectPropertyAssertion(:in :room2 :wing)
)
"""
RULES = f"""
PREFIX : <{EX}>
NAMED EVENT :HotNow  AS :Hot
NAMED EVENT :ColdNow AS :Cold
NAMED EVENT :Cooling {{
  MATCH EVERY :HotNow SEQ :ColdNow WITHIN (10 s)
  IF {{ EVENT :HotNow {{ ?h :in ?room }} EVENT :ColdNow {{ ?c :in ?room }} }}
}}
NAMED EVENT :Stays {{
  MATCH EVERY :Cooling SEQ NOT :HotNow WITHIN (3 s)
  IF {{ EVENT :Cooling {{ ?x :in ?room }} EVENT :HotNow {{ ?h :in ?room }} }}
}}
NAMED EVENT :AnyNow AS :Reading
NAMED EVENT :Two {{ MATCH EVERY :AnyNow AND :AnyNow WITHIN (0 s) }}
NAMED EVENT :TwoIn {{ MATCH EVERY :Two IF {{ EVENT :Two {{ ?x :in ?room }} }} }}
"""


def reading(number: int, room: int, value: int) -> Sequence[Fact]:
    name = f"<{EX}o{number}>"
    # Some are in two rooms, so that a complex event of theirs is found in two buckets.
    rooms = (room, 3) if number % 3 else (room,)
    places = (Fact(f"<{EX}in>", (name, f"<{EX}room{place}>")) for place in rooms)
    return (*places, Fact(f"<{EX}celsius>", (name, str(value))), Fact(f"<{EX}Reading>", (name,)))
