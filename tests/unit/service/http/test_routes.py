"""What requests are answered with."""

import json
import re
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from serving import RULES, Serving

SOURCES = [{"name": "jam.lars", "text": RULES}]
TEXT = {"Content-Type": "text/plain"}


def codes(answer: Any) -> list[str]:
    return [diagnostic["code"] for diagnostic in answer.json()["diagnostics"]]


def test_it_lives_and_is_ready(served: Serving) -> None:
    assert served.client.get("/v1/health").json()["status"] == "ok"
    assert served.client.get("/v1/ready").json() == {"ready": True}


def test_lines_are_those_of_a_run(served: Serving) -> None:
    answer = served.client.get("/v1/programs/jam/lines?limit=3")
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.text == (
        '{"t":1,"begin":["jam(a)"],"end":[]}\n{"t":3,"begin":["jam(b)"],"end":[]}\n{"t":12,"begin":[],"end":["jam(a)"]}\n'
    )
    rest = served.client.get("/v1/programs/jam/lines", params={"after": answer.headers["next"]})
    assert rest.text == '{"t":14,"begin":[],"end":["jam(b)"]}\n'
    again = served.client.get("/v1/programs/jam/lines", params={"after": rest.headers["next"]})
    assert (again.text, again.headers["next"]) == ("", rest.headers["next"])


@pytest.mark.parametrize(("after", "status"), [("2-1", 410), ("0-7", 410), ("x", 400), ("1", 400)])
def test_lines_that_are_not_there_are_refused(served: Serving, after: str, status: int) -> None:
    answer = served.client.get("/v1/programs/jam/lines", params={"after": after})
    assert answer.status_code == status
    assert answer.headers.get("next") == ("1-0" if status == 410 else None)


def test_facts_are_read_page_by_page(served: Serving) -> None:
    served.client.put("/v1/streams/pages", json={})
    served.put_program("pages", "jam(X) :- slow(X) in [10]. fast(X) :- quick(X).", ("pages",))
    served.post("slow(c) at 1.\nslow(a) at 2.\nslow(b) at 3.\nquick(z) at 3.\nslow(d) at 5.", "pages")
    served.lines("pages", "jam(b)")
    read = served.client.get("/v1/programs/pages/facts", params={"match": "jam(*)", "limit": 2}).json()
    assert [fact["fact"] for fact in read["facts"]] == ["jam(a)", "jam(b)"]
    assert read["facts"][0] == {"fact": "jam(a)", "since": 2, "until": 12}
    last = served.client.get("/v1/programs/pages/facts", params={"match": "jam(*)", "after": read["next"]}).json()
    assert ([fact["fact"] for fact in last["facts"]], last["next"]) == (["jam(c)"], None)


def test_a_body_is_taken_once_by_its_key(served: Serving) -> None:
    headers = TEXT | {"Idempotency-Key": "k1"}
    served.client.put("/v1/streams/keys", json={})
    first = served.client.post("/v1/streams/keys/facts", content="p(a) at 1.", headers=headers)
    assert served.client.post("/v1/streams/keys/facts", content="p(a) at 1.", headers=headers).json() == first.json()
    records = served.client.get("/v1/streams/keys/facts").json()["records"]
    assert [(record["type"], record["text"]) for record in records] == [("text/plain", "p(a) at 1.")]
    assert served.client.get("/v1/streams/keys/facts", params={"after": records[0]["seq"]}).json() == {"records": []}


def test_bad_lines_are_refused_or_skipped(served: Serving) -> None:
    served.client.put("/v1/streams/bad", json={})
    text = "p(a) at 1.\np(a at 2.\np(b) at 3.\n"
    refused = served.client.post("/v1/streams/bad/facts", content=text, headers=TEXT)
    assert (refused.status_code, codes(refused)) == (400, ["E301"])
    assert served.client.get("/v1/streams/bad/facts").json() == {"records": []}
    skipped = served.client.post("/v1/streams/bad/facts?on_error=skip", content=text, headers=TEXT).json()
    assert (skipped["facts"], skipped["skipped"], len(skipped["diagnostics"])) == (2, 1, 1)
    assert served.client.get("/v1/streams/bad").json()["malformed"] == 2


def test_help_is_about_streams(served: Serving) -> None:
    served.client.put("/v1/streams/help", json={}).raise_for_status()
    headers = {"Content-Type": "application/json"}
    wrong = served.client.post("/v1/streams/help/facts", content='{"dev": "a", "ts": 3, "v": 1}', headers=headers)
    (diagnostic,) = wrong.json()["diagnostics"]
    mapping = json.loads(diagnostic["help"].partition("`PUT ")[2].rstrip("`"))
    served.client.put("/v1/streams/help", json=mapping).raise_for_status()
    again = served.client.post("/v1/streams/help/facts", content='{"dev": "a", "ts": 3, "v": 1}', headers=headers)
    assert again.json()["facts"] == 1


def test_a_program_is_put_replaced_and_deleted(served: Serving) -> None:
    body = {"sources": SOURCES, "streams": ["north"]}
    made = served.client.put("/v1/programs/mine", json=body)
    assert (made.status_code, made.headers["etag"], made.json()["generation"]) == (201, '"1"', 1)
    again = served.client.put("/v1/programs/mine", json=body)
    assert (again.status_code, again.headers["etag"]) == (200, '"1"')
    other = body | {"sources": [{"name": "jam.lars", "text": RULES.replace("10", "20")}]}
    assert served.client.put("/v1/programs/mine", json=other, headers={"If-Match": '"7"'}).status_code == 412
    assert served.client.put("/v1/programs/mine", json=other, headers={"If-Match": "x"}).status_code == 412
    changed = served.client.put("/v1/programs/mine", json=other, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    assert "mine" in [program["name"] for program in served.client.get("/v1/programs").json()]
    assert served.client.delete("/v1/programs/mine").status_code == 204
    assert served.client.get("/v1/programs/mine").status_code == 404


def test_a_stream_that_is_read_is_not_deleted(served: Serving) -> None:
    refused = served.client.delete("/v1/streams/north")
    assert refused.status_code == 409
    assert "`jam`" in refused.text
    served.client.put("/v1/streams/gone", json={"map": ["p(x)"]}).raise_for_status()
    assert served.client.delete("/v1/streams/gone").status_code == 204
    assert served.client.get("/v1/streams/gone").status_code == 404


def test_why_says_why_and_why_not(served: Serving) -> None:
    why = served.client.get("/v1/programs/jam/why", params={"fact": "jam(b)", "at": "4"}).json()
    assert (why["t"], why["proof"]["claim"]) == (4, "jam(b)")
    absent = served.client.get("/v1/programs/jam/why", params={"fact": "jam(q)"})
    assert (absent.status_code, codes(absent)) == (404, ["E405"])
    assert absent.json()["why_not"]["claim"] == "jam(q)"
    assert served.client.get("/v1/programs/jam/why").status_code == 400


def test_history_late_lines_and_plan(served: Serving) -> None:
    drawn = served.client.get("/v1/programs/jam/history", params={"match": "jam(b)"}).json()
    assert [row[0] for group in drawn["groups"] for row in group["rows"]] == ["jam(b)"]
    served.post("slow(a) at 2.")
    served.post("slow(e) at 31. slow(e) at 32.")
    served.lines("jam", "jam(e)")
    late = served.client.get("/v1/programs/jam/late").text.splitlines()
    assert "slow(a)" in late[0]
    assert isinstance(json.loads(late[0]), dict)
    assert "counts" in served.client.get("/v1/programs/jam/plan").json()
    assert served.client.get("/v1/programs/jam/plan.svg").text.startswith("<svg")


def test_check_says_what_is_wrong(served: Serving) -> None:
    assert served.client.post("/v1/check", json={"sources": SOURCES}).json()["ok"] is True
    wrong = served.client.post("/v1/check", json={"sources": [{"name": "a.lars", "text": "jam(X :- p."}]}).json()
    assert wrong["ok"] is False
    assert wrong["diagnostics"][0]["end_column"] > wrong["diagnostics"][0]["column"]


def test_a_playground_is_played(served: Serving) -> None:
    body = {"sources": SOURCES, "stream": {"name": "s.facts", "text": "slow(a) at 1."}, "why": ["jam(a)"], "to": 2}
    played = served.client.post("/v1/playground", json=body).json()
    assert played["lines"] == [{"t": 1, "begin": ["jam(a)"], "end": []}]
    assert played["proofs"]["jam(a)"]


def test_metrics_have_the_names_of_the_contract(served: Serving) -> None:
    text = served.client.get("/v1/metrics").text
    names = set(re.findall(r"^(\w+(?:\{\w+=)?)", text, re.MULTILINE))
    by_stream, by_program = "facts_total malformed_total", "late_total lines_total deliveries_total subscribers"
    by_program += " program_tick program_lag_records program_holding program_bytes program_cpu_seconds_total"
    assert {f"thalweg_{name}{{stream=" for name in by_stream.split()} <= names
    assert {f"thalweg_{name}{{program=" for name in by_program.split()} <= names
    plain = {"process_cpu_seconds_total", "process_resident_memory_bytes"}
    assert plain | {"thalweg_log_bytes", "thalweg_loop_gap_seconds"} <= names


def test_metrics_are_what_prometheus_reads(served: Serving) -> None:
    answer = served.client.get("/v1/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    families = list(text_string_to_metric_families(answer.text))
    assert len({family.name for family in families}) == len(families)
    assert all(family.documentation and family.samples for family in families)
    for family in families:
        assert family.type in ("counter", "gauge"), family
        assert all(sample.value >= 0 for sample in family.samples)
        assert all(sample.name.endswith("_total") == (family.type == "counter") for sample in family.samples), family


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/nothing", None, 404),
        ("GET", "/v1/streams/none", None, 404),
        ("GET", "/v1/streams/none/facts", None, 404),
        ("DELETE", "/v1/streams/none", None, 404),
        ("GET", "/v1/programs/none", None, 404),
        ("GET", "/v1/programs/none/events", None, 404),
        ("DELETE", "/v1/programs/none", None, 404),
        ("POST", "/v1/programs/jam", {}, 405),
        ("PATCH", "/v1/health", {}, 405),
        ("PUT", "/v1/streams/7up", {}, 400),
        ("PUT", "/v1/streams/a%2e%2e", {}, 400),
        ("PUT", "/v1/streams/..%2fx", {}, 404),
        ("PUT", "/v1/programs/..%2fx", {}, 404),
        ("PUT", f"/v1/programs/{'a' * 65}", {}, 400),
        ("PUT", "/v1/programs/p", [], 400),
        ("PUT", "/v1/programs/p", {"sources": []}, 400),
        ("PUT", "/v1/streams/s", [], 400),
        ("PUT", "/v1/streams/s", {"map": ["p("]}, 400),
        ("POST", "/v1/programs/jam/restart", {"from": "tomorrow"}, 400),
        ("POST", "/v1/playground", [], 400),
        ("GET", "/v1/programs/jam/facts?limit=many", None, 400),
        ("GET", "/v1/programs/jam/facts?match=jam(", None, 400),
        ("GET", "/v1/programs/jam/events?after=7", None, 400),
        ("GET", "/v1/programs/jam/events?until=maybe", None, 400),
        ("GET", "/v1/programs/jam/facts?limt=3", None, 400),
        ("GET", "/v1/programs/jam/facts?limit=3&limit=4", None, 400),
        ("GET", "/v1/health?x=1", None, 400),
        ("PUT", "/v1/streams/s", {"from": "mqtt://broker/readings"}, 400),
        ("PUT", "/v1/programs/p", {"sources": SOURCES, "streams": ["s"], "from": None}, 400),
        ("POST", "/v1/streams/north/facts?on_error=panic", {}, 400),
    ],
)
def test_what_makes_no_sense_is_refused(served: Serving, method: str, path: str, body: Any, status: int) -> None:
    answer = served.client.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    assert codes(answer)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "image/png"}, 415),
        ({}, 415),
        (TEXT | {"Content-Encoding": "gzip"}, 415),
        ({"Content-Type": "text/plain; charset=latin-1"}, 415),
        ({"Content-Type": 'text/plain; charset="UTF-8"'}, 200),
        (TEXT | {"Idempotency-Key": "k" * 300}, 400),
    ],
)
def test_bodies_of_other_kinds_are_refused(served: Serving, headers: dict[str, str], status: int) -> None:
    answer = served.client.post("/v1/streams/north/facts", content=b"p(a) at 1.", headers=headers)
    assert answer.status_code == status


def test_json_that_is_none_is_refused(served: Serving) -> None:
    for text in ("", "{", "[" * 100_000, "\ufeff", "9" * 5_000, '{"sources": "\\ud800"}'):
        answer = served.client.post("/v1/check", content=text.encode())
        assert (answer.status_code, codes(answer)) == (400, ["E903"])


def test_texts_that_are_no_characters_are_refused(served: Serving) -> None:
    texts = [{"name": "jam.lars", "text": 'jam("\ud800") :- slow(X).'}]
    for method, path, body in (
        ("PUT", "programs/p", {"sources": texts, "streams": ["north"]}),
        ("PUT", "streams/s", {"map": ['temp("\ud800") at ts']}),
        ("POST", "playground", {"sources": texts}),
    ):
        assert served.client.request(method, f"/v1/{path}", content=json.dumps(body)).status_code == 400


def test_names_and_facts_may_be_of_any_script(served: Serving) -> None:
    served.client.put("/v1/streams/script", json={}).raise_for_status()
    served.put_program("script", 'jam("ü",X) :- slow(X) in [10].', ("script",))
    served.post('slow("Ελλάδα") at 1. slow("a\\"b") at 1. slow("💧") at 1. slow(z) at 3.', "script")
    served.lines("script", "jam")
    read = served.client.get("/v1/programs/script/facts", params={"match": 'jam("ü","💧")'}).json()
    assert [fact["fact"] for fact in read["facts"]] == ['jam("ü","💧")']
    why = served.client.get("/v1/programs/script/why", params={"fact": 'jam("ü","Ελλάδα")'})
    assert why.json()["proof"]["claim"] == 'jam("ü","Ελλάδα")'


def test_a_stream_made_anew_takes_a_key_anew(served: Serving) -> None:
    for _ in range(2):
        served.client.put("/v1/streams/anew", json={}).raise_for_status()
        answer = served.client.post(
            "/v1/streams/anew/facts", content="p(a) at 1.", headers=TEXT | {"Idempotency-Key": "k"}
        )
        assert answer.json()["facts"] == 1
        assert len(served.client.get("/v1/streams/anew/facts").json()["records"]) == 1
        served.client.delete("/v1/streams/anew").raise_for_status()


def test_large_records_come_some_at_a_time(served: Serving) -> None:
    served.client.put("/v1/streams/large", json={}).raise_for_status()
    body = ("% " + "x" * 997 + "\n") * 9_000 + "p(a) at 1."
    for _ in range(3):
        served.post(body, "large")
    first = served.client.get("/v1/streams/large/facts").json()["records"]
    rest = served.client.get("/v1/streams/large/facts", params={"after": first[-1]["seq"]}).json()["records"]
    assert (len(first), len(rest)) == (2, 1)
    served.client.delete("/v1/streams/large").raise_for_status()
