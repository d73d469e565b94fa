"""The names of programs, backgrounds and streams, and how the first two are read.

Path("my roads.ttl")            a file
Source("roads.ttl", text)       a text, of the kind that its name ends in
"roads.ttl"                     a file: one line without blanks that ends in a known suffix
"mqtt://broker/roads", "-"      a stream that is live
anything else that is a `str`   a text: rules or facts; no file is opened for it, whatever it says
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from thalweg.connectors.batches import Facts, Instant
from thalweg.connectors.files import read_text
from thalweg.connectors.held_tables import HeldTable, is_table
from thalweg.connectors.lake import is_lake
from thalweg.connectors.named_source import NamedSource
from thalweg.diagnostics import Diagnostic, RejectedError, Source, Span
from thalweg.ir.nodes import Program
from thalweg.languages.registry import (
    Graph,
    Language,
    Options,
    language_of,
    language_of_texts,
    registry,
    suffix_of,
)
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.model.rdf import fact_of
from thalweg.model.vocabulary import Triple

Text = str | Path | Source
Table = Any
"""Of pandas, polars or Arrow."""
Background = Text | Table | Iterable[Text | Fact | Table]
PythonEvents = Iterable[Event | tuple[Instant, Facts] | Mapping[str, Any]]
"""Events, pairs of a time and facts, or messages that mappings make facts of."""
On = Text | Table | Iterable[Text | Table] | Mapping[str, Text | Table] | PythonEvents

TEXT: Final = "<text>"
"""How a text is called that has no name of its own."""

_LIKE_A_PATH: Final = re.compile(r"[\w./\\~-]*[/\\][\w./\\~-]*|[\w-]+\.\w+")
_DECLARED: Final = r"\s*(?:(?:PREFIX|BASE)\b[^>]*>\s*)*"
# How texts begin that are not rules, and what to call them.
_KINDS: Final = (
    (
        "query.rspql",
        "a query",
        re.compile(r"\s*(?:(?:PREFIX|BASE)\b[^>]*>\s*)*(?:SELECT|CONSTRUCT|ASK|REGISTER)\b", re.I),
    ),
    ("events.tw", "events", re.compile(r"\s*(?:PREFIX\b[^>]*>\s*)*NAMED\s+EVENT\b", re.I)),
)
_HELD: Final = "elsewhere give a file, or in Python the table: `background=table.toArrow()`"
# How rdflib calls the graph that has no name.
_DEFAULT_GRAPH: Final = " <urn:x-rdflib:default>"
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\x00-\x1f\x7f]*")
_PATH: Final = re.compile(r"[^\s\x00-\x1f\x7f]*(?P<suffix>\.[A-Za-z]+)")


def classify(text: Text) -> Text:
    """A file as `Path`, a text as `Source`, and as `str` only what is neither: a URI, or `-`.

    >>> classify("jam.lars").name, classify("q :- p.").name, classify("mqtt://broker/cars")
    ('jam.lars', '<text>', 'mqtt://broker/cars')
    """
    if not isinstance(text, str) or text == "-" or _URI.fullmatch(text) or is_lake(text):
        return text
    match = _PATH.fullmatch(text.removesuffix(".gz"))
    return Path(text) if match and match["suffix"].lower() in _known_suffixes() else Source(TEXT, text)


def with_kind_of_text(diagnostic: Diagnostic) -> Diagnostic:
    """A diagnostic about a text that was taken for rules and is something else, with the way out: to name it.

    >>> from thalweg.diagnostics import Span
    >>> wrong = Diagnostic("E101", "expected a predicate", Span(Source(TEXT, "SELECT ?s"), 0, 6))
    >>> with_kind_of_text(wrong).help
    'a text without a name is rules; for a query write `Source("query.rspql", text)`'
    """
    source = diagnostic.span.source
    if diagnostic.code == "E101" and source.name == TEXT:
        if _LIKE_A_PATH.fullmatch(source.text):
            suffixes = " ".join(registry().programs)
            return replace(
                diagnostic, help=f"this is read as rules; for a file write `Path(…)`, or a name that ends in {suffixes}"
            )
        for name, kind, begins in _KINDS:
            if begins.match(source.text):
                way_out = f'a text without a name is rules; for {kind} write `Source("{name}", text)`'
                return replace(diagnostic, help=way_out)
    return diagnostic


def on_command_line(name: str) -> Text:
    """The source that a word of the command line names: `-` and URIs are kept, any other word is a file.

    >>> on_command_line("my jam.lars").name, on_command_line("-")
    ('my jam.lars', '-')
    """
    return name if name == "-" or "://" in name or is_lake(name) else Path(name)


def _known_suffixes() -> frozenset[str]:
    languages = registry()
    return frozenset((*languages.programs, *languages.background)) | _stream_suffixes()


def _stream_suffixes() -> frozenset[str]:
    from thalweg.connectors.readers import ENDINGS as STREAMS

    return frozenset(STREAMS)


def looks_like_a_stream(program: object) -> bool:
    """Whether what is given as a program is a file of a stream.

    >>> looks_like_a_stream(Path("spo.csv")), looks_like_a_stream(Path("jam.lars"))
    (True, False)
    """
    if not isinstance(program, Path) or language_of(program.name) is not None:
        return False
    return suffix_of(program.name) in _stream_suffixes()


def name_of(text: Text) -> str:
    """How a file, a text or a URI is called."""
    return text.name if isinstance(text, Source) else str(text)


def language_of_program(program: object) -> Language:
    """The language that a file's or a text's name says; else that of texts.

    >>> [language_of_program(one).name for one in ("koala.owl", "jam.lp", "jam.lars", "p(a).")]
    ['owl', 'asp', 'lars', 'lars']
    """
    classified = classify(program) if isinstance(program, str) else program
    language = language_of(name_of(classified)) if isinstance(classified, Path | Source) else None
    return language or language_of_texts()


def language_of_background(facts: Text | Fact) -> Language | None:
    """The language of a background, by its name."""
    return None if isinstance(facts, Fact) else language_of(name_of(facts), background=True)


def as_list(values: Any) -> list[Any]:
    """A value or several, as a list, files and texts distinguished; graphs of rdflib are texts of RDF."""
    if _is_graph(values):
        return [_text_of_graph(values)]
    if isinstance(values, Mapping):
        return [_under(name, value) for name, value in values.items()]
    is_single = isinstance(values, str | Path | Source | Fact | Program | NamedSource) or is_table(values)
    many = [values] if is_single or isinstance(values, bytes) or not isinstance(values, Iterable) else list(values)
    if many and all(isinstance(message, Mapping) for message in many):
        return [HeldTable(_table(many))]
    return list(map(_classified, many))


def _classified(source: Any) -> Any:
    """A file, a text or a table; `TypeError` where it is something else."""
    if isinstance(source, str):
        return classify(source)
    if is_table(source):
        return HeldTable(source)
    if _is_graph(source):
        return _text_of_graph(source)
    if not isinstance(source, Path | Source | Fact | Program | NamedSource | HeldTable):
        raise TypeError(f"{source!r} is neither a file nor a text, a table or a list of them")
    return source


def _is_graph(value: object) -> bool:
    """Whether something is a graph of rdflib, which is not imported for that."""
    return hasattr(value, "serialize") and any(kind.__module__.startswith("rdflib.") for kind in type(value).__mro__)


def _text_of_graph(graph: Any) -> Source:
    """A graph of rdflib as a document, which is the same whenever the graph is."""
    if not graph.context_aware:
        return Source("graph.nt", "\n".join(sorted(graph.serialize(format="nt").splitlines())))
    lines = sorted(graph.serialize(format="nquads").splitlines())
    return Source("graph.nq", "\n".join(line.replace(_DEFAULT_GRAPH, "") for line in lines))


def _table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a table, with the columns of all of them."""
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows for name in row)
    return HeldTable({name: [row.get(name) for row in rows] for name in names}).as_arrow() if names else pa.table({})


def _under(name: str, origin: Any) -> HeldTable | NamedSource:
    """A table, or what a text names, under a name."""
    if _is_graph(origin):
        return NamedSource(name, _text_of_graph(origin))
    if isinstance(origin, str | Path | Source):
        return NamedSource(name, classify(origin))
    return HeldTable(origin, name)


def named(on: On) -> list[Text | HeldTable | NamedSource] | None:
    """The streams that are named, texts or tables; None where Python hands over the events themselves."""
    texts = str | Path | Source | NamedSource | HeldTable
    if _is_graph(on) or (isinstance(on, list | tuple | Mapping) and any(map(_is_graph, _values(on)))):
        raise TypeError(
            "a graph of rdflib has no times: give it as `background`, or as events, "
            'such as [(3, ["<http://example.org/p>(a,b)"])]'
        )
    if isinstance(on, Mapping | texts) or is_table(on):
        return as_list(on)
    if isinstance(on, list | tuple) and all(isinstance(element, texts) or is_table(element) for element in on):
        return as_list(on)
    if not isinstance(on, Iterable):
        way_out = "`collect()` it" if hasattr(on, "collect") else "give a file, a table, or an iterable of events"
        raise TypeError(f"{type(on).__name__} is not a stream: {way_out}")
    return None


def _values(on: Any) -> Iterable[Any]:
    return on.values() if isinstance(on, Mapping) else on


def unnamed(sources: Iterable[Any]) -> list[Any]:
    """Sources without the names that some of them have."""
    return [source.origin if isinstance(source, NamedSource) else source for source in sources]


def absolute(source: Text | HeldTable | NamedSource) -> str:
    """A name that means the same from every folder; a text is itself."""
    if isinstance(source, HeldTable):
        return source.name
    if isinstance(source, NamedSource):
        return f"{source.name}: {absolute(source.origin)}"
    return str(source.resolve()) if isinstance(source, Path) else source.text if isinstance(source, Source) else source


def compiler_of(text: Text, *, background: bool = False) -> Language:
    """The language of a program or a background; `RejectedError` where it is in none."""
    if isinstance(text, str):
        if background and is_lake(text):
            raise RejectedError([Diagnostic("E402", f"only `thalweg run --runtime spark` reads `{text}`", help=_HELD)])
        message = f"`{text}` is a stream, not a program or a background"
        raise RejectedError([Diagnostic("E402", message, help="give the name of a file, or a text")])
    name = name_of(text)
    language = language_of(name, background=background)
    if language is not None:
        return language
    if isinstance(text, Source) and suffix_of(name) not in _known_suffixes():
        return language_of_texts()
    languages = registry()
    table = languages.background if background else languages.programs
    suffixes = " or ".join(suffix for suffix, candidate in table.items() if not candidate.takes_triples)
    way_out = f"use a file that ends in {suffixes}, RDF or an ontology such as `city.ttl`"
    raise RejectedError(
        [Diagnostic("E402", f"`{name}` has an unknown file type", help=way_out, notes=languages.broken)]
    )


def read_all(texts: Iterable[Text], language: Language, diagnostics: list[Diagnostic]) -> list[Source]:
    """The texts, and the files that they include, each once; what is wrong goes to `diagnostics`."""
    files: list[_File] = []
    for text in texts:
        try:
            files.append(_read(text, language))
        except RejectedError as error:
            diagnostics += error.diagnostics
    read: dict[object, Source] = {file.place: file.source for file in files}
    inclusions: dict[object, list[tuple[object, Span]]] = {}
    while files:
        file = files.pop(0)
        for name, span in language.includes(file.source):
            try:
                path = file.included(name)
                inclusions.setdefault(file.place, []).append((path.resolve(), span))
                if path.resolve() in read:
                    continue
                included = _File(Source(str(path), read_text(path)), file.folder)
            except RejectedError as error:
                diagnostics += (replace(diagnostic, span=span) for diagnostic in error.diagnostics)
            else:
                read[included.place] = included.source
                files.append(included)
    diagnostics += _circles(inclusions)
    return list(read.values())


def _circles(inclusions: Mapping[object, Sequence[tuple[object, Span]]]) -> Iterator[Diagnostic]:
    """A warning for each place where a file is included that has asked for this one, itself or by way of others."""
    seen: set[object] = set()

    def follow(file: object, way: tuple[object, ...]) -> Iterator[Diagnostic]:
        seen.add(file)
        for other, span in inclusions.get(file, ()):
            if other in (*way, file):
                between = [f"`{Path(str(place)).name}`" for place in (*way, file)[(*way, file).index(other) + 1 :]]
                by = f", by way of {' and '.join(between)}" if between else ""
                message = f"`{Path(str(other)).name}` includes itself{by}"
                yield Diagnostic("W511", message, span, "leave this out: every file is read only once")
            elif other not in seen:
                yield from follow(other, (*way, file))

    for file in inclusions:
        if file not in seen:
            yield from follow(file, ())


@dataclass(frozen=True, slots=True)
class _File:
    """A text, and the folder in which it may include others; None for one that is in no file."""

    source: Source
    folder: Path | None

    @property
    def place(self) -> object:
        """The key by which files are compared: the path of a file; a text is its own key."""
        return self.source if self.folder is None else Path(self.source.name).resolve()

    def included(self, file: str) -> Path:
        """Another file; `RejectedError` where it lies outside of the folder, also by way of `..` or a link."""
        path = Path(self.source.name).parent / file
        try:
            if self.folder is not None and path.resolve().is_relative_to(self.folder):
                return path
        except (OSError, RuntimeError, ValueError):
            # A loop of links, or a name that no file can have.
            pass
        outside = "it is outside the program's folder"
        reason = "a program given as text cannot include files" if self.folder is None else outside
        raise RejectedError([Diagnostic("E511", f"`{file}` is not read: {reason}", help=_BESIDE)])


_BESIDE: Final = "include files in the program's folder or below it; name others on the command line"


def _read(text: Text, language: Language) -> _File:
    folder = None if isinstance(text, Source) else Path(text).parent.resolve()
    if language.takes_triples:
        from thalweg.connectors.ontology_documents import read_graphs

        return _File(_document(name_of(text), read_graphs(text)), folder)
    return _File(text if isinstance(text, Source) else Source(str(text), read_text(Path(text))), folder)


def _document(name: str, graphs: Mapping[str | None, Iterable[Triple]]) -> Graph:
    named = tuple((graph, tuple(triples)) for graph, triples in graphs.items() if graph is not None)
    unnamed = tuple(graphs.get(None, ()))
    everything = dict.fromkeys((*unnamed, *(triple for _, triples in named for triple in triples)))
    return Graph(name, "", triples=tuple(everything), unnamed=unnamed, named=named)


def read_background(
    facts: Text | Fact, tick_length: int, diagnostics: list[Diagnostic], graphs: list[Graph] | None = None
) -> tuple[Fact, ...]:
    """Facts from a file of facts, from RDF, or as they are; what is wrong goes to `diagnostics`.

    Documents of RDF are noted in `graphs`, because facts do not say in which graph they are.
    """
    if isinstance(facts, Fact):
        return (facts,)
    facts = classify(facts)
    try:
        language = compiler_of(facts, background=True)
        sources = read_all([facts], language, diagnostics)
        if language.takes_triples:
            if graphs is not None:
                graphs += (document for document in sources if isinstance(document, Graph))
            return facts_of(sources)
        program, wrong = language.compile(sources, Options(tick_length))
    except RejectedError as error:
        diagnostics += error.diagnostics
        return ()
    diagnostics += wrong
    diagnostics += (
        Diagnostic("E403", "a background consists of facts, and this is a rule", rule.span) for rule in program.rules
    )
    background: tuple[Fact, ...] = program.background
    return background


def facts_of(documents: Iterable[Source]) -> tuple[Fact, ...]:
    """The triples of RDF documents, as facts."""
    triples = (triple for document in documents if isinstance(document, Graph) for triple in document.triples)
    return tuple(dict.fromkeys(fact_of(*triple) for triple in triples))
