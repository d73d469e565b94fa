"""Alternatives of paths count as those of a UNION do; each case says by hand what a path stands for."""

from collections import Counter

import pytest

from thalweg.languages.rspql.alternative_paths import alternatives_apart
from thalweg.solvers.sparql import SparqlStore

EDGES = ("a p b", "a q b", "b p a", "b r a", "b r b", "a s b", "b s a", "c q a", "a r c", "c p c", "c r b", "c s c")


@pytest.fixture(scope="module")
def store() -> SparqlStore:
    made = SparqlStore()
    made.extend([tuple(f"<urn:{term}>" for term in edge.split()) for edge in EDGES])
    return made


@pytest.mark.parametrize(
    ("path", "union"),
    [
        ("?x :p|:q ?y", "{ ?x :p ?y } UNION { ?x :q ?y }"),
        ("?x (:p|:p) ?y", "{ ?x :p ?y } UNION { ?x :p ?y }"),
        ("?x ^(:p|:q)/:r ?y", "{ ?x ^:p/:r ?y } UNION { ?x ^:q/:r ?y }"),
        ("?x :r/^:q|^:s ?y .", "{ ?x :r/^:q ?y } UNION { ?x ^:s ?y }"),
        ("?x (:p|:q)/:r|:s ?y", "{ ?x :p/:r ?y } UNION { ?x :q/:r ?y } UNION { ?x :s ?y }"),
        ("?x (:p|(:q|:r)/:s) ?y", "{ ?x :p ?y } UNION { ?x :q/:s ?y } UNION { ?x :r/:s ?y }"),
        ("?x (:p|:q+)/:r? ?y", "{ ?x :p/:r? ?y } UNION { ?x :q+/:r? ?y }"),
        ("?x :p|:q ?y, ?z", "{ ?x :p ?y } UNION { ?x :q ?y } { ?x :p ?z } UNION { ?x :q ?z }"),
        ("?x :r ?z ; :p|:q ?y ; .", "?x :r ?z . { ?x :p ?y } UNION { ?x :q ?y }"),
        ("[ :p|:q ?y ] :r ?z", "{ ?m :p ?y } UNION { ?m :q ?y } ?m :r ?z"),
        (
            "FILTER(?x != :a) ?x :p|:q ?y BIND(1 AS ?z)",
            "{ ?x :p ?y } UNION { ?x :q ?y } FILTER(?x != :a) BIND(1 AS ?z)",
        ),
        (
            "?x :r ?z OPTIONAL { ?z :p|:q ?y FILTER(?y != ?x) }",
            "?x :r ?z OPTIONAL { { ?z :p ?y } UNION { ?z :q ?y } FILTER(?y != ?x) }",
        ),
        (
            "VALUES (?x) { (:a) (:c) } ?x :p|:s ?y FILTER NOT EXISTS { ?y :t|:q ?x } ?y :r ?z",
            "VALUES ?x { :a :c } { ?x :p ?y } UNION { ?x :s ?y } FILTER NOT EXISTS { ?y :t ?x } "
            "FILTER NOT EXISTS { ?y :q ?x } ?y :r ?z",
        ),
    ],
)
def test_a_pair_counts_for_each_alternative(store: SparqlStore, path: str, union: str) -> None:
    prologue, columns = "PREFIX : <urn:> SELECT ?x ?y ?z", ("x", "y", "z")
    spelled = alternatives_apart(f"{prologue} {{ {path} }}")
    expected = Counter(store.ask(f"{prologue} {{ {union} }}", columns=columns))
    assert expected
    assert Counter(store.ask(spelled, columns=columns)) == expected


@pytest.mark.parametrize(
    "path", ["?x (:p|:q)* ?y", "?x ((:p|^:q)/:r)+ ?y", "?x !(:p|^:q) ?y", "_:x :p|:q ?y . _:x :r ?z"]
)
def test_what_counts_once_stays_and_so_do_labels(path: str) -> None:
    assert alternatives_apart(f"ASK {{ {path} }}") == f"ASK {{ {path} }}"
