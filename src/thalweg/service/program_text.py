"""The body of a PUT becomes a part with its options; what is wrong with it comes as diagnostics, all at once.

    {"sources":[{"name":"jam.lars","text":"…"}],"background":[…],"options":{"tick":"10s"},
     "streams":["north"],"from":"now","memory":"256MB"}

Texts are values: nothing in a body is ever taken as a path or an address.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Literal

from thalweg.api.kind_options import ResolvedOptions, resolve_options
from thalweg.api.loading import EVERYTHING, analyse, analyse_resolved, examine
from thalweg.api.run_options import RunOptions
from thalweg.api.sources import language_of_program
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.kinds.part import Part
from thalweg.languages.options import OPTIONS, Option
from thalweg.model.byte_size import size_in_bytes
from thalweg.model.prefixes import NO_PREFIXES, Prefixes, given_prefixes
from thalweg.service.refused import RefusedError
from thalweg.service.streams import NAME

Origin = Literal["now", "earliest", "keep"]

ORIGINS: Final[tuple[Origin, ...]] = ("now", "earliest", "keep")

MOST_TEXT: Final = 1_000_000
"""The bytes that the sources of a program may have together."""

MOST_STREAMS: Final = 1_000
"""The streams that a program may read."""

_MEMORY: Final = 256 << 20
_SOLVE_LIMIT: Final = "10s"
_KEYS: Final = ("sources", "background", "options", "streams", "from", "memory")
_LONGEST_SHOWN: Final = 60
_FLAG: Final = re.compile(r"`--([a-z-]+)")
_NAME: Final = re.compile(r"[^\x00-\x1f\x7f]{1,255}")

# The service decides these, or they are about files and Spark.
_DECIDED: Final = frozenset(
    (
        *("background", "to", "on_error", "out", "answer_format", "late", "picture", "base", "quiet", "report"),
        *("workers", "runtime", "master", "partitions", "split", "checkpoint", "on_change", "jars", "conf", "archive"),
    )
)
_ROWS: Final = {option.key.name: option for option in reversed(OPTIONS) if option.key and option.name not in _DECIDED}
_REFUSED: Final = {option.key.name for option in OPTIONS if option.key is not None} - _ROWS.keys()


def is_settable(name: str) -> bool:
    """Whether a program of a service may have an option of the command line.

    >>> is_settable("tick"), is_settable("checkpoint")
    (True, False)
    """
    return any(option.name == name for option in _ROWS.values())


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """A program that can be run: its part, its options, and the warnings that came up."""

    part: Part
    options: RunOptions
    warnings: tuple[Diagnostic, ...] = ()
    prefixes: Prefixes = NO_PREFIXES
    """Those that it declares, and those of its options."""


@dataclass(frozen=True)
class ProgramText:
    """A body that has been read: texts, the streams that are read, where it begins, and its options."""

    sources: tuple[Source, ...]
    background: tuple[Source, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """By the names of a deployment's keys, as they were stated."""
    streams: tuple[str, ...] = ()
    origin: Origin = "now"
    memory: int = _MEMORY
    """The budget of its engines, in bytes."""

    @classmethod
    def read(cls, body: object) -> "ProgramText":
        """Reads the decoded JSON of a request; `RefusedError` (400, 413) with everything that is wrong with it.

        >>> ProgramText.read({"sources": [{"name": "q.lars", "text": "q :- p."}], "streams": ["north"]}).streams
        ('north',)
        """
        wrong: list[Diagnostic] = []
        text = cls._read(body if isinstance(body, Mapping) else {}, wrong)
        if not isinstance(body, Mapping):
            wrong = [_wrong('the body is an object of JSON: `{"sources": […], "streams": […]}`')]
        if wrong:
            raise RefusedError(400, wrong)
        size = sum(len(source.text.encode(errors="replace")) for source in text.sources)
        if size > MOST_TEXT:
            raise RefusedError(413, _wrong(f"the sources have {size:,} bytes, and may have {MOST_TEXT:,}"))
        return text

    @classmethod
    def _read(cls, body: Mapping[str, Any], wrong: list[Diagnostic]) -> "ProgramText":
        for key in body.keys() - set(_KEYS):
            wrong.append(_unknown(str(key), "a program", _KEYS))
        sources = _texts("sources", body.get("sources"), wrong)
        wrong += map(_deployment, filter(_is_deployment, sources))
        if not sources and not wrong:
            wrong.append(_wrong("`sources` names no program", 'for example `[{"name":"jam.lars","text":"…"}]`'))
        background = _texts("background", body.get("background", []), wrong)
        options = _options(body.get("options", {}), wrong)
        origin = body.get("from", "now")
        if origin not in ORIGINS:
            wrong.append(_wrong(f"`from` cannot be `{_quoted(origin)}`; it is {_listed(ORIGINS)}"))
        memory = _memory(body.get("memory", options.pop("memory", _MEMORY)), wrong)
        return cls(sources, background, options, _streams(body.get("streams", []), wrong), origin, memory)

    def compiled(self, report: Callable[[Diagnostic], None] | None = None, everything: bool = False) -> CompiledProgram:
        """Compiles it anew, for one thread; `RefusedError` (400) with everything that is wrong with the texts.

        With `everything` it outputs all that it derives, as a program does that is asked why.
        """
        resolved = self._resolved()
        part, problems = self._analysed(resolved, everything)
        if any(problem.severity == "error" for problem in problems):
            raise RefusedError(400, problems)
        warnings = (*resolved.warnings, *problems)
        if report is not None:
            for warning in warnings:
                report(warning)
        memory = self.memory if self._keeps_to_memory else None
        return CompiledProgram(part, replace(resolved.run, memory=memory), warnings, resolved.prefixes)

    def diagnostics(self) -> list[Diagnostic]:
        """Everything that is wrong with the texts, and what deserves a warning, also where it takes reasoning."""
        try:
            resolved = self._resolved()
        except RefusedError as error:
            return list(error.diagnostics)
        return [*resolved.warnings, *examine(*self._analysed(resolved))]

    def _resolved(self) -> ResolvedOptions:
        try:
            # An iterator stands for streams that are live.
            return resolve_options(self.sources, iter(()), self.background, self._run_options())
        except RejectedError as error:
            raise RefusedError(400, map(_by_key, error.diagnostics)) from None

    def _run_options(self) -> RunOptions:
        stated = {str(_ROWS[key].python): _python_value(_ROWS[key], value) for key, value in self.options.items()}
        # What comes was read at the door: a line that is bad was left out because the sender wanted that.
        defaults = {"on_error": "skip"}
        if self.is_solved:
            defaults["solve_limit"] = _SOLVE_LIMIT
        return RunOptions.of({**defaults, **stated})

    def _analysed(self, resolved: ResolvedOptions, everything: bool = False) -> tuple[Part, list[Diagnostic]]:
        try:
            if not everything:
                return analyse_resolved(self.sources, self.background, resolved)
            about = resolved.timing.tick, resolved.ontology, resolved.solving, resolved.inputs
            return analyse(self.sources, self.background, *about, EVERYTHING, resolved.mapped)
        except RejectedError as error:
            raise RefusedError(400, error.diagnostics) from None

    @property
    def is_solved(self) -> bool:
        """Whether there is an answer set program."""
        return "--solve-limit" in _understood(self.sources)

    @property
    def _keeps_to_memory(self) -> bool:
        """Whether rules stand alone, which are what a budget can be kept for; rules of different ages have none."""
        rules_alone = all("--memory" in language_of_program(source).understands for source in self.sources)
        return rules_alone and self.options.get("as") != "abstraction" and self.origin != "keep"

    def as_data(self) -> dict[str, Any]:
        """It as the body of a PUT, with all defaults; equal for equal programs.

        >>> body = {"sources": [{"name": "q.lars", "text": "q :- p."}], "memory": "64MB"}
        >>> data = ProgramText.read(body).as_data()
        >>> data["memory"], data["from"], ProgramText.read(data).as_data() == data
        ('64MB', 'now', True)
        """
        return {
            "sources": [{"name": source.name, "text": source.text} for source in self.sources],
            "background": [{"name": source.name, "text": source.text} for source in self.background],
            "options": dict(sorted(self.options.items())),
            "streams": list(self.streams),
            "from": self.origin,
            "memory": f"{self.memory >> 20}MB" if self.memory % (1 << 20) == 0 else str(self.memory),
        }

    @cached_property
    def fingerprint(self) -> str:
        """A short text that is another one for every other program."""
        return sha256(json.dumps(self.as_data(), sort_keys=True).encode()).hexdigest()[:16]


def _texts(key: str, value: object, wrong: list[Diagnostic]) -> tuple[Source, ...]:
    """The texts of a list, each with its name."""
    if not isinstance(value, list):
        wrong.append(_wrong(f'`{key}` is a list of texts with their names: `[{{"name":"jam.lars","text":"…"}}]`'))
        return ()
    sources = [Source(text["name"], text["text"]) for text in value if _is_text(text)]
    if len(sources) < len(value):
        wrong.append(_wrong(f'each of `{key}` has a `name` and a `text`, and nothing else: `{{"name":…,"text":…}}`'))
    if len({source.name for source in sources}) < len(sources):
        wrong.append(_wrong(f"two of `{key}` have the same name", "give each a name of its own"))
    return tuple(sources)


def _is_text(value: object) -> bool:
    match value:
        case {"name": str() as name, "text": str(), **others} if not others:
            return bool(_NAME.fullmatch(name))
    return False


def _is_deployment(source: Source) -> bool:
    return language_of_program(source).deploys is not None


def _deployment(source: Source) -> Diagnostic:
    message = f"`{source.name}` is a text, and no file that a text names is opened"
    return Diagnostic("E511", message, help="send the programs themselves, or start with `thalweg serve city.toml`")


def _options(value: object, wrong: list[Diagnostic]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        wrong.append(_wrong('`options` is an object: `{"tick":"10s"}`'))
        return {}
    for key in value.keys() - _ROWS.keys():
        if key in _REFUSED:
            wrong.append(_wrong(f"`{key}` cannot be set for a program of a service: leave it out"))
        else:
            wrong.append(_unknown(str(key), "`options`", [*_ROWS]))
    options = {key: value[key] for key in value if key in _ROWS}
    for key in [key for key in options if key != "memory"]:
        try:
            _python_value(_ROWS[key], options[key])
        except ValueError as error:
            wrong.append(_wrong(f"`{key}`: {error}"))
    return options


def _python_value(option: Option, value: object) -> Any:
    """The value of an option as Python has it; `ValueError` where it cannot be that.

    >>> _python_value(_ROWS["show"], ["jam/1", "slow/1"]), _python_value(_ROWS["bolts"], 2)
    ('jam/1,slow/1', 2)
    """
    assert option.key is not None
    match value, option.key.kind:
        case bool(), "true or false":
            return value
        case str() | int() | float(), "a text" if not isinstance(value, bool):
            return _word(option, str(value))
        case str(), "a list of texts":
            return [value] if option.is_repeatable else value
        case list(), "a list of texts" if all(isinstance(text, str) for text in value):
            return value if option.is_repeatable else ",".join(value)
        case dict(), "a table" if all(isinstance(text, str) for text in value.values()):
            return given_prefixes(f"{name}={iri}" for name, iri in value.items())
    raise ValueError(f"it is {option.key.kind}, and not `{_quoted(value)}`")


def _quoted(value: object) -> str:
    """A value as JSON has it, where it is long its beginning.

    >>> _quoted(None), _quoted("now"), len(_quoted("x" * 1_000))
    ('null', '"now"', 60)
    """
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def _word(option: Option, text: str) -> str | int:
    if option.choices and text not in option.choices:
        raise ValueError(f"it is {_listed(option.choices)}, and not `{text[:_LONGEST_SHOWN]}`")
    if option.check is not None:
        option.check(text)
    if not option.is_count:
        return text
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < (option.min or 0):
        raise ValueError(f"`{text}` is not a number, or too small")
    return int(text)


def _streams(value: object, wrong: list[Diagnostic]) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        wrong.append(_wrong('`streams` is a list of names: `["north"]`'))
        return ()
    if len(value) > MOST_STREAMS:
        wrong.append(_wrong(f"`streams` has {len(value):,} names, and may have {MOST_STREAMS:,}"))
    wrong += [
        _wrong(
            f"a stream cannot be called `{name[:_LONGEST_SHOWN]}`",
            "a name begins with a letter; letters, digits, `_`, `-` follow",
        )
        for name in value
        if not re.fullmatch(NAME, name)
    ]
    return tuple(dict.fromkeys(value))


def _memory(value: object, wrong: list[Diagnostic]) -> int:
    try:
        size = value if isinstance(value, int) and not isinstance(value, bool) else size_in_bytes(str(value))
        if size > 0:
            return size
    except ValueError:
        pass
    wrong.append(_wrong(f"`memory` cannot be `{_quoted(value)}`", 'write `"64MB"` or `"1GB"`'))
    return _MEMORY


def _by_key(diagnostic: Diagnostic) -> Diagnostic:
    """What is wrong with an option that is named as in a body, and not as on the command line.

    >>> _by_key(Diagnostic("E902", "`--solve-limit 3` is not a duration")).message
    '`solve_limit 3` is not a duration'
    """
    message, help_ = (
        _FLAG.sub(lambda flag: f"`{flag[1].replace('-', '_')}", text) for text in (diagnostic.message, diagnostic.help)
    )
    return replace(diagnostic, message=message, help=help_)


def _understood(sources: Sequence[Source]) -> frozenset[str]:
    return frozenset(flag for source in sources for flag in language_of_program(source).understands)


def _unknown(key: str, where: str, keys: Sequence[str]) -> Diagnostic:
    near = get_close_matches(key, keys, 1)
    way_out = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(f'`{name}`' for name in keys)}"
    return Diagnostic("E901", f"{where} has no key `{key}`", help=way_out)


def _listed(words: Sequence[str]) -> str:
    return " or ".join(f"`{word}`" for word in words)


def _wrong(message: str, help: str = "") -> Diagnostic:
    return Diagnostic("E902", message, help=help)
