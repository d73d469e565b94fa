"""The demonstration tells of something that begins and ends, and the same thing every time."""

from io import StringIO

from rich.console import Console

from thalweg.demo import city, main


def shown() -> str:
    text = StringIO()
    main(Console(file=text, width=120, force_terminal=False))
    return text.getvalue()


def test_the_city_is_the_same_every_time() -> None:
    assert list(city(200)) == list(city(200))


def test_conclusions_begin_and_end() -> None:
    text = shown()
    for kind in ("jam", "standstill", "queue", "unexplained"):
        assert f"+ {kind}(" in text
        assert f"- {kind}(" in text
    assert "held longest" in text
