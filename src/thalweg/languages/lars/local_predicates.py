"""`#local seen/1.`: a predicate of one file. It gets the file into its name, which nothing outside can say.

Streams, backgrounds and other programs neither bring nor read it, and it is not output.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import PurePath

from thalweg.diagnostics import Diagnostic, Source, Span
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import Atom, Formula, Now, Program, TupleWindow
from thalweg.ir.rewrite import mapped
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, local_name

Declared = dict[Predicate, Span]
"""Predicates that a text declares to be local, with the places where it does."""


def localise(program: Program, declared: Declared, file: str) -> Program:
    """The program of a file with the file in the names of what is local to it."""
    if not declared:
        return program

    def own(name: Predicate) -> Predicate:
        return name.renamed(local_name(name.name, file)) if name in declared else name

    def own_atom(atom: Atom) -> Atom:
        return replace(atom, predicate=own(atom.signature).name)

    def own_formula(formula: Formula) -> Formula:
        changed = replace(formula, atom=own_atom(formula.atom))
        if not isinstance(changed, Now) and isinstance(changed.window, TupleWindow) and changed.window.of is not None:
            return replace(changed, window=replace(changed.window, of=own(changed.window.of)))
        return changed

    shown = program.interface.outputs
    rules = (replace(rule, head=own_atom(rule.head), body=mapped(rule.body, own_formula)) for rule in program.rules)
    return replace(
        program,
        rules=tuple(rules),
        background=tuple(Fact(own(fact.signature).name, fact.terms) for fact in program.background),
        interface=replace(program.interface, outputs=None if shown is None else shown - declared.keys()),
        recorded=frozenset(map(own, program.recorded)),
    )


def check_local(program: Program, declared: Declared) -> Iterator[Diagnostic]:
    """E219 and W205: what is local is derived in its file, is not output, and comes from no stream.

    The program is the one before names are changed.
    """
    derived = program.derived | {fact.signature for fact in program.background}
    for name, span in declared.items():
        if name not in derived:
            message = f"`#local {name}.` has no effect: no rule of this file derives it"
            similar = sorted(other for other in derived if other.name == name.name)
            help_ = f"there is `{similar[0]}`" if similar else "write a rule for it, or leave it out"
            yield Diagnostic("W205", message, span, help=help_)
        if name in (program.interface.outputs or ()):
            help_ = "leave it out of `#local`, or out of `#show`"
            yield Diagnostic("E219", f"`{name}` is local to its file, so it cannot be shown", span, help=help_)
    for rule in program.rules:
        for formula, _ in formulas(rule.body):
            name = formula.atom.signature
            if name in declared and formula.stream is not None:
                help_ = f"leave `from {formula.stream}` out, or use another name for what the stream brings"
                message = f"`{name}` is local to its file, so no stream brings it"
                yield Diagnostic("E219", message, formula.span, help=help_)


def check_foreign(programs: Sequence[Program]) -> Iterator[Diagnostic]:
    """W218: a file reads a predicate that another keeps to itself, and none derives it for others."""
    local = {name.public: name for program in programs for name in program.derived if name.file is not None}
    public = {name for program in programs for name in program.derived}
    public |= {fact.signature for program in programs for fact in program.background}
    for program in programs if local else ():
        read = {formula.atom.signature: formula for rule in program.rules for formula, _ in formulas(rule.body)}
        for name, formula in read.items():
            if name in local and name not in public and formula.stream is None:
                message = f"`{name}` is local to {local[name].file}, so these are other facts"
                help_ = f"leave `#local {name}.` out there, or leave this if a stream brings `{name}`"
                yield Diagnostic("W218", message, formula.atom.span, help=help_)


def check_facts(programs: Sequence[Program], sources: Sequence[Source]) -> Iterator[Diagnostic]:
    """W217: one file has facts of a predicate that another derives; texts without a name are not files."""
    files = [(source.name, program) for source, program in zip(sources, programs, strict=True) if source.name[0] != "<"]
    for file, program in files:
        stated = {fact.signature for fact in program.background} - program.derived
        heads = {rule.head.signature: rule.head for _, other in files if other is not program for rule in other.rules}
        for name in sorted(stated & heads.keys()):
            message = f"`{name}` is derived here, and `{file}` has facts of it, too"
            help_ = f"use another name, or keep it to one file with `#local {name}.`; leave it if they are to be one"
            yield Diagnostic("W217", message, heads[name].span, help=help_)


def distinct_names(sources: Sequence[Source]) -> list[str]:
    """A name for each source: files of the same name in several folders are told apart.

    >>> distinct_names((Source("a/x.lars", ""), Source("b/x.lars", ""), Source("y.lars", "")))
    ['x.lars', 'x.lars-2', 'y.lars']
    """
    names: list[str] = []
    for source in sources:
        file = PurePath(source.name).name
        if source.name.startswith("<"):
            # Texts without a name are told apart by what they say, also where they are loaded one by one.
            file = f"text-{sha256(source.text.encode()).hexdigest()[:6]}"
        before = sum(name == file or name.startswith(f"{file}-") for name in names)
        names.append(f"{file}-{before + 1}" if before else file)
    return names
