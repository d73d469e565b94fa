"""A first deployment from a sample of data: a mapping, a tick, a delay, and a rule to begin with.

The sample is the beginning of a file, read as a run reads it, so that what is proposed runs as it is.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final

from thalweg.connectors.files import read_beginning
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.mapping.dialect import Dialect, dialect_of
from thalweg.connectors.mapping.mapping import spelled
from thalweg.connectors.mapping.propose import first_row, mapping_for, values_of
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.table_text import TableText, binary
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.readers import ENDINGS
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.languages.registry import language_of_texts, registry, suffix_of
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.time import Clock

_SAMPLE: Final = 10_000
_STATES: Final = "# It states facts by itself, so it needs no `map`."
_HEAD: Final = 1 << 16
# What people count in, in milliseconds.
_TICKS: Final = {"1ms": 1, "10ms": 10, "100ms": 100, "1s": 1_000, "10s": 10_000, "1min": 60_000, "1h": 3_600_000}


@dataclass(frozen=True, slots=True)
class FirstDeployment:
    """Two texts: the deployment, and the rules that it names."""

    deployment: str
    rules: str


def names_for(stem: str) -> tuple[Path, Path]:
    """The names of the files of a deployment, and of its rules.

    >>> [path.name for path in names_for("readings")]
    ['readings.toml', 'readings.lars']
    """
    suffix = next(suffix for suffix, language in registry().programs.items() if language.deploys is not None)
    return Path(f"{stem}{suffix}"), Path(f"{stem}{language_of_texts().suffixes[0]}")


def first_deployment(data: Path, rules: str) -> FirstDeployment:
    """A first deployment for a file of readings; `rules` is the name of its file of rules."""
    clock = Clock(1)
    mapping, written = ("", "") if _states_facts(data) else _mapping(data)
    times, facts, wrong = _sample(data, mapping, clock)
    if not facts:
        message = f"no fact can be made of `{data}` by `{mapping}`"
        help_ = "say in a mapping which column has the time, as in `--map 'temp(device, temp) at ts'`"
        unclear = Diagnostic("E301", message, help=help_)
        raise RejectedError([unclear] if mapping.endswith(" at TIME") or not wrong else wrong[:1])
    # Bare ticks are as long as they are.
    tick, length = ("1s", 1) if clock.notation.bare else _tick(times)
    delay = _delay(times, length)
    return FirstDeployment(_deployment(data, rules, mapping, written, tick, delay), _rules(facts, tick))


def _states_facts(data: Path) -> bool:
    """Whether a file is a stream as it is, and its rows or messages need no mapping."""
    try:
        _, facts, wrong = _sample(data, "", Clock(1))
    except RejectedError:
        return False
    return bool(facts) and not wrong


def _mapping(data: Path) -> tuple[str, str]:
    """A mapping for the columns or keys of a file; and keys for how its text is written, as comments."""
    format = ENDINGS.get(suffix_of(data.name))
    if format == "parquet":
        import pyarrow.parquet as parquet

        batch = next(parquet.ParquetFile(data).iter_batches(1), None)
        row = batch.to_pylist()[0] if batch is not None and len(batch) else {}
        return mapping_for({spelled(name): value for name, value in row.items()}), ""
    if format not in ("csv", "json", "jsonl"):
        help_ = "it begins with a table or with messages: `.csv`, `.parquet`, `.jsonl`"
        raise RejectedError([Diagnostic("E402", f"`{data}` is not data that `init` knows", help=help_)])
    content, encoding = read_beginning(data, _HEAD), TableText()
    begun = content[: encoding.complete(content)] or content
    text = encoding.as_utf8(begun)[0].decode(errors="replace")
    if format == "csv":
        if (problem := binary(content)) is not None:
            raise RejectedError([Diagnostic("E301", f"`{data}`: {problem[0]}", help=problem[1])])
        dialect = dialect_of(text)
        if dialect is None:
            raise RejectedError([Diagnostic("E301", f"`{data}` is empty")])
        row = {spelled(name): value for name, value in first_row(text, dialect).items()}
        return mapping_for(row), _written(dialect, encoding.encoding or "utf-8")
    return mapping_for(values_of(_first_object(text, data))), ""


def _written(dialect: Dialect, encoding: str) -> str:
    """How a table was found to be written, as keys that may be said instead."""
    keys = {
        "separator": _quoted(dialect.separator),
        "decimal": _quoted("," if dialect.comma else "."),
        "encoding": _quoted(encoding.removesuffix("-le").removesuffix("-be")),
        "header": str(dialect.has_header).lower(),
    }
    if not dialect.has_header:
        keys["columns"] = json.dumps(dialect.names)
    lines = [f"# {key:9} = {value}" for key, value in keys.items()]
    return "\n".join(["# How the table is written was found out; remove a `#` to say it instead:", *lines, ""])


def _first_object(text: str, data: Path) -> dict[str, Any]:
    # Of an array the first element; the rest of it may be long.
    begins = text.lstrip().removeprefix("[").lstrip()
    try:
        value, _ = json.JSONDecoder().raw_decode(begins)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise RejectedError([Diagnostic("E301", f"`{data}` does not begin with an object of JSON")])
    return value


def _sample(data: Path, mapping: str, clock: Clock) -> tuple[list[int], list[Fact], list[Diagnostic]]:
    """The times, in milliseconds and in the order of the file, and the facts of its beginning; what is wrong."""
    from thalweg.runtimes.inputs import Streams, open_all

    tally, words = Tally(read_mappings([mapping] if mapping else [])), Dictionary()
    transports = open_all([data], tally)
    times, facts, wrong = list[int](), list[Fact](), list[Diagnostic]()
    try:
        for item in islice(Streams(transports, words, clock, Interrupt(), tally), _SAMPLE):
            if not isinstance(item, tuple):
                wrong += [item] if isinstance(item, Diagnostic) else []
                continue
            batch_facts = list(item[1].facts(words))
            times += [item[0]] * len(batch_facts)
            facts += batch_facts
            if len(facts) >= _SAMPLE:
                break
    finally:
        for transport in transports:
            transport.close()
    return times, facts, wrong


def _tick(times: Sequence[int]) -> tuple[str, int]:
    """The longest tick that keeps the times of the sample apart."""
    ordered = sorted(set(times))
    least = min((after - before for before, after in pairwise(ordered)), default=1_000)
    return max(((name, length) for name, length in _TICKS.items() if length <= least), key=lambda entry: entry[1])


def _delay(times: Sequence[int], length: int) -> int:
    """How far out of order the sample is, in ticks."""
    highest, behind = times[0], 0
    for time in times:
        highest = max(highest, time)
        behind = max(behind, highest // length - time // length)
    return behind


def _rules(facts: Sequence[Fact], tick: str) -> str:
    """One rule about the readings: what is high, or what is there at all."""
    predicate, arity = facts[0].predicate, len(facts[0].terms)
    facts = [fact for fact in facts if fact.signature == facts[0].signature]
    numbers = [
        value for fact in facts if isinstance(value := fact.args[-1], int | float) and not isinstance(value, bool)
    ]
    keys = ",".join(f"X{number}" for number in range(1, arity)) if arity > 2 else "D" * (arity == 2)
    own = f"({keys})" if keys else ""
    within = f"{5 * int(tick.rstrip('mshin'))} {tick.lstrip('0123456789')}"
    if not numbers or len(numbers) < len(facts):
        return (
            f"% What was seen in the last {within}.\n"
            f"seen{own} :- {predicate}({','.join([keys, '_'] if keys else ['_'])}) in [{within}].\n"
        )
    high = _high(numbers)
    return (
        f"% High: a reading above {high} in the last {within}. The value is from the sample: choose your own.\n"
        f"high{own} :- {predicate}({','.join([keys, 'V'] if keys else ['V'])}) in [{within}], V > {high}.\n"
    )


def _high(numbers: Sequence[float]) -> str:
    """A value that a tenth of the sample is above, or at least its greatest reading."""
    ordered = sorted(numbers)
    high = ordered[min(int(len(ordered) * 0.9), len(ordered) - 1)]
    below = [number for number in ordered if number < ordered[-1]]
    return repr(high if high < ordered[-1] else below[-1] if below else ordered[-1] - 1)


def _deployment(data: Path, rules: str, mapping: str, written: str, tick: str, delay: int) -> str:
    return f"""# A deployment: run it with `thalweg run`, look at it with `thalweg check` and `thalweg explain`.
# Files are beside this one. Every key is also an option of `thalweg run --help`, and what is typed counts.

program = [{_quoted(rules)}]
# background = ["sites.csv"]            # facts that hold at every tick

[streams.{name if (name := data.name.partition(".")[0]).isidentifier() else _quoted(name)}]
from = {_quoted(str(data))}{" " * 4}# later perhaps "mqtt://broker/topic"
{f"map  = [{_quoted(mapping)}]    # columns or keys become facts" if mapping else _STATES}
{written}
[time]
tick  = {_quoted(tick)}    # the sample's times are at least this far apart
delay = {delay}{" " * (len(tick) + 1)}    # ticks by which readings may come late; in the sample {delay}

[output]
# to   = "answers.csv"                  # .jsonl, .csv or .parquet; by default the terminal
# show = ["high/1"]                     # by default all that is derived
"""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
