"""What must not get in does not."""

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from serving import FACTS, RULES, Serving, serving
from thalweg.service.http.tokens import Scope, add_token

BODY = {"sources": [{"name": "jam.lars", "text": RULES}], "streams": ["north"]}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, dict[Scope, str]]]:
    """A service with a token of each scope."""
    folder = tmp_path_factory.mktemp("guarded")
    scopes: tuple[Scope, ...] = ("read", "write", "admin")
    tokens = {scope: add_token(folder / "tokens", scope, scope) for scope in scopes}
    options = ("--tokens", str(folder / "tokens"), "--allow-origin", "https://console.example.org")
    with serving(folder / "data", *options) as service:
        yield service, tokens


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://console.example.org"}, 200),
        ({"Host": "console.example.org"}, 200),
    ],
)
def test_places_are_looked_at(guarded: tuple[Serving, dict[Scope, str]], headers: dict[str, str], status: int) -> None:
    service, tokens = guarded
    for method in ("GET", "POST"):
        answer = service.client.request(method, "/v1/check", json=BODY, headers=headers | bearer(tokens["admin"]))
        assert answer.status_code == (405 if (method, status) == ("GET", 200) else status)


def test_scopes_are_looked_at(guarded: tuple[Serving, dict[Scope, str]]) -> None:
    service, tokens = guarded

    def statuses(method: str, path: str, **request: object) -> list[int]:
        headers = dict(request.pop("headers", {}))  # type: ignore[call-overload]
        callers = [{}, bearer("thw_wrong"), *(bearer(token) for token in tokens.values())]
        return [
            service.client.request(method, path, headers=headers | caller, **request).status_code  # type: ignore[arg-type]
            for caller in callers
        ]

    assert statuses("GET", "/v1/health") == [200] * 5
    assert statuses("GET", "/v1/programs") == [401, 401, 200, 200, 200]
    assert statuses("GET", "/v1/nothing") == [401, 401, 404, 404, 404]
    assert statuses("PUT", "/v1/streams/north", json={}) == [401, 401, 403, 403, 201]
    assert statuses("PUT", "/v1/programs/jam", json=BODY) == [401, 401, 403, 403, 201]
    assert statuses("POST", "/v1/streams/north/facts", content="slow(a) at 1.", headers=FACTS) == [
        401,
        401,
        403,
        200,
        200,
    ]
    assert statuses("GET", "/v1/tokens") == [401, 401, 403, 403, 200]
    assert statuses("POST", "/v1/programs/jam/restart", json={"from": "now"}) == [401, 401, 403, 403, 200]
    assert statuses("DELETE", "/v1/programs/jam") == [401, 401, 403, 403, 204]
    assert statuses("DELETE", "/v1/streams/north") == [401, 401, 403, 403, 204]


def test_tokens_are_listed_without_what_they_are(guarded: tuple[Serving, dict[Scope, str]]) -> None:
    service, tokens = guarded
    answer = service.client.get("/v1/tokens", headers=bearer(tokens["admin"]))
    assert [(token["name"], token["scope"]) for token in answer.json()] == [(name, name) for name in tokens]
    assert all(token.keys() == {"name", "scope", "made"} for token in answer.json())


def test_the_console_has_a_cookie_that_scripts_and_forms_cannot_use(
    guarded: tuple[Serving, dict[Scope, str]],
) -> None:
    service, tokens = guarded
    with httpx.Client(base_url=service.client.base_url) as browser:
        assert browser.post("/v1/session", json={"token": "thw_wrong"}).status_code == 401
        assert browser.post("/v1/session", json=[]).status_code == 400
        cookie = browser.post("/v1/session", json={"token": tokens["admin"]}).headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert browser.get("/v1/programs").status_code == 200
        assert browser.put("/v1/streams/c", json={}).status_code == 403
        assert browser.put("/v1/streams/c", json={}, headers={"X-Thalweg": "1"}).status_code == 201


def test_pages_of_an_allowed_origin_may_read(guarded: tuple[Serving, dict[Scope, str]]) -> None:
    service, tokens = guarded
    origin = {"Origin": "https://console.example.org"}
    asked = origin | {"Access-Control-Request-Method": "PUT"}
    before = service.client.options("/v1/streams/north", headers=asked)
    assert before.status_code == 204
    assert "Authorization" in before.headers["access-control-allow-headers"]
    answer = service.client.get("/v1/programs", headers=origin | bearer(tokens["read"]))
    assert answer.headers["access-control-allow-origin"] == origin["Origin"]
    assert "access-control-allow-origin" not in service.client.get("/v1/health").headers


def test_answers_say_what_browsers_may_do_with_them(served: Serving) -> None:
    for path in ("/v1/health", "/v1/nothing", "/v1/programs/jam/plan.svg"):
        headers = served.client.get(path).headers
        assert headers["content-security-policy"] == "default-src 'self'; frame-ancestors 'none'"
        assert headers["x-content-type-options"] == "nosniff"


def test_what_is_too_large_is_refused(served: Serving) -> None:
    large = b"p(a) at 1. " * (17 * (1 << 20) // 11)
    path = "/v1/streams/north/facts"
    assert served.client.post(path, content=large, headers=FACTS).status_code == 413
    pieces = (large[place : place + (1 << 20)] for place in range(0, len(large), 1 << 20))
    assert served.client.post(path, content=pieces, headers=FACTS).status_code == 413
    source = {"name": "a.lars", "text": "% " + "x" * (1 << 20)}
    assert served.client.put("/v1/programs/large", json={"sources": [source]}).status_code == 413
    assert served.client.put("/v1/streams/wide", json={"map": ["p(x)"] * (1 << 18)}).status_code == 413


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.toml", 'program = "secret.lars"'),
        ("x.lp", '#include "{secret}".'),
        ("x.lp", "#include <{secret}>."),
        ("../x.lars", "%"),
        ("{secret}", ""),
    ],
)
def test_texts_open_no_file(served: Serving, tmp_path: Path, name: str, text: str) -> None:
    secret = tmp_path / "secret.lars"
    secret.write_text("hidden(treasure).")
    source = {"name": name.replace("{secret}", str(secret)), "text": text.replace("{secret}", str(secret))}
    for method, path in (("PUT", "/v1/programs/x"), ("POST", "/v1/playground"), ("POST", "/v1/check")):
        answer = served.client.request(method, path, json={"sources": [source]})
        assert "treasure" not in answer.text
        if method == "PUT" and name != "../x.lars" and text:
            assert answer.status_code == 400, answer.text


_WINDOW = "FROM NAMED WINDOW <w> ON <north> [RANGE 3s, SLIDE 1s]"
_IMPORTS = "<urn:o> a <http://www.w3.org/2002/07/owl#Ontology> ; <http://www.w3.org/2002/07/owl#imports> <{0}> ."
_ENTITY = """<?xml version="1.0"?><!DOCTYPE rdf:RDF [<!ENTITY x SYSTEM "{0}">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:e="urn:e:"><e:C rdf:about="urn:a"><e:p>&x;</e:p></e:C></rdf:RDF>"""
ADDRESSES = [
    ("x.lp", '#script (python) import urllib.request; urllib.request.urlopen("{0}") #end. a :- p.', "E501"),
    ("x.lp", 'a(@open("{0}")) :- p.', "E501"),
    ("x.rspql", f"SELECT ?s FROM <{{0}}> {_WINDOW} {{{{ WINDOW <w> {{{{ ?s ?p ?o }}}} }}}}", "W611"),
    (
        "x.rspql",
        f"SELECT ?s {_WINDOW} {{{{ WINDOW <w> {{{{ ?s ?p ?o }}}} SERVICE <{{0}}> {{{{ ?s ?p ?o }}}} }}}}",
        "E604",
    ),
    ("x.rspql", "LOAD <{0}>", "E604"),
    ("x.ttl", _IMPORTS, "W409"),
    ("x.ofn", "Ontology(<urn:o> Import(<{0}>) SubClassOf(<urn:A> <urn:B>))", "W409"),
    ("x.omn", "Ontology: <urn:o> Import: <{0}> Class: <urn:A> SubClassOf: <urn:B>", "W409"),
    ("x.owl", _ENTITY, "E305"),
    ("x.jsonld", '{{"@context": "{0}", "@id": "urn:a"}}', "E101"),
    ("x.jsonld", '{{"@context": {{"@import": "{0}"}}, "@id": "urn:a"}}', "E101"),
]


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A port at which nobody should come by."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def addresses(listener: socket.socket, folder: Path) -> list[str]:
    """That of the port, and that of a file."""
    (folder / "secret").write_text("treasure")
    return [f"http://127.0.0.1:{listener.getsockname()[1]}/", (folder / "secret").as_uri()]


@pytest.mark.parametrize(("name", "text", "code"), ADDRESSES)
def test_no_address_of_a_program_is_opened(
    served: Serving, tmp_path: Path, listener: socket.socket, name: str, text: str, code: str
) -> None:
    is_taken = code.startswith("W")
    for address in addresses(listener, tmp_path):
        body = {"sources": [{"name": name, "text": text.format(address)}], "streams": ["north"]}
        put = served.client.put("/v1/programs/x", json=body)
        assert put.status_code == (201 if is_taken else 400), put.text
        checked = served.client.post("/v1/check", json=body)
        assert checked.json()["ok"] == is_taken
        assert code in {diagnostic["code"] for diagnostic in checked.json()["diagnostics"]}
        assert "treasure" not in put.text + checked.text
        if is_taken:
            assert code in {warning["code"] for warning in put.json()["warnings"]}
            served.client.delete("/v1/programs/x").raise_for_status()


@pytest.mark.parametrize("context", ['"{0}"', '{{"@import": "{0}"}}', '["{0}", {{}}]'])
def test_no_address_of_facts_is_opened(served: Serving, tmp_path: Path, listener: socket.socket, context: str) -> None:
    for address in addresses(listener, tmp_path):
        body = '{"@context": ' + context.format(address) + ', "@id": "urn:g", "@graph": {"@id": "urn:a"}}'
        headers = {"Content-Type": "application/ld+json"}
        answer = served.client.post("/v1/streams/north/facts", content=body, headers=headers)
        assert answer.status_code == 400, answer.text
        assert "treasure" not in answer.text
