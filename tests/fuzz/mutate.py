"""A document with something wrong: bytes, words, lines, nesting, encoding."""

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

LONGEST: Final = 60_000
"""No document is longer than so many bytes: large ones cost time that many small ones use better."""

# What parsers stumble over, whatever the language: encodings, line ends, numbers at the edges of words, escapes.
_TOKENS: Final = (
    b"\x00", b"\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n",
    b"\t", b"\x0b", b"\x0c", b"\x1c", b"\x1e", b"\xc2\x85", b"\xe2\x80\xa8", b"\xc2\xa0", b"\xe2\x80\x8b",
    b"\xc3\xa9", b"\xd9\xa3", b"\xc2\xb2", b"\xf0\x9d\x92\xb3", b"\xc5\xbf", b"\\", b"\\u0000", b"\\ud800",
    b"\\uDFFF", b"\\U00110000", b"\\U0001F600", b"\\x", b'"', b"'", b'"""', b"'''", b"`", b"``", b"0", b"-0", b"-1",
    b"00", b"1e999", b"1e-999", b"1E5", b"0x10", b"1_000", b"+1", b".5", b"5.", b"NaN", b"Infinity", b"-Infinity",
    b"2147483647", b"2147483648", b"-2147483649", b"2305843009213693951", b"2305843009213693952",
    b"4611686018427387904", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616",
    b"340282366920938463463374607431768211456", b"9" * 400, b"9" * 5_000, b"(", b")", b"[", b"]", b"{", b"}", b"<",
    b">", b"<>", b",", b";", b".", b":", b"::", b"@", b"#", b"%", b"&", b"|", b"!", b"*", b"/", b"=", b"^^", b"/*",
    b"*/", b"//", b"<!--", b"-->", b"]]>", b"<![CDATA[", b"?>", b"&amp;", b"&#0;", b"&#xD800;", b" ", b"  ",
    b"a" * 300, b"_", b"_:", b":-",
)  # fmt: skip
_WORDS: Final = {
    "lars": (
        b":-", b"at", b"in", b"always", b"not", b"count", b"sum", b"min", b"max", b"avg", b"mod", b"step", b"is",
        b"literal", b"from", b"@prefix", b"[3]", b"[3#]", b"[1#p/1]", b"'X", b"X'1", b"V'1", b"_", b"!=", b"!==",
        b"<>", b"==", b"sec",
    ),
    "lp": (
        b"#show", b"#input", b"#prefix", b"#include", b"#script", b"#end.", b"#const", b"#program", b"#external",
        b"#count", b"#sum", b"#minimize", b"#maximize", b"#true", b"#false", b"#inf", b"#sup", b":~", b"..", b"**",
        b"not", b"#from", b"#defined", b"#edge", b"#theory", b"&x{}", b"@f(X)", b"%*", b"*%", b"#project",
        b"#heuristic", b"#show.", b"#include<incmode>.", b"'a",
    ),
    "rspql": (
        b"SELECT", b"CONSTRUCT", b"ASK", b"FROM", b"NAMED", b"WINDOW", b"GRAPH", b"STREAM", b"RANGE", b"SLIDE", b"STEP",
        b"ALIGN", b"REGISTER", b"ISTREAM", b"PREFIX", b"BASE", b"OPTIONAL", b"MINUS", b"UNION", b"FILTER", b"EXISTS",
        b"VALUES", b"UNDEF", b"BIND", b"SERVICE", b"GROUP BY", b"LIMIT 0", b"{", b"}", b"[", b"]", b"(", b")", b"?x",
        b"_:b", b"''", b'"""', b"PT0S", b"1e400", b"<<", b">>", b"^", b"*", b"NOW()", b"<w>", b"a:b\\", b"$s",
    ),
    "turtle": (
        b"@prefix", b"@base", b"PREFIX", b"BASE", b"GRAPH", b"a", b"true", b"false", b"^^", b"@en", b"_:b", b"[]",
        b"()", b"<<(", b")>>", b"<<", b">>", b"owl:Thing", b"rdf:nil", b"<rel>", b"<urn:thalweg:iri:a>",
        b"<urn:thalweg:road1>", b"rdf:first", b"rdf:rest", b"owl:sameAs", b"owl:onProperty", b"rdf:type",
    ),
    "xml": (
        b"<a/>", b"</a>", b"<rdf:Description>", b'rdf:about=""', b'rdf:ID="1"', b'rdf:parseType="Literal"',
        b'rdf:parseType="Collection"', b'xml:lang="en"', b'xmlns:x=""', b"&lt;", b"<!DOCTYPE", b"<?xml",
        b'encoding="utf-16"', b'rdf:nodeID="a"', b'rdf:resource="\xc3\xa9"', b'xml:base="http://["', b"rdf:li",
        b'rdf:datatype="x"',
    ),
    "json": (
        b'"@id"', b'"@context"', b'"@graph"', b'"@type"', b'"@value"', b'"@list"', b'"@set"', b'"@reverse"',
        b'"@language"', b'"@base"', b'"@vocab"', b"null", b"true", b"{}", b"[]", b'"t"', b'"facts"', b'"graph"',
        b'"stream"', b'{"@id":"a"}', b'"\\ud800"', b"1e400", b"-0.0", b'"@included"', b'"@nest"', b'"@container"',
        b'"@version"',
    ),
    "owl": (
        b"Ontology(", b"Prefix(", b"SubClassOf(", b"ObjectSomeValuesFrom(", b"ObjectUnionOf(", b"DataOneOf(",
        b"Annotation(", b"Import(", b"Class:", b"SubClassOf:", b"some", b"only", b"min", b"max", b"and", b"or",
        b"not", b"inverse", b"value", b"Self", b"that", b"Individual:", b"Types:", b"Facts:", b"Rule:",
        b"DLSafeRule(",
    ),
    "table": (
        b"s", b"p", b"o", b"t", b"fact", b"stream", b'"a,b"', b'"""', b",,", b"<a>", b'"x""y"',
    ),
    "toml": (
        b"program", b"[streams.a]", b"[time]", b"[output]", b"[runtime]", b"from", b"map", b"=", b"{a=1}", b"[[a]]",
        b"1979-05-27T07:32:00Z", b"inf", b"nan", b"0x1", b"tick", b"true", b"zone", b"encoding",
    ),
    "events": (
        b"NAMED EVENT", b"AS", b"MATCH", b"EVERY", b"FIRST", b"LAST", b"SEQ", b"AND", b"OR", b"NOT", b"IF",
        b"EVENT", b"FILTER(?v > 3)", b":A", b":B", b"some", b"only", b"PREFIX", b"INCLUDE", b"{", b"}", b"(", b")",
        b"?v", b"WITHIN (3 s)", b"xsd:double[> 3.0]", b"value", b"min 2",
    ),
    "session": (
        b'["advance"]', b'["snapshot"]', b'["push",', b'["why",', b"null", b"true", b"-1", b"1e400", b"NaN", b'"@big"',
        b'"@naive"', b'"@date"', b'"@bytes"', b'"@nan"', b'"2026-03-29T02:30:00"', b"9223372036854775808", b"{}", b"[]",
    ),
    "bytes": (
        b"\x00\x00\x00\x00\x00\x00\x00\x00", b"\xff\xff\xff\xff\xff\xff\xff\xff", b"\x7f\xff\xff\xff",
        b"\x80\x00\x00\x00", b"PAR1", b"\x01", b"@",
    ),
}  # fmt: skip
_NUMBER: Final = re.compile(rb"-?[0-9]+")
_PAIRS: Final = tuple(
    (pair[:1], pair[1:])
    for pair in (
        b"()",
        b"[]",
        b"{}",
        b"<>",
        b"--",
        b"((",
        b"[[",
        b'""',
        b"\\\\",
        b",,",
        b"..",
        b"  ",
        b"::",
        b"@@",
        b"**",
    )
)
# Documents in documents, as each language nests them.
_DOCUMENTS: Final = (
    (b'{"a":', b"}"), (b'{"http://ex.org/p":', b"}"), (b'{"@list":[', b"]}"), (b'{"@graph":', b"}"),
    (b'{"@context":', b"}"), (b"<a>", b"</a>"), (b"<e:C><e:p>", b"</e:p></e:C>"), (b"[ <p> ", b" ]"),
    (b"<<( <a> <p> ", b" )>>"), (b"<< <a> <p> ", b" >>"), (b"not ", b""), (b"NOT ", b""),
    (b"ObjectComplementOf(", b")"), (b"p some (", b")"), (b"[[", b"]]"), (b"f(", b")"),
    (b"{ WINDOW <w> {", b"}}"),
)  # fmt: skip
_ENCODINGS: Final = ("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "cp037")


def mutated(random: Random, data: bytes, others: Sequence[bytes], words: str) -> bytes:
    """The document with one or several things changed; `words` says in which language to write.

    >>> mutated(Random(3), b"p(X) :- q(X).", [b"a."], "lars") != b"p(X) :- q(X)."
    True
    """
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5))):
        change = random.choices(_CHANGES, _WEIGHTS)[0]
        data = change(random, data, others, _WORDS[words])[:LONGEST]
    return data


Change = Callable[[Random, bytes, Sequence[bytes], Sequence[bytes]], bytes]


def _place(random: Random, data: bytes, longest: int = 12) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.randrange(longest))


def _token(random: Random, words: Sequence[bytes]) -> bytes:
    return random.choice(words if random.random() < 0.5 else _TOKENS)


def _flip(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    if not data:
        return data
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << random.randrange(8))]) + data[place + 1 :]


def _delete(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    start, end = _place(random, data)
    return data[:start] + data[end:]


def _insert(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    start, _ = _place(random, data)
    return data[:start] + _token(random, words) + data[start:]


def _replace(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    start, end = _place(random, data)
    return data[:start] + _token(random, words) + data[end:]


def _number(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return _insert(random, data, others, words)
    one = random.choice(found)
    return data[: one.start()] + random.choice(_TOKENS) + data[one.end() :]


def _double(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    start, end = _place(random, data, 40)
    return data[:end] + data[start:]


def _truncate(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _splice(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    other = random.choice(others)
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


def _shuffle(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    random.shuffle(lines)
    return b"\n".join(lines)


def _line_ends(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    return data.replace(
        b"\n", random.choice((b"\r", b"\r\n", b"\xc2\x85", b"\xe2\x80\xa8", b"\0", b" ", b"\n\n", b"\x0c"))
    )


def _encode(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    return data.decode(errors="replace").encode(random.choice(_ENCODINGS), "replace")


def _nest(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """Something in thousands of brackets, or documents."""
    start, end = _place(random, data)
    first, last = random.choice(_PAIRS if random.random() < 0.4 else _DOCUMENTS)
    times = min(random.choice((2, 10, 60, 210, 1_000, 5_000, 20_000)), LONGEST // (len(first) + len(last)))
    return data[:start] + first * times + data[start:end] + last * times + data[end:]


def _repeat(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """A part of the document, or a word, again and again."""
    start, end = _place(random, data, 40)
    part = data[start:end] if random.random() < 0.5 else _token(random, words)
    times = min(random.choice((3, 30, 300, 3_000)), LONGEST // (len(part) + 1))
    return data[:start] + part * times + data[end:]


# The last two make long documents, so that they are rare.
_CHANGES: Final[tuple[Change, ...]] = (
    _flip, _delete, _insert, _replace, _number, _double, _truncate, _splice, _shuffle, _line_ends, _encode,
    _nest, _repeat,
)  # fmt: skip
_WEIGHTS: Final = (12, 12, 16, 16, 8, 8, 8, 6, 4, 3, 1.5, 1.5, 0.5)
