"""A document of no kind in particular, as text, as data and as a drawing."""

import ast
from pathlib import Path
from xml.etree import ElementTree

import thalweg.explain
from thalweg.diagnostics import Diagnostic
from thalweg.explain.diagram import Band, DiagramBuilder
from thalweg.explain.document import Breaks, Paragraph, PlanDocument, Section, TextTable, chained, lines
from thalweg.explain.plan_stage import PlanStage
from thalweg.model.prefixes import Prefixes

FOLDER = Path(thalweg.explain.__file__).parent
RENDERERS = ("render_text.py", "render_data.py", "render_svg.py")
SHARED = {"diagram", "document", "layers", "plan_stage", "quantity", "short_names"}
EX = Prefixes((("ex", "http://ex.org/"),))
STAGES = (PlanStage(("a.",), ("X",), 2), PlanStage((), None, 1, "rows meet"))

BOXES = [
    {"id": "step", "kind": "rule", "text": "<http://ex.org/a>(X) :- p(X).", "to": []},
    {"id": "p", "kind": "stream", "text": "p/1", "to": ["step"]},
]


def document(
    *sections: Section, names: tuple[str, ...] | None = None, stages: tuple[PlanStage, ...] | None = None
) -> PlanDocument:
    builder = DiagramBuilder([Band("input"), Band("steps", tuple(enumerate(stages or ())))], names=names)
    step = builder.statement("step", "step 1", "<http://ex.org/a>(X) :- p(X).", 1)
    builder.edge(builder.source("p", "stream", "p/1", 0, ("stream",)), step)
    return PlanDocument(sections, {"steps": (1, 2)}, builder.diagram(), stages, names=names)


def drawn(plan: PlanDocument) -> list[str]:
    return [
        "".join(text.itertext()) for text in ElementTree.fromstring(plan.as_svg()).iter() if text.tag[-4:] == "text"
    ]


def test_sections_are_separated_by_an_empty_line() -> None:
    plan = document(Section("", lines("summary")), Section("TITLE"), Section("LAST", lines("  a", "  b")))
    assert plan.as_text() == "summary\n\nTITLE\n\nLAST\n  a\n  b"
    assert plan.summary == "summary"


def test_names_are_shortened_by_prefixes_unless_a_paragraph_is_verbatim() -> None:
    name = "<http://ex.org/a>"
    plan = document(Section("", (Paragraph(name), Paragraph(name, shortened=False))))
    assert plan.as_text(EX) == f"ex:a\n{name}"
    assert plan.as_text() == f"{name}\n{name}"


def test_names_become_local_where_they_are_unambiguous() -> None:
    section = Section("", lines("<http://ex.org/a>", "<http://ex.org/b>"))
    assert document(section, names=("<http://ex.org/a>", "<http://ex.org/b>", "<http://y/b>")).as_text() == (
        ":a\n<http://ex.org/b>"
    )


def test_paragraphs_break_where_they_may() -> None:
    word, steps = "x" * 120, chained(["a b"] * 40)
    assert document(Section("", (Paragraph(word, "- ", "  ", Breaks.WORDS),))).as_text() == f"- {word}"
    broken = document(Section("", (Paragraph(word, "- ", "  ", Breaks.LONG_WORDS),))).as_text()
    assert [len(line) for line in broken.splitlines()] == [100, 24]
    text = document(Section("", (Paragraph(steps, breaks=Breaks.WORDS),))).as_text()
    assert all(line.count("a b") == line.count("a") for line in text.splitlines())
    hyphens = document(Section("", (Paragraph("ab-" * 40, breaks=Breaks.HYPHENS),))).as_text()
    assert len(hyphens.splitlines()) == 2


def test_the_first_column_of_a_table_gives_way() -> None:
    table = TextTable((("name", "kind", "read by"), ("n" * 200, "fed", "1, 2")))
    first, second = document(Section("", (table,))).as_text().splitlines()
    assert first.index("kind") == second.index("fed")
    assert "n…" in second


def test_documents_stand_inside_documents() -> None:
    inner = document(Section("", lines("inner")))
    outer = PlanDocument((Section("", (inner,)),), {"plan": inner}, inner.diagram)
    assert outer.as_text() == "inner"
    assert outer.as_data() == {"plan": {"steps": [1, 2]}, "boxes": BOXES}


def test_data_ends_with_the_stages() -> None:
    assert document(stages=STAGES).as_data() == {
        "steps": [1, 2],
        "stages": [
            {"rules": ["a."], "key": ["X"], "partitions": 2},
            {"rules": [], "key": None, "partitions": 1, "why": "rows meet"},
        ],
        "boxes": BOXES,
    }


def test_diagnostics_are_data() -> None:
    warning = Diagnostic("W201", "message")
    plan = PlanDocument((), {"warnings": (warning,)}, document().diagram)
    assert plan.as_data() == {"warnings": [warning.as_data()], "boxes": BOXES}


def test_a_box_has_the_same_id_in_the_data_and_in_the_drawing() -> None:
    drawn = [
        group.get("data-id") for group in ElementTree.fromstring(document().as_svg()).iter() if group.tag[-2:] == "}g"
    ]
    assert drawn == [box["id"] for box in BOXES]


def test_bands_show_their_stages() -> None:
    shown = drawn(document(stages=STAGES, names=("<http://ex.org/a>",)))
    assert shown[:5] == [
        "input",
        "steps",
        "stage 0 · 2 partitions by X",
        "stage 1 · 1 partition",
        "  because rows meet",
    ]
    assert "step 1:a(X) :- p(X)." in shown


def test_renderers_know_no_kinds() -> None:
    for renderer in RENDERERS:
        tree = ast.parse((FOLDER / renderer).read_text(encoding="utf-8"))
        imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        own = {name for name in imported if name.startswith("thalweg.")}
        explained = {name.removeprefix("thalweg.explain.") for name in own if name.startswith("thalweg.explain.")}
        assert explained <= SHARED, renderer
        assert all(name.split(".")[1] in {"explain", "model", "diagnostics"} for name in own), renderer
