"""Mappings as they are typed."""

import pytest

from thalweg.connectors.mapping.mapping import EACH, Cell, ConstantArgument, Mapping, Path, Template, Time
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.diagnostics import RejectedError
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import Prefixes

EX = Prefixes((("ex", "http://example.org/"),))


def cell(*steps: str | None, kind: str = "any") -> Cell:
    return Cell(Path(steps), kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "predicate", "arguments", "time", "stream"),
    [
        ("temp(device, v) at ts", "temp", (cell("device"), cell("v")), Time(Path(("ts",))), None),
        ("temp(device_id, meta.temp) at ts ms", "temp", (cell("device_id"), cell("meta", "temp")), "ms", None),
        ("temp(r[].id, r[].v)", "temp", (cell("r", EACH, "id"), cell("r", EACH, "v")), None, None),
        ("temp(`a name`, `x.y`.z)", "temp", (cell("a name"), cell("x.y", "z")), None, None),
        (
            'p("b c", "road1", 44.0, -2.50)',
            "p",
            tuple(map(ConstantArgument, ('"b c"', "road1", "44", "-2.5"))),
            None,
            None,
        ),
        ("p(number(a), text(b))", "p", (cell("a", kind="number"), cell("b", kind="text")), None, None),
        ("p(number, text)", "p", (cell("number"), cell("text")), None, None),
        ("p(<http://a/{d}/{r.x}>)", "p", (Template(("http://a/", Path(("d",)), "/", Path(("r", "x")))),), None, None),
        ("p(<http://a/b>)", "p", (ConstantArgument("<http://a/b>"),), None, None),
        ("north: temp(v) at ts s", "temp", (cell("v"),), "s", "north"),
        ("`north side`: ex:temp(v)", "<http://example.org/temp>", (cell("v"),), None, "north side"),
        ("<http://a/p>(v) at at", "<http://a/p>", (cell("v"),), Time(Path(("at",))), None),
        ("beat at ts", "beat", (), Time(Path(("ts",))), None),
        ("  temp ( v )  at  ts  ns  ", "temp", (cell("v"),), "ns", None),
        ("temp(luft-temp, größe)", "temp", (cell("luft-temp"), cell("größe")), None, None),
    ],
)
def test_what_is_typed_is_read(
    text: str, predicate: str, arguments: tuple[Cell, ...], time: Time | str | None, stream: str | None
) -> None:
    wanted = Time(Path(("ts",)), time) if isinstance(time, str) else time  # type: ignore[arg-type]
    assert read_mappings(text, EX) == (Mapping(Predicate(predicate, len(arguments)), arguments, wanted, stream),)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected the name of a predicate"),
        ("Temp(v)", 1, "expected the name of a predicate"),
        ("temp(a b)", 8, "expected `,` or `)`"),
        ("temp(a", 7, "expected `,` or `)`"),
        ("temp(2m)", 6, "expected a column's name"),
        ("temp(0042)", 6, "expected a column's name"),
        ("temp(a) at ts days", 15, "expected the end"),
        ("temp(a) on ts", 9, "expected `at`"),
        ("temp(a[].x, b[].y)", 1, "elements of two arrays"),
        ("temp(number(a)", 15, "expected `,` or `)`"),
        ("temp(<>)", 6, "this IRI is empty"),
        ("no:temp(a)", 1, "the prefix `no:` is not declared"),
    ],
)
def test_what_is_wrong_has_a_place(text: str, column: int, message: str) -> None:
    with pytest.raises(RejectedError) as raised:
        read_mappings(text, EX)
    (found,) = raised.value.diagnostics
    assert message in found.message
    assert found.span.source.position(found.span.start) == (1, column)
    assert found.help


def test_all_that_is_wrong_comes_at_once() -> None:
    with pytest.raises(RejectedError) as raised:
        read_mappings(["temp(", "p(a)", "Q(b)"])
    assert len(raised.value.diagnostics) == 2
