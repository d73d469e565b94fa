"""RDF terms become the terms that the rule language writes, and documents become statements of them."""

import io

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.languages.lars.facts import read_fact
from thalweg.languages.lars.terms import ReadingError, canonical
from thalweg.languages.owl.formats import format_of
from thalweg.model.fact import Fact
from thalweg.model.rdf import (
    RDF,
    RDF_TYPE,
    RDF_VALUE,
    READ,
    XSD,
    Document,
    RdfSyntaxError,
    as_ntriples,
    as_resource,
    blank,
    fact_of,
    literal,
    number,
    read_graph,
    term,
    triple_of,
)
from thalweg.model.term import is_term, quote

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
LEXICAL = TEXTS | st.from_regex(r"-?[0-9]{1,25}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
TAGS = st.sampled_from(
    ["", "@en", "@EN-gb", *(f"<{XSD}{name}>" for name in ("integer", "decimal", "double", "string", "dateTime"))]
)


def ntriples(text, tag):
    """A literal as another library writes it."""
    if tag.startswith("@"):
        return str(ox.Literal(text, language=tag[1:]))
    return str(ox.Literal(text, datatype=ox.NamedNode(tag[1:-1])) if tag else ox.Literal(text))


@given(LEXICAL, TAGS)
def test_a_literal_is_the_term_that_a_rule_writes(text, tag):
    written = quote(text) + (f"^^{tag}" if tag.startswith("<") else tag)
    try:
        assert literal(text, tag) == canonical(written, {})
    except ReadingError:
        # Too large to calculate with, which a stream may bring all the same: it stays what it is.
        assert literal(text, tag) == written


@given(LEXICAL, TAGS)
def test_every_way_to_write_a_literal_is_one_term(text, tag):
    found = term(ntriples(text, tag))
    assert found == literal(text, tag)
    assert is_term(found)


@given(LEXICAL, TAGS)
def test_a_spelled_literal_is_spelled_for_good(text, tag):
    found = literal(text, tag)
    if found[0] == '"':
        assert term(found) == found


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("<http://example.org/a>", "<http://example.org/a>"),
        (r"<http://example.org/\u00e9\U0001F600>", "<http://example.org/é😀>"),
        ("<s>", "<s>"),
        (r'"\u0041\t\b\f\'\"\\"', '"A\\t\b\f\'\\"\\\\"'),
        (f'"007"^^<{XSD}integer>', "7"),
        (f'"2.50"^^<{XSD}decimal>', "2.50"),
        (f'"2.50"^^<{XSD}double>', f'"2.50"^^<{XSD}double>'),
        (f'"seven"^^<{XSD}integer>', f'"seven"^^<{XSD}integer>'),
        (f'"{10**30}"^^<{XSD}integer>', f'"{10**30}"^^<{XSD}integer>'),
        (f'"x"^^<{XSD}string>', "x"),
        (f'"x y"^^<{XSD}string>', '"x y"'),
        ('"x"', "x"),
        ("<urn:thalweg:x>", "x"),
        ("<urn:thalweg:text:x%20y>", '"x y"'),
        ("<urn:thalweg:text:x>", "<urn:thalweg:text:x>"),
        ("<urn:thalweg:text:x%79>", "<urn:thalweg:text:x%79>"),
        ('"x"@EN-GB', '"x"@en-gb'),
        ('"3"', '"3"'),
    ],
)
def test_terms(written, spelled):
    assert term(written) == spelled
    assert is_term(spelled)


def test_literals_that_differ_in_their_tags_are_different_terms():
    tags = ["", "@en", "@fr", f"<{XSD}integer>", f"<{XSD}double>", f"<{XSD}date>"]
    assert len({literal("3", tag) for tag in tags}) == len(tags)


@pytest.mark.parametrize("written", ["<>", r"<a\u0020b>", r'"\uD800"', r'"\U00110000"', "<a\u00a0b>", r'"x"^^<\u003e>'])
def test_what_stands_for_no_term_is_told(written):
    with pytest.raises(ValueError, match=r"is not an IRI|is not a character"):
        term(written)


@given(st.tuples(TEXTS, TEXTS), st.tuples(TEXTS, TEXTS))
def test_blank_nodes_are_the_same_only_in_the_same_stream(one, other):
    assert (blank(*one) == blank(*other)) == (one == other)


@given(TEXTS, TEXTS)
def test_a_blank_node_can_be_read_as_a_fact(label, scope):
    assert canonical(blank(label, scope), {}) == blank(label, scope)
    assert is_term(blank(label, scope))


@pytest.mark.parametrize("text", ["", "x", "1e9999", "1" * 300, "--1", "1.", ".5", "1_0", "٣"])
def test_what_is_no_number(text):
    assert number(text) is None


# From facts to triples and back --------------------------------------------------------------------------------------

NAMES = st.sampled_from(
    ["<http://example.org/a>", "<http://example.org/é#b>", "<urn:x:y>", "<a>", "<#b>", "<../c?d>", "road1", "x"]
)
NUMBERS = st.sampled_from(["0", "-12", "2.50", "-0.1", str(2**61 - 1)])
WRITTEN = st.builds(literal, LEXICAL, TAGS)
ARGUMENTS = NAMES | NUMBERS | WRITTEN


@given(NAMES, st.lists(ARGUMENTS, max_size=4))
def test_any_fact_is_a_triple_that_is_read_as_the_fact(predicate, args):
    fact = Fact(predicate, tuple(args))
    subject, verb, object = triple_of(str(fact))
    assert fact_of(term(subject), term(verb), term(object)) == fact
    # And other libraries read it too.
    (quad,) = ox.parse(f"{subject} {verb} {object} .", format=ox.RdfFormat.N_TRIPLES)
    assert f"{quad.subject} {quad.predicate}" == f"{subject} {verb}"


@given(NAMES, NAMES, ARGUMENTS)
def test_a_fact_that_came_from_a_triple_is_that_triple(subject, predicate, object):
    written = (as_resource(subject), as_resource(predicate), as_ntriples(object))
    assert triple_of(str(fact_of(subject, predicate, object))) == written


def test_a_class_is_a_type_and_a_blank_node_stays_one():
    assert triple_of("<http://a/C>(_:in_0_b)") == ("_:in_0_b", RDF_TYPE, "<http://a/C>")
    assert triple_of("slow(road1)") == ("<urn:thalweg:road1>", RDF_TYPE, "<urn:thalweg:slow>")
    assert triple_of(f"{RDF_TYPE}(<http://a/b>,_:c)") == ("<http://a/b>", RDF_TYPE, "_:c")


@pytest.mark.parametrize("fact", ["jam", "busy(r,3,x)", 'said("a, b"@en,<http://a/(b)>)', "p(3)", 'q("x"@en,y)'])
def test_what_is_no_triple_is_told_whole(fact):
    subject, verb, object = triple_of(fact)
    assert object.endswith('"^^<urn:thalweg:fact>')
    assert fact_of(term(subject), term(verb), term(object)) == read_fact(fact)


# Documents -----------------------------------------------------------------------------------------------------------

DATATYPES = [ox.NamedNode(XSD + name) for name in ("integer", "decimal", "double", "int", "string", "dateTime")]
# XML has no place for most control characters.
PRINTED = LEXICAL.filter(str.isprintable)
PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc"]))
RESOURCES = st.sampled_from([ox.NamedNode(f"http://example.org/{tail}") for tail in ("a", "b", "é", "%20", "x#y")])
BLANKS = st.builds(ox.BlankNode, st.sampled_from(["b", "b0", "x_y", "f" * 32]))
VALUES = (
    st.builds(ox.Literal, PLAIN)
    | st.builds(lambda text: ox.Literal(text, language="en-gb"), PLAIN)
    | st.builds(
        lambda text, kind: ox.Literal(text, datatype=kind), LEXICAL.filter(str.isprintable), st.sampled_from(DATATYPES)
    )
)
GRAPHS = RESOURCES | BLANKS | st.just(ox.DefaultGraph())
QUADS = st.builds(ox.Quad, RESOURCES | BLANKS, RESOURCES, RESOURCES | BLANKS | VALUES, GRAPHS)


def spelled(node):
    """The term of a node of the other library."""
    if isinstance(node, ox.DefaultGraph):
        return None
    if isinstance(node, ox.BlankNode):
        # A label that looks like one that was made up is numbered.
        return blank(" 0" if node.value == "f" * 32 else node.value, "in")
    if isinstance(node, ox.Literal):
        return literal(node.value, f"@{node.language}" if node.language else str(node.datatype))
    return f"<{node.value}>"


@pytest.mark.parametrize("format", READ)
@given(quads=st.lists(QUADS, max_size=6))
def test_what_another_library_writes_is_read(format, quads):
    syntax = getattr(ox.RdfFormat, READ[format])
    if not syntax.supports_datasets:
        quads = [quad.triple for quad in quads]
    written = ox.serialize(quads, format=syntax)
    expected = {(*map(spelled, quad[:3]), spelled(quad[3]) if len(quad) == 4 else None) for quad in map(tuple, quads)}
    assert set(read_graph(written, format, scope="in")) == expected
    assert set(read_graph(io.BytesIO(written), format, scope="in")) == expected


def test_blank_nodes_of_documents_are_distinct_and_the_same_each_time():
    data = b"_:b <http://a/p> [] , ( 1 ) ."
    first, again, other = (list(read_graph(data, "turtle", scope=scope)) for scope in ("one", "one", "two"))
    assert first == again
    blanks = [{word for quad in quads for word in quad if word and word.startswith("_:")} for quads in (first, other)]
    assert [len(found) for found in blanks] == [3, 3]
    assert not blanks[0] & blanks[1]


@pytest.mark.parametrize(
    ("base", "found"),
    [
        (None, ["<a>", "<#p>", "<b/c>"]),
        ("roads.ttl", ["<a>", "<roads.ttl#p>", "<b/c>"]),
        ("http://ex.org/x/y", ["<http://ex.org/x/a>", "<http://ex.org/x/y#p>", "<http://ex.org/x/b/c>"]),
    ],
)
@pytest.mark.parametrize("format", ["turtle", "jsonld", "rdfxml"])
def test_relative_names(format, base, found):
    data = {
        "turtle": b"<a> <#p> <b/c> .",
        "jsonld": b'{"@id": "a", "http://ex.org/p": [{"@id": "b/c"}, {"@id": "#p"}]}',
        "rdfxml": b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://ex.org/">
            <rdf:Description rdf:about="a"><x:p rdf:resource="b/c"/><x:q rdf:resource="#p"/></rdf:Description>
            </rdf:RDF>""",
    }[format]
    words = {word for quad in read_graph(data, format, base=base) for word in quad if word}
    assert words >= set(found)


def test_a_document_may_come_in_pieces():
    document = Document("trig", scope="in")
    assert list(document.read(b"@base <http://ex.org/> . @prefix : <#> .")) == []
    first = list(document.read(b"<g> { :a :p _:b, [] }"))
    second = list(document.read(b"<h> { :a :p _:b, [] }"))
    assert first[0][2] == second[0][2] == "_:in_0_b"
    assert first[1][2] != second[1][2]
    assert first[0][0] == "<http://ex.org/#a>"
    with pytest.raises(RdfSyntaxError) as caught:
        list(document.read(b"<i> {\n  :a :p x }"))
    assert (caught.value.line, caught.value.column, caught.value.text) == (2, 9, "  :a :p x }")


@pytest.mark.parametrize(
    ("format", "data", "place", "part"),
    [
        ("turtle", b"<a> <b> <c> .\n<a> <b> x .", (2, 9), "x is not a valid RDF object"),
        ("turtle", b"<a> <b> <c>", (1, 12), "end"),
        ("turtle", "<a> <b> 'ü' . <ü".encode(), (1, 15), ""),
        ("turtle", b"<> <b> <c> .", (1, 1), "no name"),
        ("turtle", b"<a> <b> <<( <a> <b> <c> )>> .", (1, 1), "RDF-star"),
        ("ntriples", b"<http://a> <http://b> <c> .", (1, 23), "absolute"),
        ("ntriples", b'<http://a> <http://b> "\xff" .', (1, 24), "UTF-8"),
        ("nquads", b"\n<http://a> <http://b> <http://c> <http://d> <http://e> .", (2, 45), ""),
        ("jsonld", b'{"@id": "a",\n "http://p": }', (2, 14), ""),
        ("jsonld", b'{"@context": "http://schema.org/", "name": "x"}', (1, 1), "are not fetched"),
        ("jsonld", b'{"http://p": {"@value": 3, "@id": "x"}}', (1, 1), "incompatible"),
        ("rdfxml", b'<a xmlns="http://a/">\n<b>\n</a>', (3, 1), "ill-formed"),
        ("rdfxml", b'<?xml version="1.0" encoding="klingon"?><a/>', (1, 1), "unknown encoding `klingon`"),
        ("rdfxml", '<?xml version="1.0" encoding="ascii"?>\n<ä/>'.encode(), (1, 1), "line 2 is not valid ascii"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(format, data, place, part):
    with pytest.raises(RdfSyntaxError) as caught:
        list(read_graph(data, format))
    assert (caught.value.line, caught.value.column) == place
    assert part in str(caught.value)


RDFXML = """<?xml version="1.0" encoding="{}"?>
<!DOCTYPE rdf:RDF [<!ENTITY ex "http://ex.org/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="&ex;">
  <rdf:Description rdf:about="&ex;a"><ex:p>é</ex:p></rdf:Description>
</rdf:RDF>"""
PREMISE = [("<http://ex.org/a>", "<http://ex.org/p>", '"é"', None)]


@pytest.mark.parametrize(
    "encoding", ["UTF-8", "utf-8-sig", "ISO-8859-1", "windows-1252", "UTF-16", "UTF-16-LE", "utf-32"]
)
def test_a_document_may_be_in_any_encoding_that_it_declares(encoding):
    declared = encoding.removesuffix("-LE").removesuffix("-sig")
    data = RDFXML.format(declared).encode(encoding)
    assert list(read_graph(data, "rdfxml")) == PREMISE
    assert format_of("koala.owl", data) == "rdfxml"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("format", ["turtle", "trig", "ntriples", "nquads", "jsonld"])
def test_a_mark_of_the_byte_order_is_understood_everywhere(format, encoding):
    line = '<http://ex.org/a> <http://ex.org/p> "é" .'
    text = '{"@id": "http://ex.org/a", "http://ex.org/p": "é"}' if format == "jsonld" else line
    assert list(read_graph(text.encode(encoding), format)) == PREMISE


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.ttl", b"", "turtle"),
        ("a.b/c.nt.gz", b"", "ntriples"),
        ("A.OWL", b"", "rdfxml"),
        ("a.ofn", b"", "functional"),
        ("a.omn", b"", "manchester"),
        ("a.txt", b"<a> <b> <c> .", None),
        ("a", b"", None),
        ("a.owl", b"<!-- c --><rdf:RDF xmlns:rdf='x'>", "rdfxml"),
        ("a.owl", b"<?xml version='1.0'?>\n<!DOCTYPE Ontology [\n<!ENTITY a 'b'>]>\n<Ontology xmlns='x'>", "owlxml"),
        ("a.owl", b"# c\n@prefix a: <b> .", "turtle"),
        ("a.owl", b"<a> <b> <c> .", "turtle"),
        ("a.owl", b"  Prefix(:=<http://a/>)\nOntology(", "functional"),
        ("a.rdf", b"Prefix: a: <http://a/>\nOntology: <http://a>", "manchester"),
        ("a.xml", b'{"@id": "a"}', "jsonld"),
        ("a.ttl", b'{"@id": "a"}', "turtle"),
    ],
)
def test_the_ending_says_the_format_and_the_content_what_the_ending_does_not(name, content, format):
    assert format_of(name, content) == format


LINE_ENDS = {"LF": "\n", "CR": "\r", "CRLF": "\r\n"}
WRONG = {
    "turtle": ("<http://a/s> <http://a/p> 1 .", "<http://a/s> @@ 2 ."),
    "trig": ("<http://a/s> <http://a/p> 1 .", "<http://a/s> @@ 2 ."),
    "ntriples": ("<http://a/s> <http://a/p> <http://a/o> .", "<http://a/s> @@ 2 ."),
    "nquads": ("<http://a/s> <http://a/p> <http://a/o> <http://a/g> .", "<http://a/s> @@ 2 ."),
    "rdfxml": ("<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>", "<rdf:wrong"),
    "jsonld": ("[", '{"@id":,}]'),
}


@pytest.mark.parametrize("format", WRONG)
@pytest.mark.parametrize("end", LINE_ENDS)
def test_whatever_ends_lines_a_mistake_has_its_line(format, end):
    right, wrong = WRONG[format]
    text = LINE_ENDS[end].join(["", right, wrong, "", ""])
    with pytest.raises(RdfSyntaxError) as error:
        list(read_graph(text.encode(), format))
    assert (error.value.line, error.value.text) == (3, wrong) or format == "rdfxml"
    assert error.value.line >= 3


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\x0b", "\n\r", "\r\r\n"])
@pytest.mark.parametrize("format", WRONG)
def test_what_ends_no_line_ends_in_a_mistake_with_a_place(format, end):
    text = end.join(["", *WRONG[format], "", ""])
    with pytest.raises(RdfSyntaxError) as error:
        list(read_graph(text.encode(), format))
    assert error.value.line >= 1


def test_mixed_line_ends_in_pieces_of_a_document():
    document = Document("trig")
    list(document.read(b"@prefix : <http://a/> .\r\r"))
    with pytest.raises(RdfSyntaxError) as error:
        list(document.read(b":a :p 1 .\r\n:a :p 2 .\r:a @@ 3 .\n:a :p 4 ."))
    assert (error.value.line, error.value.column, error.value.text) == (3, 5, ":a @@ 3 .")


def rdf_xml(declarations, content):
    return (
        f'<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [\n{declarations}\n]>\n'
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="&e;">{content}</rdf:RDF>'
    ).encode()


def test_entities_of_namespaces_are_read():
    content = '<rdf:Description rdf:about="&e;a"><e:p rdf:resource="&e;b"/></rdf:Description>'
    found = list(read_graph(rdf_xml('<!ENTITY e "http://example.org/">', content), "rdfxml"))
    assert [quad[:3] for quad in found] == [tuple(f"<http://example.org/{name}>" for name in "apb")]


def test_a_flood_of_entities_is_refused_before_it_is_parsed():
    flood = "\n".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    for encoding in ("utf-8", "utf-16", "utf-8-sig"):
        data = rdf_xml(f'<!ENTITY e "http://a/">\n<!ENTITY a0 "lol">\n{flood}', "&a9;").decode().encode(encoding)
        with pytest.raises(RdfSyntaxError, match="`a6` expands to more") as error:
            list(read_graph(data, "rdfxml"))
        assert (error.value.code, error.value.line) == ("E305", 10)


def test_a_long_prefix_that_is_used_often_is_refused():
    text = f"@prefix : <http://a/{'x' * 100_000}> . " + " ".join(f":a{n} :p :b ." for n in range(2_000))
    with pytest.raises(RdfSyntaxError, match="over 64 times as many characters") as error:
        list(read_graph(text.encode(), "turtle"))
    assert error.value.code == "E305"


@pytest.mark.parametrize("text", ["", "p(", "p(a))", "p(a) ", "X(a)", '"p"(a)', "p(A)", "p(a,)"])
def test_the_datatype_of_facts_on_what_is_none_makes_it_none(text):
    value = quote(text) + "^^<urn:thalweg:fact>"
    assert fact_of("<a>", RDF_VALUE, value) == Fact(RDF_VALUE, ("<a>", value))
