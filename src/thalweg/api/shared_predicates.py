"""W216 and W217: predicates that two files share, perhaps without their authors' knowledge.

    a.lars   seen(X) :- p(X).        both files derive `seen/1`, and each reads what the other derives
    b.lars   seen(X) :- q(X).

`#local seen/1.` keeps a predicate to its file.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from thalweg.diagnostics import Diagnostic, Span
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Program, Rule
from thalweg.model.predicate import Predicate

Heads = dict[Predicate, dict[str, Rule]]
"""The predicates that rules derive, with the first rule of each file."""


def shared_predicates(
    programs: Sequence[Program], answer_set_programs: Iterable[Any], brought: Mapping[Predicate, str]
) -> Iterator[Diagnostic]:
    """Warnings for what programs derive in several files, or beside answer set programs, or although it is `brought`.

    `brought` says of predicates what brings them from outside, in words.
    """
    heads = _heads(programs)
    asp_derived = [(program.source.name, program.derived) for program in answer_set_programs]
    for name, files in heads.items():
        texts = [(file, rule.head.span) for file, rule in files.items()]
        more = [file for file, derived in asp_derived if name in derived]
        if len(texts) + len(more) > 1:
            yield _derived_twice(name, texts, more)
        # What follows only from facts of its own predicate has its first ones from outside.
        if name in brought and not all(map(_is_recursive, _rules_of(programs, name))):
            yield _brought(name, texts[0][1], brought[name])


def _heads(programs: Sequence[Program]) -> Heads:
    heads: Heads = {}
    for rule in (rule for program in programs for rule in program.rules):
        file, name = rule.span.source.name, rule.head.signature
        # A text of Python has no name; what is local has its file in its name.
        if file and not file.startswith("<") and name.file is None:
            heads.setdefault(name, {}).setdefault(file, rule)
    return heads


def _rules_of(programs: Sequence[Program], name: Predicate) -> Iterator[Rule]:
    return (rule for program in programs for rule in program.rules if rule.head.signature == name)


def _is_recursive(rule: Rule) -> bool:
    return any(formula.atom.signature == rule.head.signature for formula, _ in formulas(rule.body))


def _derived_twice(name: Predicate, texts: list[tuple[str, Span]], asp_files: list[str]) -> Diagnostic:
    first, *later = texts
    span = later[0][1] if later else first[1]
    places = [place for _, place in texts if place is not span]
    files = [*(f"`{place.source.name}`" for place in places), *(f"`{other}`" for other in asp_files)]
    return Diagnostic(
        "W216",
        f"`{name}` is derived here and in {' and '.join(files)}: each file reads what the others derive",
        span,
        help=f"use another name, or keep it to this file with `#local {name}.`; leave it if they are to be one",
        notes=tuple(f"a rule for it is at {_place(place)}" for place in places),
    )


def _brought(name: Predicate, span: Span, what: str) -> Diagnostic:
    return Diagnostic(
        "W217",
        f"`{name}` is derived here, and {what} brings it, too",
        span,
        help=f"use another name, or keep it to this file with `#local {name}.`; leave it if they are to be one",
    )


def _place(span: Span) -> str:
    line, column = span.source.position(span.start)
    return f"{span.source.name}:{line}:{column}"
