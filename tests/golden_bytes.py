"""Records what the command line answers, to be compared before and after a change.

    python tests/golden_bytes.py record FOLDER [--runtime embedded|spark|both] [--only PATTERN] [--inputs TREE]
    python tests/golden_bytes.py compare FOLDER1 FOLDER2

A record is a file for each command: its words, how it ended, its two outputs and the files that it wrote, with times
and temporary places left out. What `explain --runtime spark` says is in `explain-spark`. Pages and docs are read from
`--inputs`, so that a changed tree can be asked with the pages of an earlier one.
"""

import argparse
import difflib
import doctest
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from typer.testing import CliRunner

import golden_faults
import golden_plans
from golden_plans import Plan

ROOT: Final = Path(__file__).parents[1]
VERBS: Final = ("run", "check", "explain", "why", "init", "timeline", "demo", "bench")
EMITS: Final = ("changes", "snapshot", "intervals")
PARTITIONS: Final = (1, 2, 4)
SPARK: Final = "explain-spark"
BUCKETS_OF_EXPLAIN: Final = "2"

_NORMAL: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"(Traceback \(most recent call last\):\n)(?:  .*\n)+"), r"\1"),
    (re.compile(r" in [\d,]+\.\d s(?=[,;])"), " in N s"),
    (re.compile(r"[\d,]+ events/s"), "N events/s"),
    (re.compile(r"thalweg-(demo-)?[a-z0-9_]{8}\b"), "thalweg-NAME"),
    (re.compile(r'"seconds":(?:[\d.e+-]+|\{[^}]*\})'), '"seconds":N'),
    (re.compile(r"/tmp[a-z0-9_]{8}\b"), "/TEMPORARY"),
    (re.compile(r"(?<=Handler)@[0-9a-f]+"), "@NUMBER"),
    (re.compile(r"spark-[\d-]+\.log|\d{4}-\d\d-\d\dT\d{6}[\d-]*\.log"), "LOG"),
)
# Of the demo: how long it took, and where its picture is, in a table whose width rests on them.
_DEMO: Final = re.compile(r"^.*(?:thalweg-NAME|with start-up).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Command:
    """Words of a command line, the folder in which they are given, and the files whose text belongs to the answer."""

    name: str
    folder: Path
    words: tuple[str, ...]
    writes: tuple[str, ...] = field(default=())


# Commands ---------------------------------------------------------------------------------------------------------


def case_pages(inputs: Path, folder: Path) -> Iterator[Command]:
    """Each case of `tests/cases`: answers of every shape, checks, plans, and questions about what begins and ends."""
    for page in sorted((inputs / "tests" / "cases").glob("*.md")):
        for case in _cases(page, folder):
            yield from case.commands()


@dataclass(frozen=True, slots=True)
class PageCase:
    """A case of a page as files, with the words that run it."""

    name: str
    folder: Path
    size: int
    timing: tuple[str, ...]
    sources: tuple[str, ...]
    ticks: tuple[str, ...]
    questions: tuple[tuple[str, str], ...]

    def run(self, emit: str, *more: str) -> Command:
        """The command that runs the case."""
        words = ("run", "program.lars", *self.sources, *self.ticks, *self.timing, "--emit", emit, *more)
        return Command(f"cases/{self.name}/{'-'.join(('run', emit, *_bare(more)))}", self.folder, words)

    def commands(self) -> Iterator[Command]:
        """All commands in one process."""
        for emit in EMITS:
            yield self.run(emit, "--format", "jsonl")
        yield self.run("changes", "--format", "text")
        yield self.run("intervals", "--format", "csv")
        for verb, style in (("check", "json"), ("explain", "text"), ("explain", "json")):
            words = (verb, "program.lars", *self.timing, "--format", style)
            yield Command(f"cases/{self.name}/{verb}-{style}", self.folder, words)
        words = ("explain", "program.lars", *self.timing, "--runtime", "spark", "--partitions", BUCKETS_OF_EXPLAIN)
        yield Command(f"{SPARK}/cases/{self.name}", self.folder, words)
        for number, (fact, tick) in enumerate(self.questions):
            asked = ("why", "program.lars", fact, "--at", tick, *self.sources, *self.ticks[:2], *self.timing)
            yield Command(f"cases/{self.name}/why-{number}", self.folder, asked)


def _cases(page: Path, folder: Path) -> Iterator[PageCase]:
    from thalweg.diagnostics import Source
    from thalweg.testing import read_page

    text = page.read_text(encoding="utf-8")
    sections = [part for part in re.split(r"^#+", text, flags=re.MULTILINE) if re.search(r"^\|", part, re.MULTILINE)]
    for case, section in zip(read_page(Source(page.name, text)), sections, strict=True):
        name = f"{page.stem}/{_slug(case.title)}"
        place = folder / "cases" / name
        place.mkdir(parents=True)
        program = "\n".join(line[4:] for line in section.splitlines() if line.startswith("    ")) + "\n"
        (place / "program.lars").write_text(program, encoding="utf-8")
        streams: dict[str, list[str]] = {"input": []}
        for event in case.events:
            streams.setdefault(event.stream or "input", []).extend(f"{fact} at {event.tick}." for fact in event.facts)
        for stream, lines in streams.items():
            (place / f"{stream}.facts").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        length = re.search(r"^tick:(.*)$", section, re.MULTILINE)
        questions = [(fact, str(tick)) for tick in sorted(case.changes) for fact in sorted(case.changes[tick].begin)]
        ended = [(fact, str(tick)) for tick in sorted(case.changes) for fact in sorted(case.changes[tick].end)]
        yield PageCase(
            name,
            place,
            len(case.program.rules),
            ("--tick", length.group(1).strip()) if length else (),
            tuple(word for stream in streams for word in ("--stream", f"{stream}.facts")),
            ("--from", str(case.first), "--to", str(case.last)),
            (*questions[:2], *ended[:1]),
        )


def event_page(inputs: Path, folder: Path) -> Iterator[Command]:
    """Each case of `tests/cases_of_events.md`, as an ontology and a graph whose classes are asked for."""
    text = (inputs / "tests" / "cases_of_events.md").read_text(encoding="utf-8")
    head = "Prefix(:=<http://ex.org/>) Prefix(owl:=<http://www.w3.org/2002/07/owl#>) " + (
        "Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)"
    )
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, *lines = section.splitlines()
        axioms = [line.strip() for line in lines if line.startswith("    ")]
        axioms += [line.removeprefix("known ") for line in lines if line.startswith("known ")]
        event = " ".join(line.removeprefix("event ") for line in lines if line.startswith("event "))
        place = folder / "events" / _slug(title)
        place.mkdir(parents=True)
        ontology = f"{head}\nOntology(\n" + "\n".join(axioms) + "\n)\n"
        (place / "page.ofn").write_text(ontology, encoding="utf-8")
        (place / "event.trig").write_text(_graph(event), encoding="utf-8")
        about = ("page.ofn", "--as", "abstraction", "--profile", "dl")
        name = f"events/{_slug(title)}"
        yield Command(
            f"{name}/run", place, ("run", *about, "--stream", "event.trig", "--report", "-", "--format", "text")
        )
        yield Command(f"{name}/explain", place, ("explain", *about))


def _graph(event: str) -> str:
    """The assertions of an event as a graph with a time."""
    triples = []
    for kind, inside in re.findall(r"(\w+)\(((?:[^()\"]|\"[^\"]*\")*)\)", event):
        words = re.findall(r"\"[^\"]*\"(?:\^\^[\w:]+|@\w+)?|[^\s\"]+", inside)
        match kind:
            case "ClassAssertion":
                triples.append(f"{words[1]} a {words[0]} .")
            case "ObjectPropertyAssertion" | "DataPropertyAssertion":
                triples.append(f"{words[1]} {words[0]} {words[2]} .")
            case "SameIndividual" | "DifferentIndividuals":
                relation = "owl:sameAs" if kind == "SameIndividual" else "owl:differentFrom"
                triples.append(f"{words[0]} {relation} {words[1]} .")
    prefixes = "@prefix : <http://ex.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . " + (
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> ."
    )
    return f"{prefixes}\n:g <http://www.w3.org/ns/prov#generatedAtTime> 1 .\n:g {{ {' '.join(triples)} }}\n"


def examples(inputs: Path, folder: Path) -> Iterator[Command]:
    """Each program of `examples` with the command that it promises, in other shapes, too."""
    shutil.copytree(inputs / "examples", folder / "examples", ignore=shutil.ignore_patterns("notebooks"))
    for program in sorted((folder / "examples").glob("*.lars")):
        promised = next(line for line in program.read_text(encoding="utf-8").splitlines() if line.startswith("%   "))
        words = tuple(shlex.split(promised.removeprefix("%   "))[1:])
        name, path = f"examples/{program.stem}", f"examples/{program.name}"
        yield Command(f"{name}/run", folder, words)
        for emit in EMITS:
            for style in ("text", "atoms", "csv", "nquads"):
                yield Command(f"{name}/run-{emit}-{style}", folder, (*words, "--emit", emit, "--format", style))
        yield Command(f"{name}/check", folder, ("check", path))
        for style in ("text", "json", "svg"):
            yield Command(f"{name}/explain-{style}", folder, ("explain", path, "--format", style))
        yield Command(f"{SPARK}/{name}", folder, ("explain", path, "--runtime", "spark", "--partitions", "2"))


def consoles(inputs: Path, folder: Path) -> Iterator[Command]:
    """The commands that README and tutorials show, over the files that they show."""
    pages = {
        "readme": (inputs / "README.md", r"\(`([\w.]+)`\):\n\n```\n(.*?)```"),
        "first-steps": (inputs / "docs/tutorial/first-steps.md", r"`([\w.]+)`.*?:\n\n```\n(.*?)```"),
        "spark": (inputs / "docs/how-to/spark.md", r"`(\w+\.(?:lars|facts))`:\n\n```\n(.*?)```"),
        "city": (inputs / "docs/tutorial/from-sensors-to-decisions.md", r"`(nothing)`\n(nothing)"),
    }
    for name, (page, pattern) in pages.items():
        place, text = folder / "consoles" / name, page.read_text(encoding="utf-8")
        place.mkdir(parents=True)
        for file, content in re.findall(pattern, text):
            (place / file).write_text(content, encoding="utf-8")
        for file, content in re.findall(pattern, text, re.DOTALL):
            (place / file).write_text(content, encoding="utf-8")
        if name == "city":
            write_city(place)
        for number, line in enumerate(re.findall(r"^\$ thalweg ((?:.*\\\n)*.*)", text, re.MULTILINE)):
            words = tuple(shlex.split(line.replace("\\\n", " ")))
            if words[0] != "demo":
                words = _in_one_process(words)
                yield Command(f"consoles/{name}/{number}", place, words)
                if name == "city" and words[0] == "run":
                    yield Command(f"consoles/{name}/{number}-text", place, (*words, "--format", "text"))


def _in_one_process(words: tuple[str, ...]) -> tuple[str, ...]:
    line = " ".join(map(shlex.quote, words))
    return tuple(shlex.split(re.sub(r" --(?:runtime spark|partitions \d+)", "", line)))


def write_city(folder: Path) -> None:
    """Writes the programs and the data of the demo."""
    ended = CliRunner().invoke(_app(), ["demo", "--files", str(folder)])
    assert ended.exit_code == 0, ended.output


_CITY_PROGRAMS: Final = ("particles.rspql", "city.ofn", "events.tw", "control.lars", "lights.lp", "settings.lars")
_CITY_STREAMS: Final = tuple(
    word for stream in ("traffic", "parking", "weather", "air") for word in ("--stream", f"{stream}.nq")
)
_CITY_QUESTIONS: Final = (
    ("blocked(:mill)", "17:34:00"),
    ("smog(:harbour)", "17:40:00"),
    ("long_green(:j_mill,:bridge)", "17:36:00"),
    ("crowded(:park)", "17:48:00"),
    ("blocked(:park)", "17:48:00"),
)


def demo(folder: Path) -> Iterator[Command]:
    """The six programs of the demo as a plan, and each of them in some other plan."""
    place = folder / "demo"
    write_city(place)
    about = (*_CITY_PROGRAMS, "--background", "map.ttl")
    for emit in EMITS:
        for style in ("text", "jsonl", "csv"):
            words = ("run", *about, *_CITY_STREAMS, "--emit", emit, "--format", style)
            yield Command(f"demo/run-{emit}-{style}", place, words)
    yield Command("demo/check", place, ("check", *about))
    for style in ("text", "json", "svg"):
        yield Command(f"demo/explain-{style}", place, ("explain", *about, "--format", style))
        for partitions in PARTITIONS:
            words = ("explain", *about, "--format", style, "--runtime", "spark", "--partitions", str(partitions))
            yield Command(f"{SPARK}/demo/{style}-{partitions}", place, words)
    for number, (fact, moment) in enumerate(_CITY_QUESTIONS):
        words = ("why", *about, fact, "--at", f"2026-11-14T{moment}Z", *_CITY_STREAMS)
        yield Command(f"demo/why-{number}", place, words)
        yield Command(f"demo/why-{number}-json", place, (*words, "--format", "json"))
        yield Command(f"demo/why-{number}-without-query", place, ("why", *words[2:]))
    out = ("--out", "answers.csv", "--picture", "picture.svg", "--show", "blocked/1,smog/1")
    words = ("run", *about, *_CITY_STREAMS, *out)
    yield Command("demo/run-files", place, words, ("answers.csv", "picture.svg"))
    yield Command("demo/demo", place, ("demo", "--runtime", "embedded", "--out", "timeline.svg"), ("timeline.svg",))


def plans(folder: Path) -> Iterator[Command]:
    """The plans of `golden_plans`, in every shape and format, with checks, plans and questions."""
    for plan in (*golden_plans.ALONE, *golden_plans.MIXED):
        place = write_plan(plan, folder)
        for emit in plan.emits:
            for style in ("jsonl", "text"):
                yield plan_run(plan, place, emit, f"{emit}-{style}", "--format", style)
        for style in ("atoms", "csv", "nquads", "jsonld"):
            yield plan_run(plan, place, plan.emits[0], f"{plan.emits[0]}-{style}", "--format", style)
        yield plan_run(plan, place, plan.emits[0], "verbose", "--verbose")
        yield plan_run(plan, place, plan.emits[0], "picture", "--picture", "picture.svg", writes=("picture.svg",))
        saved = ("--checkpoint", "saved", "--out", "saved.jsonl")
        yield plan_run(plan, place, plan.emits[0], "checkpoint", *saved, writes=("saved.jsonl",))
        yield plan_run(plan, place, plan.emits[0], "checkpoint-again", *saved, writes=("saved.jsonl",))
        name = f"plans/{plan.name}"
        yield Command(f"{name}/check", place, ("check", *plan.programs, *_only(plan.known, "check")))
        for style in ("text", "json", "svg"):
            words = ("explain", *plan.programs, *plan.known, *plan.meaning, "--format", style)
            yield Command(f"{name}/explain-{style}", place, words)
            for partitions in PARTITIONS:
                on_spark = (*words, "--runtime", "spark", "--partitions", str(partitions))
                yield Command(f"{SPARK}/{name}/{style}-{partitions}", place, on_spark)
        streams = tuple(word for stream in plan.streams for word in ("--stream", stream))
        for number, (fact, tick) in enumerate(plan.questions):
            meaning = _only(plan.meaning, "why")
            words = ("why", *plan.programs, fact, "--at", tick, *streams, *plan.known, *meaning)
            yield Command(f"{name}/why-{number}", place, words)
            yield Command(f"{name}/why-{number}-json", place, (*words, "--format", "json"))


def _only(words: tuple[str, ...], verb: str) -> tuple[str, ...]:
    """Those options of a plan that a verb has."""
    pairs = zip(words[::2], words[1::2], strict=True)
    unknown = {"why": ("--classes",), "check": ("--window", "--topology", "--bolts")}[verb]
    return tuple(word for pair in pairs if pair[0] not in unknown for word in pair)


def write_plan(plan: Plan, folder: Path) -> Path:
    """Writes the files of a plan to a folder of its own."""
    place = folder / "plans" / plan.name
    place.mkdir(parents=True, exist_ok=True)
    for file, text in plan.files.items():
        (place / file).write_text(text, encoding="utf-8")
    return place


def plan_run(
    plan: Plan, place: Path, emit: str, name: str, *more: str, writes: tuple[str, ...] = (), root: str = "plans"
) -> Command:
    """The command that runs a plan."""
    streams = tuple(word for stream in plan.streams for word in ("--stream", stream))
    words = ("run", *plan.programs, *streams, *plan.known, *plan.meaning, *plan.shape, "--emit", emit, *more)
    return Command(f"{root}/{plan.name}/run-{name}", place, words, (*plan.writes, *writes))


_SUFFIX: Final = {"1": ".lars", "2": ".lars", "5": ".lp", "6": ".rspql", "7": ".tw", "8": ".tw", "9": ".toml"}


def faults(inputs: Path, folder: Path) -> Iterator[Command]:
    """Programs that are rejected, those of the page about errors, and commands that fail or warn."""
    place = folder / "rejected"
    shutil.copytree(inputs / "tests" / "rejected", place)
    for program in sorted(path for path in place.iterdir() if path.suffix in (".lars", ".tw", ".rspql")):
        yield Command(f"rejected/{program.stem}", place, ("check", program.name))
        yield Command(f"rejected/{program.stem}-json", place, ("check", program.name, "--format", "json"))
    place = folder / "errors"
    place.mkdir()
    events = "PREFIX : <http://example.org/> NAMED EVENT :A AS :C NAMED EVENT :B AS :D NAMED EVENT :N AS :E\n"
    text = (inputs / "docs" / "errors.md").read_text(encoding="utf-8")
    for code, section in re.findall(r"^## ([EW][0-9]+) .+\n((?:(?!^## ).*\n?)*)", text, re.MULTILINE):
        for number, block in enumerate(re.findall(r"```\n(.*?)```", section, re.DOTALL)):
            if code[1] in _SUFFIX and not re.match(r"(error|warning)\[", block):
                file = place / f"{code}-{number}{_SUFFIX[code[1]]}"
                file.write_text((events if code[1] == "8" else "") + block, encoding="utf-8")
                yield Command(f"errors/{code}-{number}", place, ("check", file.name))
    place = folder / "faults"
    place.mkdir()
    for file_name, content in golden_faults.FILES.items():
        (place / file_name).write_text(content, encoding="utf-8")
    for fault in golden_faults.FAULTS:
        yield Command(f"faults/{fault.name}", place, fault.words, fault.writes)


def tables(inputs: Path, folder: Path) -> Iterator[Command]:
    """Each sample of `tests/tables`: its first deployment, and what that answers."""
    for sample in sorted((inputs / "tests" / "tables").iterdir()):
        place = folder / "tables" / sample.name
        place.mkdir(parents=True)
        shutil.copy(sample, place)
        made = tuple(f"{sample.stem}{suffix}" for suffix in (".toml", ".lars"))
        yield Command(f"tables/{sample.name}/init", place, ("init", sample.name), made)
        yield Command(f"tables/{sample.name}/run", place, ("run", made[0]))
        yield Command(f"tables/{sample.name}/run-text", place, ("run", made[0], "--format", "text"))


def helps(folder: Path) -> Iterator[Command]:
    """The help of the command, and of each verb."""
    yield Command("help/thalweg", folder, ("--help",))
    yield Command("help/version", folder, ("--version",))
    for verb in VERBS:
        yield Command(f"help/{verb}", folder, (verb, "--help"))


def in_one_process(inputs: Path, folder: Path) -> Iterator[Command]:
    """All commands that need no Spark."""
    yield from helps(folder)
    yield from faults(inputs, folder)
    yield from tables(inputs, folder)
    yield from examples(inputs, folder)
    yield from consoles(inputs, folder)
    yield from event_page(inputs, folder)
    yield from plans(folder)
    yield from case_pages(inputs, folder)
    yield from demo(folder)


def on_spark(inputs: Path, folder: Path) -> Iterator[Command]:
    """The demo, every kind alone, plans of several kinds, and the longest case of each page."""
    spark = ("--runtime", "spark", "--master", "local[2]")
    for plan in (*golden_plans.ALONE, *golden_plans.MIXED):
        place = write_plan(plan, folder)
        for partitions in PARTITIONS:
            name, words = f"{plan.emits[0]}-{partitions}", (*spark, "--partitions", str(partitions))
            yield plan_run(plan, place, plan.emits[0], name, *words, root="spark")
        for emit in plan.emits[1:]:
            yield plan_run(plan, place, emit, f"{emit}-2", *spark, "--partitions", "2", root="spark")
    for page in sorted((inputs / "tests" / "cases").glob("*.md")):
        longest = max(_cases(page, folder), key=lambda case: case.size)
        command = longest.run("changes", *spark, "--partitions", "2")
        yield Command(f"spark/cases/{page.stem}", command.folder, command.words)
    place = folder / "demo"
    write_city(place)
    about = (*_CITY_PROGRAMS, "--background", "map.ttl", *_CITY_STREAMS)
    for partitions in PARTITIONS:
        words = ("run", *about, *spark, "--partitions", str(partitions))
        yield Command(f"spark/demo/changes-{partitions}", place, words)
    words = ("run", *about, *spark, "--partitions", "2", "--emit", "intervals", "--format", "text")
    yield Command("spark/demo/intervals-text-2", place, words)


def _bare(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if not word.startswith("--"))


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:70]


# Recording --------------------------------------------------------------------------------------------------------


def _app() -> Any:
    from thalweg.cli import app

    return app


class Recorder:
    """Runs commands in this process, and writes a file for each."""

    def __init__(self, out: Path, temporary: Path, inputs: Path, only: str) -> None:
        self.out = out
        self.count = 0
        self.slowest: list[tuple[float, str]] = []
        self._temporary = temporary
        self._inputs = inputs
        self._only = only
        self._app = _app()

    def wants(self, name: str) -> bool:
        """Whether a name fits what is to be recorded."""
        return fnmatch(name, self._only)

    def record(self, command: Command) -> None:
        """Runs a command and keeps what it said."""
        if not self.wants(command.name):
            return
        os.chdir(command.folder)
        if "--checkpoint" not in command.words:
            for file in command.writes:
                Path(file).unlink(missing_ok=True)
        begun = time.monotonic()
        result = CliRunner().invoke(self._app, list(command.words), prog_name="thalweg")
        self.slowest.append((time.monotonic() - begun, command.name))
        parts = [f"$ thalweg {shlex.join(command.words)}", f"exit {result.exit_code}"]
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            parts.append("".join(traceback.format_exception_only(result.exception)).strip())
        parts += ["--- stdout", result.stdout, "--- stderr", result.stderr]
        for file in command.writes:
            written = Path(file)
            parts += [f"--- {file}", written.read_text(encoding="utf-8") if written.exists() else "(not there)"]
        text = self.normal("\n".join(parts))
        self.keep(command.name, _DEMO.sub("(a line of times)", text) if command.name == "demo/demo" else text)

    def keep(self, name: str, text: str) -> None:
        """Writes a record."""
        file = self.out / f"{name}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self.count += 1

    def normal(self, text: str) -> str:
        """A text without times and temporary places."""
        for place, name in ((self._temporary, "FOLDER"), (self._inputs, "TREE"), (Path.home(), "HOME")):
            text = text.replace(str(place), name)
        for pattern, stands_for in _NORMAL:
            text = pattern.sub(stands_for, text)
        return text

    def record_page(self, page: Path) -> None:
        """Runs what a page shows of Python, and keeps what each example prints."""
        name = str(page.relative_to(self._inputs))
        if not self.wants(name):
            return
        os.chdir(self._inputs)
        shown: list[str] = []
        parsed = doctest.DocTestParser().get_doctest(page.read_text(encoding="utf-8"), {}, page.name, str(page), 0)
        if parsed.examples:
            begun = time.monotonic()
            _Keeping(shown).run(parsed, out=lambda text: None)
            self.slowest.append((time.monotonic() - begun, name))
            self.keep(name, self.normal("\n".join(shown)))


class _Keeping(doctest.DocTestRunner):
    """Keeps what examples print, and judges nothing."""

    def __init__(self, shown: list[str]) -> None:
        super().__init__(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        self._shown = shown

    def report_start(self, out: Callable[..., Any], test: Any, example: Any) -> None:
        """An example begins."""

    def report_success(self, out: Callable[..., Any], test: Any, example: Any, got: str) -> None:
        """An example printed what is shown."""
        self._shown.append(f">>> {example.source}{got}")

    def report_failure(self, out: Callable[..., Any], test: Any, example: Any, got: str) -> None:
        """An example printed something else."""
        self._shown.append(f">>> {example.source}{got}")

    def report_unexpected_exception(self, out: Callable[..., Any], test: Any, example: Any, exc_info: Any) -> None:
        """An example failed."""
        self._shown.append(f">>> {example.source}{''.join(traceback.format_exception_only(exc_info[1]))}")


def record(out: Path, runtimes: tuple[str, ...], only: str, inputs: Path) -> None:
    """Runs all commands of some runtimes; the files of a runtime go to a folder of its name."""
    os.environ.update(COLUMNS="100", TERM="dumb", NO_COLOR="1", TZ="UTC", PYSPARK_PYTHON=sys.executable)
    time.tzset()
    for runtime in runtimes:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="golden") as temporary:
            folder = Path(temporary)
            recorder = Recorder(out / runtime, folder, inputs, only)
            if runtime == "embedded":
                _warm(folder)
                for command in in_one_process(inputs, folder):
                    recorder.record(command)
                for page in sorted((inputs / "docs").rglob("*.md")):
                    recorder.record_page(page)
            else:
                with _shared_session():
                    for command in on_spark(inputs, folder):
                        recorder.record(command)
            os.chdir(inputs)
        print(f"{runtime}: {recorder.count} records in {time.monotonic() - begun:.0f} s")
        for seconds, name in sorted(recorder.slowest, reverse=True)[:5]:
            print(f"  {seconds:6.1f} s  {name}")


def _warm(folder: Path) -> None:
    """Has the kernels compiled, which is announced once."""
    (folder / "warm.lars").write_text("a(X) :- b(X).\n")
    (folder / "warm.facts").write_text("b(1) at 1.\n")
    CliRunner().invoke(_app(), ["run", str(folder / "warm.lars"), "--stream", str(folder / "warm.facts")])


@contextmanager
def _shared_session() -> Iterator[None]:
    """A session of Spark that all commands share, with as many partitions as each of them needs."""
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    from thalweg.runtimes.spark import session

    opened, stop = session.open_session("local[2]", 2), session.stop_session

    def share(master: str | None, partitions: int, **_: object) -> Any:
        opened.conf.set("spark.sql.shuffle.partitions", str(partitions))
        return opened

    # Modules that are imported later take it from the first one.
    for module in [module for name, module in sys.modules.items() if name.startswith("thalweg")]:
        for name, stands_in in (("open_session", share), ("stop_session", lambda _: None)):
            if hasattr(module, name):
                setattr(module, name, stands_in)
    try:
        yield
    finally:
        stop(opened)


def compare(before: Path, after: Path) -> int:
    """Prints how two folders of records differ; returns how many records do."""
    records = [{str(path.relative_to(each)): path for path in each.rglob("*.txt")} for each in (before, after)]
    different = 0
    for name in sorted(records[0].keys() | records[1].keys()):
        paths = [each.get(name) for each in records]
        texts = [path.read_text(encoding="utf-8").splitlines() if path else ["(no record)"] for path in paths]
        if texts[0] != texts[1]:
            different += 1
            print(*difflib.unified_diff(*texts, f"before/{name}", f"after/{name}", lineterm="", n=1), sep="\n")
    print(f"{different} of {len(records[0].keys() | records[1].keys())} records differ")
    return different


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True, dest="verb")
    recording = verbs.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--runtime", choices=("embedded", "spark", "both"), default="embedded")
    recording.add_argument("--only", default="*", help="a pattern for names of records, such as `plans/*`")
    recording.add_argument("--inputs", type=Path, default=ROOT, help="the tree whose pages and docs are run")
    comparing = verbs.add_parser("compare")
    comparing.add_argument("folders", type=Path, nargs=2)
    words = parser.parse_args()
    if words.verb == "compare":
        sys.exit(compare(*words.folders) > 0)
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Some explanations list what is found in the order of a set.
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"})
    runtimes = ("embedded", "spark") if words.runtime == "both" else (words.runtime,)
    record(words.folder.absolute(), runtimes, words.only, words.inputs.absolute())


if __name__ == "__main__":
    main()
