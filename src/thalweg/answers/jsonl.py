"""Answers as lines of JSON.

    changes        {"t":40,"begin":["q(x3,y,z)"],"end":["q(x1,y,z)"]}
    snapshot       {"t":41,"facts":["q(x2,y,z)","q(x3,y,z)"]}      of clashes: {"t":7,"inconsistent":[…]}
    intervals      {"fact":"q(x2,y,z)","from":38,"until":41}
    answer sets    {"t":40,"window":[38,40],"answers":[["a(1)"],["b(1)"]]}
    rows           {"t":40,"window":[38,40],"bindings":[{"x":"<…>","n":"3"}]}
    triples        {"t":40,"window":[38,40],"graph":["<p>(<s>,<o>)"]}
    truth          {"t":40,"window":[38,40],"answer":true}

A fact that became unknown stands in `unknown`, and what is partial ends in `"shed":["p/2"],"partial":true`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from json.encoder import encode_basestring as quoted
from typing import Final

from thalweg.answers.record import Answer, BrokenAxiom
from thalweg.model.listing import Wrapping, in_parts
from thalweg.model.time import AS_TICKS, FOREVER, TimeFormat

# Facts as strings of JSON.
_QUOTED: Final = Wrapping('"', '"', lambda text: quoted(text)[1:-1])


def jsonl(answer: Answer, times: TimeFormat = AS_TICKS) -> Iterable[str]:
    """The lines of an answer, as one text or in parts: some have millions of facts.

    >>> from thalweg.answers.record import interval
    >>> list(jsonl(interval("a", 38, 41)))
    ['{"fact":"a","from":38,"until":41}\\n']
    """
    return _WRITERS[answer.kind](answer, times)


def lines(answer: Answer, times: TimeFormat = AS_TICKS) -> list[str]:
    """The lines of an answer, each by itself.

    >>> from thalweg.answers.record import snapshots
    >>> lines(snapshots(3, 4, ("a",)))
    ['{"t":3,"facts":["a"]}', '{"t":4,"facts":["a"]}']
    """
    return "".join(jsonl(answer, times)).split("\n")[:-1]


def _changes(answer: Answer, times: TimeFormat) -> Iterable[str]:
    begin, end, unknown, _ = answer.columns
    listed = partial(_listed_clashes, times=times) if answer.of_clashes else _listed
    doubtful = f',"unknown":{listed(unknown)}' if unknown else ""
    tail = f"{doubtful}{_partial(answer)}}}\n"
    return (f'{{"t":{times.json(answer.t)},"begin":{listed(begin)},"end":{listed(end)}{tail}',)


def _snapshots(answer: Answer, times: TimeFormat) -> Iterable[str]:
    (facts,) = answer.columns
    content = f'"inconsistent":{_listed_clashes(facts, times)}' if answer.of_clashes else f'"facts":{_listed(facts)}'
    tail = f",{content}{_partial(answer)}}}\n"
    return ("".join([f'{{"t":{times.json(tick)}{tail}' for tick in range(answer.start, answer.t + 1)]),)


def _intervals(answer: Answer, times: TimeFormat) -> Iterable[str]:
    facts, starts = answer.columns
    until = "null" if answer.t == FOREVER else times.json(answer.t)
    tail = f',"until":{until}{_partial(answer)}}}\n'
    if answer.of_clashes:
        texts = [_at(text, times)[:-1] for text in facts]
    else:
        texts = [f'{{"fact":{quoted(fact)}' for fact in facts]
    rows = zip(texts, starts, strict=True)
    return ("".join([f'{text},"from":{times.json(start)}{tail}' for text, start in rows]),)


def _answer_sets(answer: Answer, times: TimeFormat) -> Iterator[str]:
    yield f'{_window(answer, times)},"answers":['
    for number, facts in enumerate(answer.columns):
        yield ",[" if number else "["
        for place, texts in enumerate(in_parts(facts, _QUOTED)):
            yield f"{',' if place else ''}{','.join(texts)}"
        yield "]"
    yield "]" + ',"incomplete":true' * answer.incomplete + "}\n"


def _rows(answer: Answer, times: TimeFormat) -> Iterable[str]:
    return (f'{_window(answer, times)},"bindings":[{",".join(answer.columns[0])}]}}\n',)


def _triples(answer: Answer, times: TimeFormat) -> Iterable[str]:
    return (f'{_window(answer, times)},"graph":[{",".join(map(quoted, answer.columns[0]))}]}}\n',)


def _truth(answer: Answer, times: TimeFormat) -> Iterable[str]:
    return (f'{_window(answer, times)},"answer":{"true" if answer.columns[0][0] else "false"}}}\n',)


def _events(answer: Answer, times: TimeFormat) -> Iterable[str]:
    return ("".join(f"{line.json(times)}\n" for line in answer.columns[0]),)


_WRITERS: Final[dict[str, Callable[[Answer, TimeFormat], Iterable[str]]]] = {
    "changes": _changes,
    "snapshot": _snapshots,
    "intervals": _intervals,
    "answer sets": _answer_sets,
    "rows": _rows,
    "triples": _triples,
    "truth": _truth,
    "events": _events,
}


def _window(answer: Answer, times: TimeFormat) -> str:
    start, end = times.json(answer.start), times.json(answer.t)
    return f'{{"t":{end},"window":[{start},{end}]'


def _partial(answer: Answer) -> str:
    """How a line goes on that may lack something, and of which predicates facts were shed."""
    return f',"shed":{_listed(answer.shed)},"partial":true' if answer.shed else ""


def _listed(facts: Sequence[str]) -> str:
    # Mostly no character has to be quoted, which one look at all of them shows.
    text = '","'.join(facts)
    if len(quoted(text)) == len(text) + 2 * len(facts):
        return f'["{text}"]'
    # Quoting one string after the other beats `json.dumps`, which sets itself up anew for each of many short lists.
    return f"[{','.join(map(quoted, facts))}]"


def _listed_clashes(clashes: Sequence[str], times: TimeFormat) -> str:
    return f"[{','.join([_at(clash, times) for clash in clashes])}]"


def _at(clash: str, times: TimeFormat) -> str:
    """A clash, which is JSON, with the ticks of its reasons as they are written in this run."""
    return str(BrokenAxiom.read(clash).at(times)) if times.iso else clash
