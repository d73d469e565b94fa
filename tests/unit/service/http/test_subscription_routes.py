"""Subscriptions through HTTP: what can be added and taken away, and what is said of the rest."""

from collections.abc import Iterator
from typing import Any

import pytest

from services import KINDS
from serving import Serving

PATH = "/v1/programs/city/subscriptions"
TEXT = {"Content-Type": "text/plain"}
THRICE = "MATCH EVERY :Slow SEQ :Slow SEQ :Slow WITHIN (6 s)"


def body(sources: dict[str, str], stream: str) -> dict[str, Any]:
    return {"sources": [{"name": name, "text": text} for name, text in sources.items()], "streams": [stream]}


@pytest.fixture(scope="module")
def city(served: Serving) -> Iterator[Serving]:
    """A service with a program of events that has a subscription, `seen`, and one that uses it, `again`."""
    answer = served.client.put("/v1/programs/city", json=body(KINDS["mixed"]["sources"], "roads"))
    assert answer.status_code == 201, answer.text
    assert put(served, "seen", "AS :Seen").json() == {"from": None}
    assert put(served, "again", "MATCH EVERY :seen SEQ :seen WITHIN (9 s)").status_code == 201
    yield served
    served.client.delete("/v1/programs/city")


def put(service: Serving, name: str, text: str, path: str = PATH) -> Any:
    return service.client.put(f"{path}/{name}", content=text.encode(), headers=TEXT)


def diagnostic(answer: Any, status: int) -> dict[str, Any]:
    """The error of a refused request, after which nothing has changed."""
    assert answer.status_code == status, answer.text
    about: dict[str, Any] = next(one for one in answer.json()["diagnostics"] if one["severity"] == "error")
    return about


def test_what_is_added_is_listed_and_output_until_it_is_taken_away(city: Serving) -> None:
    assert put(city, "mine", THRICE).status_code == 201
    assert put(city, "mine", THRICE).status_code == 200
    listed = city.client.get("/v1/programs/city").json()["subscriptions"]
    assert [(one["name"], one["text"]) for one in listed][-1] == ("mine", THRICE)
    assert city.client.delete(f"{PATH}/mine").status_code == 204
    assert diagnostic(city.client.delete(f"{PATH}/mine"), 404)["code"] == "E801"
    assert [one["name"] for one in city.client.get("/v1/programs/city").json()["subscriptions"]] == ["seen", "again"]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("MATCH EVERY :Slow\n  SEQ SEQ :Slow", "E101", (2, 7, 2, 10)),
        ("MATCH EVERY :Slow SEQ\n:Fast WITHIN (3 s)", "E801", (2, 1, 2, 6)),
        ("AS :Slow and\n   (:near some :Slow", "E101", (2, 4, 2, 5)),
        ("AS :Seen and :Sloww", "E702", (1, 14, 1, 20)),
        ("MATCH EVERY :Slow SEQ NOT :Slow", "E804", (1, 23, 1, 26)),
        ("\n\n  see :Slow", "E101", (3, 3, 3, 6)),
        ("MATCH EVERY :Slow IF { EVENT :Slow { ?o :at ?r . FILTER(?x > 3) } }", "E806", (1, 57, 1, 59)),
    ],
)
def test_what_is_wrong_with_a_text_has_its_place_there(
    city: Serving, text: str, code: str, place: tuple[int, int, int, int]
) -> None:
    wrong = diagnostic(put(city, "wrong", text), 400)
    found = wrong["line"], wrong["column"], wrong["end_line"], wrong["end_column"]
    assert (wrong["code"], found) == (code, place), wrong


@pytest.mark.parametrize(("name", "status"), [("seen", 409), ("Twice", 409), ("jam", 201), ("2nd", 400), ("a.b", 400)])
def test_a_name_is_used_once(city: Serving, name: str, status: int) -> None:
    assert put(city, name, THRICE).status_code == status
    city.client.delete(f"{PATH}/{name}") if status == 201 else None


def test_what_another_definition_uses_stays(city: Serving) -> None:
    assert "`again` uses `seen`" in diagnostic(city.client.delete(f"{PATH}/seen"), 409)["message"]


def test_only_a_cascade_that_runs_takes_subscriptions(city: Serving) -> None:
    assert diagnostic(put(city, "x", THRICE, "/v1/programs/jam/subscriptions"), 400)["code"] == "E817"
    assert diagnostic(put(city, "x", THRICE, "/v1/programs/nowhere/subscriptions"), 404)["code"] == "E903"
    undecodable = city.client.put(f"{PATH}/x", content=b"AS :Se\xffn", headers=TEXT)
    assert "UTF-8" in diagnostic(undecodable, 400)["message"]
