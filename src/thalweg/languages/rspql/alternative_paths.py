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
    lexemes = tokens(text)
    for place, token in enumerate(lexemes):
        path = _path(lexemes, place) if token.kind == "sign" and token.text == "|" else None
        if path is not None:
            start, end = _statement(lexemes, path.start)
            if any(lexeme.kind == "blank" for lexeme in lexemes[start:end]):
                continue
            if (comma := _next(lexemes, ",", path.whole[1], end)) is not None:
                again = text[lexemes[path.whole[0]].start : lexemes[path.whole[1] - 1].end]
                yield f"{text[: lexemes[comma].start]}; {again}{text[lexemes[comma].end :]}"
            if (mark := _next(lexemes, ";", start, end)) is not None and lexemes[start].kind != "sign":
                # There may be nothing behind a semicolon.
                is_last = mark + 1 == end or lexemes[mark + 1].text == ";"
                again = "" if is_last else f". {lexemes[start].text}"
                yield f"{text[: lexemes[mark].start].rstrip()} {again}{text[lexemes[mark].end :]}"
            before, after = text[lexemes[start].start : lexemes[path.start].start], text[lexemes[path.end - 1].end :]
            remainder = after[: lexemes[end - 1].end - lexemes[path.end - 1].end]
            written = (text[lexemes[first].start : lexemes[behind - 1].end] for first, behind in path.alternatives)
            copies = (f"{{ {before}{path.shape.format(alternative)}{remainder} }}" for alternative in written)
            yield f"{text[: lexemes[start].start]}{' UNION '.join(copies)}{after[len(remainder) :]}"


def _path(lexemes: Sequence[Token], place: int) -> _Path | None:
    """The alternatives that a bar stands between; None where pairs count once, and in `!(:p|:q)`.

    Those that stand within another alternative are None, too, as long as that has not been spelled out.
    """
    opening = _enclosing(lexemes, place)
    if lexemes[opening].text != "(":
        start, end = _first_of_path(lexemes, place), _behind_path(lexemes, place + 1)
        return _Path(start, end, _alternatives(lexemes, start, end), "{}", (start, end))
    end = _closed(lexemes, opening)
    around = [opening]
    while lexemes[around[-1]].text == "(":
        if _is_repetition(lexemes, _closed(lexemes, around[-1])) or lexemes[around[-1] - 1].text == "!":
            return None
        around.append(_enclosing(lexemes, around[-1]))
    extent = _first_of_path(lexemes, around[-2]), _behind_path(lexemes, around[-2])
    if any(_enclosing(lexemes, bar) in around[1:] for bar in _bars(lexemes, *extent)):
        return None
    return _Path(opening, end, _alternatives(lexemes, opening + 1, end - 1), "({})", extent)


def _alternatives(lexemes: Sequence[Token], start: int, end: int) -> list[tuple[int, int]]:
    outside = _enclosing(lexemes, start)
    bars = [bar for bar in _bars(lexemes, start, end) if _enclosing(lexemes, bar) == outside]
    return list(zip([start, *(bar + 1 for bar in bars)], [*bars, end], strict=True))


def _bars(lexemes: Sequence[Token], start: int, end: int) -> list[int]:
    return [place for place in range(start, end) if lexemes[place].text == "|" and lexemes[place].kind == "sign"]


def _next(lexemes: Sequence[Token], sign: str, place: int, end: int) -> int | None:
    """The next comma between objects, or semicolon, that is not in brackets of its own."""
    while place < end and lexemes[place].text not in {";", "]"} - {sign}:
        if lexemes[place].text == sign:
            return place
        place = _closed(lexemes, place) if lexemes[place].text in ("(", "[") else place + 1
    return None


def _first_of_path(lexemes: Sequence[Token], place: int) -> int:
    """The first token of a path without brackets around it, of which a bar or the beginning of an element is known."""
    while True:
        while lexemes[place - 1].text in ("^", "!"):
            place -= 1
        if lexemes[place].text not in ("|", "/"):
            if lexemes[place - 1].text not in ("|", "/"):
                return place
            place -= 1
        place -= 1
        if lexemes[place].kind == "sign" and lexemes[place].text in "*+?":
            place -= 1
        if lexemes[place].text == ")":
            place = _enclosing(lexemes, place)


def _behind_path(lexemes: Sequence[Token], place: int) -> int:
    """The token behind a path that has begun before a place, where one of its elements begins."""
    while True:
        while lexemes[place].text in ("^", "!"):
            place += 1
        place = _closed(lexemes, place) if lexemes[place].text == "(" else place + 1
        place += _is_repetition(lexemes, place)
        if lexemes[place].text not in ("|", "/"):
            return place
        place += 1


def _is_repetition(lexemes: Sequence[Token], place: int) -> bool:
    """Whether a token is `*`, `+` or `?` of a path, and not the sign of a number."""
    token, after = lexemes[place], lexemes[place + 1]
    is_number = token.text == "+" and after.kind == "number" and after.start == token.end
    return token.kind == "sign" and token.text in "*+?" and not is_number


def _statement(lexemes: Sequence[Token], path: int) -> tuple[int, int]:
    """The triples that a path stands in, up to a full stop or to what is not a triple."""
    group = _enclosing(lexemes, path)
    while lexemes[group].text != "{":
        group = _enclosing(lexemes, group)
    end = _closed(lexemes, group) - 1
    start = place = group + 1
    while place < end:
        token = lexemes[place]
        if token.text == "." or token.text == "{" or token.says(*_ELEMENTS, *_CONSTRAINTS):
            if start <= path < place:
                return start, place
            while token.text != "." and not _ends_element(lexemes[place], token):
                place = _closed(lexemes, place) if lexemes[place].text == "(" else place + 1
            place = start = place + 1 if token.text == "." else _closed(lexemes, place)
        else:
            place = _closed(lexemes, place) if token.text in ("(", "[") and token.kind == "sign" else place + 1
    return start, end


def _ends_element(token: Token, element: Token) -> bool:
    return token.text == "{" or (token.text == "(" and element.says(*_CONSTRAINTS))


def _enclosing(lexemes: Sequence[Token], place: int) -> int:
    """The bracket that is open at a place."""
    depth = 0
    while True:
        place -= 1
        if lexemes[place].kind == "sign":
            depth += lexemes[place].text in (")", "]", "}")
            if lexemes[place].text in ("(", "[", "{"):
                if depth == 0:
                    return place
                depth -= 1


def _closed(lexemes: Sequence[Token], opening: int) -> int:
    """The place behind the bracket that closes another one."""
    end = closing(lexemes, opening)
    assert end is not None
    return end + 1
