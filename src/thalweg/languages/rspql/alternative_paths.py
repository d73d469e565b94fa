"""`?s (:p|:q) ?o` as a UNION, since the store gives each pair of a path with alternatives once.

    ?s (:p|:q)/:r ?o      { ?s (:p)/:r ?o } UNION { ?s (:q)/:r ?o }
    ?s :p|:q ?o, ?n       ?s :p|:q ?o ; :p|:q ?n and then ?s :p|:q ?o . ?s :p|:q ?n

That is what SPARQL says of `|`: a pair counts for each alternative. Under `*`, `+` and `?` pairs count once anyway. A
statement with a labelled blank node stays as it is, since its label may stand in others.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from thalweg.languages.rspql.lexer import Token, closing, tokens

_ELEMENTS: Final = ("OPTIONAL", "MINUS", "GRAPH", "VALUES", "UNION", "SERVICE")
_CONSTRAINTS: Final = ("FILTER", "BIND")


class _Path(NamedTuple):
    """Alternatives among tokens: where all of them are, with brackets around, and each of them; and the whole path."""

    start: int
    end: int
    alternatives: list[tuple[int, int]]
    shape: str
    whole: tuple[int, int]


def alternatives_apart(text: str) -> str:
    """A query in which a pair counts for each alternative of a path, however the store counts.

    >>> alternatives_apart("ASK { ?s :a 1 ; :p|^:q ?o . ?s (:p|:q)* ?o }")
    'ASK { ?s :a 1 . { ?s :p ?o } UNION { ?s ^:q ?o } . ?s (:p|:q)* ?o }'
    """
    while (spelled := next(_spelled_out(text), None)) is not None:
        text = spelled
    return text


def _spelled_out(text: str) -> Iterator[str]:
    found = tokens(text)
    for place, token in enumerate(found):
        path = _path(found, place) if token.kind == "sign" and token.text == "|" else None
        if path is not None:
            start, end = _statement(found, path.start)
            if any(each.kind == "blank" for each in found[start:end]):
                continue
            if (comma := _next(found, ",", path.whole[1], end)) is not None:
                again = text[found[path.whole[0]].start : found[path.whole[1] - 1].end]
                yield f"{text[: found[comma].start]}; {again}{text[found[comma].end :]}"
            if (mark := _next(found, ";", start, end)) is not None and found[start].kind != "sign":
                # There may be nothing behind a semicolon.
                is_last = mark + 1 == end or found[mark + 1].text == ";"
                again = "" if is_last else f". {found[start].text}"
                yield f"{text[: found[mark].start].rstrip()} {again}{text[found[mark].end :]}"
            before, after = text[found[start].start : found[path.start].start], text[found[path.end - 1].end :]
            rest = after[: found[end - 1].end - found[path.end - 1].end]
            written = (text[found[first].start : found[behind - 1].end] for first, behind in path.alternatives)
            copies = (f"{{ {before}{path.shape.format(one)}{rest} }}" for one in written)
            yield f"{text[: found[start].start]}{' UNION '.join(copies)}{after[len(rest) :]}"


def _path(found: Sequence[Token], place: int) -> _Path | None:
    """The alternatives that a bar stands between; None where pairs count once, and in `!(:p|:q)`.

    Those that stand within another alternative are None, too, as long as that has not been spelled out.
    """
    opening = _enclosing(found, place)
    if found[opening].text != "(":
        start, end = _first_of_path(found, place), _behind_path(found, place + 1)
        return _Path(start, end, _alternatives(found, start, end), "{}", (start, end))
    end = _closed(found, opening)
    around = [opening]
    while found[around[-1]].text == "(":
        if _is_repetition(found, _closed(found, around[-1])) or found[around[-1] - 1].text == "!":
            return None
        around.append(_enclosing(found, around[-1]))
    whole = _first_of_path(found, around[-2]), _behind_path(found, around[-2])
    if any(_enclosing(found, bar) in around[1:] for bar in _bars(found, *whole)):
        return None
    return _Path(opening, end, _alternatives(found, opening + 1, end - 1), "({})", whole)


def _alternatives(found: Sequence[Token], start: int, end: int) -> list[tuple[int, int]]:
    outside = _enclosing(found, start)
    bars = [bar for bar in _bars(found, start, end) if _enclosing(found, bar) == outside]
    return list(zip([start, *(bar + 1 for bar in bars)], [*bars, end], strict=True))


def _bars(found: Sequence[Token], start: int, end: int) -> list[int]:
    return [place for place in range(start, end) if found[place].text == "|" and found[place].kind == "sign"]


def _next(found: Sequence[Token], sign: str, place: int, end: int) -> int | None:
    """The next comma between objects, or semicolon, that is not in brackets of its own."""
    while place < end and found[place].text not in {";", "]"} - {sign}:
        if found[place].text == sign:
            return place
        place = _closed(found, place) if found[place].text in ("(", "[") else place + 1
    return None


def _first_of_path(found: Sequence[Token], place: int) -> int:
    """The first token of a path without brackets around it, of which a bar or the beginning of an element is known."""
    while True:
        while found[place - 1].text in ("^", "!"):
            place -= 1
        if found[place].text not in ("|", "/"):
            if found[place - 1].text not in ("|", "/"):
                return place
            place -= 1
        place -= 1
        if found[place].kind == "sign" and found[place].text in "*+?":
            place -= 1
        if found[place].text == ")":
            place = _enclosing(found, place)


def _behind_path(found: Sequence[Token], place: int) -> int:
    """The token behind a path that has begun before a place, where one of its elements begins."""
    while True:
        while found[place].text in ("^", "!"):
            place += 1
        place = _closed(found, place) if found[place].text == "(" else place + 1
        place += _is_repetition(found, place)
        if found[place].text not in ("|", "/"):
            return place
        place += 1


def _is_repetition(found: Sequence[Token], place: int) -> bool:
    """Whether a token is `*`, `+` or `?` of a path, and not the sign of a number."""
    token, after = found[place], found[place + 1]
    is_number = token.text == "+" and after.kind == "number" and after.start == token.end
    return token.kind == "sign" and token.text in "*+?" and not is_number


def _statement(found: Sequence[Token], path: int) -> tuple[int, int]:
    """The triples that a path stands in, up to a full stop or to what is not a triple."""
    group = _enclosing(found, path)
    while found[group].text != "{":
        group = _enclosing(found, group)
    end = _closed(found, group) - 1
    start = place = group + 1
    while place < end:
        token = found[place]
        if token.text == "." or token.text == "{" or token.says(*_ELEMENTS, *_CONSTRAINTS):
            if start <= path < place:
                return start, place
            while token.text != "." and not _ends_element(found[place], token):
                place = _closed(found, place) if found[place].text == "(" else place + 1
            place = start = place + 1 if token.text == "." else _closed(found, place)
        else:
            place = _closed(found, place) if token.text in ("(", "[") and token.kind == "sign" else place + 1
    return start, end


def _ends_element(token: Token, element: Token) -> bool:
    return token.text == "{" or (token.text == "(" and element.says(*_CONSTRAINTS))


def _enclosing(found: Sequence[Token], place: int) -> int:
    """The bracket that is open at a place."""
    depth = 0
    while True:
        place -= 1
        if found[place].kind == "sign":
            depth += found[place].text in (")", "]", "}")
            if found[place].text in ("(", "[", "{"):
                if depth == 0:
                    return place
                depth -= 1


def _closed(found: Sequence[Token], opening: int) -> int:
    """The place behind the bracket that closes another one."""
    end = closing(found, opening)
    assert end is not None
    return end + 1
