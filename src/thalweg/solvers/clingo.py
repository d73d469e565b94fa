"""The only module that imports clingo.

A window is solved by a fresh control. One that is kept from window to window, with the inputs as externals that are
released when they leave, is wrong as soon as a rule must look back: what was grounded before an input came does not
meet it (`r(X,Z) :- r(X,Y), e(Y,Z)` loses paths), and an atom with derivations in two windows is defined twice. Rules
that are grounded again with the number of each window are right, but slower with every window, and never smaller. The
facts are handed over as text, which clingo reads twice as fast as Python can build its symbols.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import clingo
from clingo import ast

from thalweg.model.term import BARE

_MESSAGES: Final = 1_000
# A quick look: most programs have no such string, and going through all terms takes as long as reading them.
_COULD_BE_BARE: Final = re.compile(r'"[a-z][A-Za-z0-9_]*"')
# Clingo makes an atom with all arguments of a signature that is projected on.
MOST_ARGUMENTS: Final = 1_000


@dataclass(frozen=True, slots=True)
class ParsedProgram:
    """The statements of a program as clingo's parser reads them, those that clingo would fail at, and what it says."""

    nodes: list[Any]
    wide: list[Any]
    messages: list[str]


def parse(text: str) -> ParsedProgram:
    """Parses a program without grounding it.

    Variables that are not safe and whatever else clingo only notices when it grounds are found here, too. A string that
    could be a constant is that constant.

    >>> [str(node) for node in parse('a(X) :- p(X,"b","b c").').nodes], parse("a(X) :- p(X).").messages
    (['#program base.', 'a(X) :- p(X,b,"b c").'], [])
    """
    nodes: list[Any] = []
    messages: list[str] = []

    def take(_: object, message: str) -> None:
        messages.append(message)

    with _said(messages):
        ast.parse_string(text, nodes.append, logger=take, message_limit=_MESSAGES)
    if _COULD_BE_BARE.search(text):
        nodes = [_Unquoted()(node) for node in nodes]
    wide = [node for node in nodes if _is_too_wide(node)]
    nodes = [node for node in nodes if node.ast_type != ast.ASTType.Comment and not _is_too_wide(node)]
    with _said(messages):
        control = clingo.Control(["--warn=none"], logger=take, message_limit=_MESSAGES)
        with ast.ProgramBuilder(control) as builder:
            for node in nodes:
                builder.add(node)
        # A part that does not exist: all rules are checked, and none is grounded.
        control.ground([("nothing", [])])
    return ParsedProgram(nodes, wide, list(dict.fromkeys(messages)))


class _Unquoted(ast.Transformer):
    """Makes constants of the strings that could be constants."""

    def visit_SymbolicTerm(self, node: Any) -> Any:  # noqa: N802 - the name is clingo's
        symbol = node.symbol
        if symbol.type == clingo.SymbolType.String and symbol.string != "not" and BARE.match(symbol.string):
            return node.update(symbol=clingo.Function(symbol.string))
        return node


def _is_too_wide(node: Any) -> bool:
    return node.ast_type == ast.ASTType.ProjectSignature and not 0 <= node.arity <= MOST_ARGUMENTS


@contextmanager
def _said(messages: list[str]) -> Iterator[None]:
    """Adds the text of an error to the messages, unless clingo has written messages itself."""
    before = len(messages)
    try:
        yield
    except RuntimeError as error:
        if len(messages) == before:
            messages.append(str(error))


def solve_once(program: str, facts: str) -> list[str]:
    """Grounds and solves from scratch; the shown atoms of the first answer set, empty where there is none.

    >>> sorted(solve_once("q(X) :- p(X), not r(X). #show q/1.", "p(1). p(2). r(2)."))
    ['q(1)']
    """
    return list(next(iter(solve(Task(program, facts)).answers), ()))


@dataclass(frozen=True, slots=True)
class Task:
    """A program, the facts of a window, and what is asked: `first`, `all`, `brave` or `cautious`, in some seconds."""

    program: str
    facts: str = ""
    models: str = "first"
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Solved:
    """Answer sets, each the shown atoms and terms as clingo spells them; none where the window is inconsistent.

    `brave` and `cautious` give one set of consequences. What is not `complete` is true as far as it goes: answer sets,
    though perhaps not the best, or some of the brave consequences, and nothing of the cautious ones.
    `atoms` is how many atoms were grounded.
    """

    answers: tuple[tuple[str, ...], ...]
    complete: bool = True
    seconds: float = 0.0
    atoms: int = 0


# What is asked, in clingo's words: where there is something to optimise, optimal answer sets are the only ones.
_ASKED: Final = {
    "first": ("0", "--opt-mode=opt"),
    "all": ("0", "--opt-mode=optN", "--project=show"),
    "brave": ("0", "--opt-mode=optN", "--enum-mode=brave"),
    "cautious": ("0", "--opt-mode=optN", "--enum-mode=cautious"),
}


class UnsolvableError(Exception):
    """Clingo gave up, and this is what it said."""


def solve(task: Task, over: Callable[[], object] = lambda: None) -> Solved:
    """Grounds and solves one window; says when the search is `over`.

    The limit cannot stop grounding, only what comes after it.

    >>> solve(Task("{a; b}. :~ a. [1] :- not a, not b. #show a/0. #show b/0.", models="all")).answers
    (('b',),)
    """
    began = perf_counter()
    messages: list[str] = []
    control = clingo.Control(["--warn=none", "--seed=1", *_ASKED[task.models]], lambda _, text: messages.append(text))
    try:
        control.add("base", [], task.program)
        control.add("base", [], task.facts)
        control.ground([("base", [])])
        seconds_left = None if task.limit is None else max(0.0, task.limit - (perf_counter() - began))
        answers, complete = _answers(control, task, seconds_left)
    except (RuntimeError, MemoryError) as error:
        raise UnsolvableError("\n".join(messages) or str(error)) from error
    over()
    return Solved(tuple(sorted(answers)), complete, perf_counter() - began, len(control.symbolic_atoms))


def _answers(control: clingo.Control, task: Task, seconds: float | None) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """The answer sets that were found, and whether these are all that was asked for."""
    answers: list[tuple[str, ...]] = []
    models, cost, proven = task.models, False, False
    with control.solve(yield_=True, async_=True) as handle:
        for model in _models(handle, seconds):
            answer = tuple(sorted(map(str, model.symbols(shown=True))))
            if models != "all" or (model.cost and not proven):
                # It is better than those before, or more is known of the consequences.
                answers.clear()
            cost, proven = bool(model.cost), model.optimality_proven
            answers.append(answer)
            if models == "first" and not model.cost:
                return (answer,), True
        complete = handle.wait(0) and handle.get().exhausted
    return (tuple(set(answers)) if complete or _is_certain(models, cost, proven) else ()), complete


def _is_certain(models: str, cost: bool, proven: bool) -> bool:
    """Whether what was found before the end is true: consequences that may yet be taken back are not."""
    return models in ("first", "all") or (models == "brave" and (proven or not cost))


def _models(handle: clingo.SolveHandle, seconds: float | None) -> Iterator[clingo.Model]:
    """Models as they are found, until there are no more or the time is over."""
    end = None if seconds is None else perf_counter() + seconds
    while True:
        handle.resume()
        if not handle.wait(None if end is None else max(0.0, end - perf_counter())):
            handle.cancel()
            return
        model = handle.model()
        if model is None:
            return
        yield model
