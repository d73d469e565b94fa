"""Fact streams: `a(x1,y) at 36.`, as fast as pure Python reads them.

Almost every fact of a stream has the same simple shape, so one regular expression takes it apart and its arguments are
looked up in the dictionary as they stand: a text that the dictionary knows is a term in its canonical spelling. What
does not fit (a comma inside a string, a comment, a prefix, a mistake) is looked at more closely, and only then by the
parser. A fact ends on the line on which it begins; a line with a mistake costs the rest of that line and nothing else.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, NamedTuple

import numpy as np

from thalweg.diagnostics import Diagnostic, RejectedError, Source, Span
from thalweg.ir.nodes import Constant, Rule, names
from thalweg.languages.lars.lower import Lowering
from thalweg.languages.lars.parser import BLANK, read_statement
from thalweg.languages.lars.terms import GROUND, PREDICATE, TERM, ReadingError, canonical
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch, Rows
from thalweg.model.fact import Fact
from thalweg.model.local_times import SkippedTimeError
from thalweg.model.number import read_number
from thalweg.model.predicate import Predicate, interned
from thalweg.model.term import BARE
from thalweg.model.time import Clock
from thalweg.model.timestamps import written_instant

Item = tuple[int, Batch] | Diagnostic
TimedFacts = tuple[int, str | None, list[str]]
"""A tick, a stream, and facts as text."""
DEFAULT_CLOCK: Final = Clock()

_TIME = r'[ \t]+at[ \t]+([0-9]{1,18}|"[^"\n]*"|@[0-9]{4}-[0-9TZ:+-]+(?:\.[0-9]+[0-9Z:+-]*)?)[ \t]*\.(?![0-9])'
_SIMPLE: Final = re.compile(rf'\s*([a-z]\w*(?::\w+)?|<[^<>"{{}}|^`\\\s]+>)(?:\(([^()\n]*)\))?{_TIME}', re.ASCII)
# Whole lines of one predicate and tick, without blanks, strings or IRIs: they are taken apart together.
_RUN: Final = re.compile(
    r'([a-z]\w*)\([^()\n" \t<:]+\) at ([0-9]{1,18})\.\n(?:\1\([^()\n" \t<:]+\) at \2\.\n)+', re.ASCII
)
_FULL: Final = re.compile(GROUND + _TIME)
_FACT: Final = re.compile(rf"\s*{GROUND}\s*(?:\.\s*)?")
# A line of one fact without a time; others are looked at closely.
_TIMELESS: Final = re.compile(r'^([ \t]*[a-z]\w*\([^()\n"]*\))[ \t]*\.[ \t]*\r?$', re.ASCII | re.MULTILINE)
_TIMELESS_END: Final = re.compile(r"\)[ \t]*\.[ \t]*\r?$", re.MULTILINE)
# Short enough to be in range without a closer look.
_SHORT_NUMBER: Final = re.compile(r"-?[0-9]{1,8}(?:\.[0-9]{1,8})?")
_SHORT_NUMBERS: Final = re.compile(r"(?:-?[0-9]{1,8}(?:\.[0-9]{1,8})?,)+")
# From here on numbers are read together.
_MANY: Final = 64
_KEPT: Final = 65_536
# Longer ones seldom come again, and would be much to keep.
_LONGEST_KEPT: Final = 100


class _Stated(NamedTuple):
    """A fact as it was written, its terms in canonical spelling."""

    tick: int
    name: str
    terms: tuple[str, ...]


class _Words(dict[str, int]):
    """Words of arguments that the dictionary does not list as they stand: new terms, numbers, other spellings.

    Only the words of numbers are remembered, for they have no entry; an entry may be given to another term between two
    blocks, so of the other terms it is the spelling that is remembered.
    """

    def __init__(self, dictionary: Dictionary, prefixes: dict[str, str]) -> None:
        self._code = dictionary.code
        self._prefixes = prefixes
        self._spellings: dict[str, str] = {}

    def __missing__(self, text: str) -> int:
        # No digit comes behind 9, and no letter before it.
        if text[:1] > "9" and BARE.match(text):
            return self._code(text)
        if _SHORT_NUMBER.fullmatch(text):
            return self._remember(text, read_number(text) or 0)
        spelling = self._spellings.get(text) or self._spell(text)
        word = self._code(spelling)
        return self._remember(text, word) if word & 3 else word

    def _remember(self, text: str, word: int) -> int:
        if len(self) >= _KEPT:
            self.clear()
        self[text] = word
        return word

    def _spell(self, text: str) -> str:
        term = text.strip()
        if "\n" in text or not TERM.fullmatch(term) or not is_unicode(term):
            raise _not_simple(term)
        spelling = canonical(term, self._prefixes)
        if spelling != text and len(text) <= _LONGEST_KEPT:
            if len(self._spellings) >= _KEPT:
                self._spellings.clear()
            self._spellings[text] = spelling
        return spelling

    def forget_prefixes(self) -> None:
        self._spellings.clear()


def _numbers(texts: list[str]) -> list[int] | None:
    """The words of short numbers; None where others are among them, or so few that it does not pay.

    >>> _numbers(["2"] * _MANY)[0] == read_number("2"), _numbers(["-1.50"] * _MANY)[0] == read_number("-1.50")
    (True, True)
    """
    if len(texts) < _MANY or texts[0][:1] > "9":
        return None
    text = ",".join(texts) + ","
    if _SHORT_NUMBERS.fullmatch(text) is None:
        return None
    digits = np.fromstring(text[:-1].replace(".", ""), dtype=np.int64, sep=",")
    words = digits << 2 | 1
    characters = np.frombuffer(text.encode(), dtype=np.uint8)
    points = np.flatnonzero(characters == ord("."))
    if len(points):
        ends = np.flatnonzero(characters == ord(","))
        fractional = np.searchsorted(ends, points)
        words[fractional] = digits[fractional] << 8 | (ends[fractional] - points - 1) << 2 | 2
    return words.tolist()  # type: ignore[no-any-return]


class FactReader:
    """Reads a stream of facts block by block.

    What comes out is, in the order of the text, batches of consecutive facts of one tick, and diagnostics. No fact is
    coded before everything in front of it has been taken, so the dictionary may be collected between any two items.
    Facts without a time are wrong, unless `arrival` says when what is read has come, in milliseconds since 1970.

    >>> reader = FactReader("in.facts", Dictionary())
    >>> [(tick, batch.order) for tick, batch in reader.feed("a(x,y) at 3. b at 3.\\na(x,z) at 4.\\na(x")]
    [(3, ['a/2', 'b/0']), (4, ['a/2'])]
    >>> [(tick, batch.order) for tick, batch in reader.feed(",y) at 5.\\n")]
    [(5, ['a/2'])]
    """

    def __init__(
        self,
        name: str,
        dictionary: Dictionary,
        clock: Clock = DEFAULT_CLOCK,
        stream: str | None = None,
        arrival: Callable[[], int] | None = None,
    ) -> None:
        self.name = name
        self._arrival = arrival
        self.dictionary = dictionary
        self.clock = clock
        self.stream = stream
        self.prefixes: dict[str, str] = {}
        self._words = _Words(dictionary, self.prefixes)
        self._signatures: dict[tuple[str, int], Predicate] = {}
        self._pending = ""
        self._line = 1

    def feed(self, block: str) -> Iterator[Item]:
        """The items of a block of text, all to be taken before the next block; a part of a line waits for it."""
        text = self._pending + block
        end = text.rfind("\n") + 1
        self._pending = text[end:]
        return self._items(self._timed(text[:end])) if end else iter(())

    def _timed(self, text: str) -> str:
        """A text where facts on lines of their own, which state no time, have that of their arrival."""
        if self._arrival is None or ")." not in text or _TIMELESS_END.search(text) is None:
            return text
        return _TIMELESS.sub(rf"\1 at @{written_instant(self._arrival())}.", text)

    def close(self) -> Iterator[Item]:
        """The items of a last line that no line break ends."""
        text, self._pending = self._pending, ""
        yield from self._items(text)
        if self._pending:
            source = Source(self.name, self._pending.partition("\n")[0], self._line)
            yield Diagnostic("E301", "the comment is not closed", Span(source, 0, 2), help="close it with `*/`")

    def save(self) -> dict[str, Any]:
        """The state of the reader behind the blocks so far, as JSON."""
        return {"prefixes": dict(self.prefixes), "pending": self._pending, "line": self._line}

    def load(self, saved: dict[str, Any]) -> None:
        """Goes on where another reader was saved."""
        self.prefixes.update(saved["prefixes"])
        self._pending, self._line = saved["pending"], saved["line"]

    def _items(self, text: str) -> Iterator[Item]:
        simple, word_of, words_of, signatures = _SIMPLE.match, self.dictionary.words.get, self._words, self._signatures
        batch = Batch(stream=self.stream)
        rows, order = batch.rows, batch.order
        tick, written, position, slowly = -1, "", 0, 0
        while position < len(text):
            run = _RUN.match(text, position) if position >= slowly else None
            if run is not None:
                name, time = run.groups()
                if time != written:
                    if order:
                        yield tick, batch
                        batch = Batch(stream=self.stream)
                        rows, order = batch.rows, batch.order
                    tick, written = self._at(time), time
                if self._take_run(run.group(), name, time, batch):
                    position = run.end()
                    continue
                slowly = run.end()
            match = simple(text, position)
            if match is not None:
                name, args, time = match.groups()
                try:
                    if time != written:
                        at = self._at(time)
                        if order:
                            yield tick, batch
                            batch = Batch(stream=self.stream)
                            rows, order = batch.rows, batch.order
                        tick, written = at, time
                    words = [word_of(arg) or words_of[arg] for arg in args.split(",")] if args else []
                    signature = signatures.get((name, len(words))) or self._signature(name, len(words))
                    position = match.end()
                except ReadingError:
                    match = None
            if match is None:
                stated, position = self._look_closer(text, position)
                if stated is None:
                    continue
                if order and (isinstance(stated, Diagnostic) or stated.tick != tick):
                    yield tick, batch
                    batch = Batch(stream=self.stream)
                    rows, order = batch.rows, batch.order
                if isinstance(stated, Diagnostic):
                    yield stated
                    continue
                tick, written = stated.tick, ""
                signature = self._signature(stated.name, len(stated.terms))
                words = [self.dictionary.code(term) for term in stated.terms]
            order.append(signature)
            if signature in rows:
                rows[signature] += words
            else:
                rows[signature] = words
        if order:
            yield tick, batch
        self._line += text.count("\n")

    def _take_run(self, run: str, name: str, time: str, batch: Batch) -> bool:
        """Adds the facts of a run to a batch; False, and none is added, where one of them needs a closer look."""
        word_of, words_of = self.dictionary.words.get, self._words
        end = f") at {time}.\n"
        facts = run[len(name) + 1 : -len(end)].split(f"{end}{name}(")
        commas = facts[0].count(",")
        args = ",".join(facts).split(",")
        if any(fact.count(",") != commas for fact in facts):
            return False
        words: list[int] = [0] * len(args)
        try:
            for column in range(commas + 1):
                texts = args[column :: commas + 1]
                words[column :: commas + 1] = _numbers(texts) or [word_of(arg) or words_of[arg] for arg in texts]
        except ReadingError:
            return False
        signature = self._signatures.get((name, commas + 1)) or self._signature(name, commas + 1)
        batch.order += [signature] * len(facts)
        row = batch.rows.setdefault(signature, words)
        if row is not words:
            assert isinstance(row, list)
            row += words
        return True

    def batches(self, events: list[TimedFacts]) -> Iterator[tuple[int, Batch]] | None:
        """One batch for each event, of facts without a time; None where one is not a fact, and `read_fact` says why.

        >>> events = [(3, None, ["a(x,y)", "a(x,z)"]), (4, None, ["b"])]
        >>> [(tick, batch.order) for tick, batch in FactReader("in.jsonl", Dictionary()).batches(events)]
        [(3, ['a/2', 'a/2']), (4, ['b/0'])]
        """
        facts = [fact for _, _, stated in events for fact in stated]
        try:
            return self._batches(events, facts, *self._coded(facts))
        except (RejectedError, AttributeError, TypeError):
            # Where JSON holds something else than a text, that has no such parts.
            return None

    def batch(self, facts: list[str]) -> Batch | None:
        """Facts without a time as one batch; None where one of them is not a fact."""
        batches = self.batches([(0, None, facts)])
        return None if batches is None else next(batches)[1]

    def _batches(
        self, events: list[TimedFacts], facts: list[str], order: list[Predicate], words: dict[Predicate, list[int]]
    ) -> Iterator[tuple[int, Batch]]:
        collections, begin = self.dictionary.collections, 0
        taken = dict.fromkeys(words, 0)
        for tick, stream, stated in events:
            if collections != self.dictionary.collections:
                # What was coded ahead may have lost its words.
                order, words = self._coded(facts[begin:])
                facts, collections, begin = facts[begin:], self.dictionary.collections, 0
                taken = dict.fromkeys(words, 0)
            own = order[begin : begin + len(stated)]
            begin += len(stated)
            rows: Rows = {}
            for signature in own[:1] if len(words) == 1 else dict.fromkeys(own):
                start = taken[signature]
                taken[signature] = end = start + own.count(signature) * signature.arity
                rows[signature] = words[signature][start:end]
            yield tick, Batch(rows, own, stream)

    def _coded(self, facts: list[str]) -> tuple[list[Predicate], dict[Predicate, list[int]]]:
        """The predicate of each fact, and the words of each predicate's facts; raises `RejectedError`."""
        try:
            return self._together(facts) if facts else ([], {})
        except ReadingError:
            return self._one_by_one(facts)

    def _together(self, facts: list[str]) -> tuple[list[Predicate], dict[Predicate, list[int]]]:
        """Looks up the terms of each predicate at once; raises `ReadingError` where a fact needs a closer look."""
        names, facts_of = _by_name(facts)
        signatures = {name: self._one_signature(name, texts) for name, texts in facts_of.items()}
        words = {signatures[name]: self._words_of(name, texts) for name, texts in facts_of.items()}
        return [*map(signatures.__getitem__, names)], words

    def _one_by_one(self, facts: list[str]) -> tuple[list[Predicate], dict[Predicate, list[int]]]:
        word_of, words_of = self.dictionary.words.get, self._words
        order: list[Predicate] = []
        words_by_signature: dict[Predicate, list[int]] = {}
        for fact in facts:
            name, bracket, args = fact.partition("(")
            try:
                words = [word_of(arg) or words_of[arg] for arg in args[:-1].split(",")] if bracket else []
                signature = self._signatures.get((name, len(words))) or self._checked(name, len(words))
                if bracket and args[-1:] != ")":
                    raise _not_simple(fact)
            except ReadingError:
                closely = read_fact(fact)
                signature, words = closely.signature, [self.dictionary.code(term) for term in closely.terms]
            order.append(signature)
            words_by_signature.setdefault(signature, []).extend(words)
        return order, words_by_signature

    def _one_signature(self, name: str, facts: list[str]) -> Predicate:
        arity, *arities = {*map(str.count, facts, repeat(","))}
        if arities:
            raise _not_simple(name)
        return self._signatures.get((name, arity + 1)) or self._checked(name, arity + 1)

    def _words_of(self, name: str, facts: list[str]) -> list[int]:
        """The words of the arguments of facts with one predicate, one after the other."""
        text, between = "\n".join(facts), f")\n{name}("
        if text[-1:] != ")" or not len(facts) - 1 == text.count("\n") == text.count(between):
            raise _not_simple(text)
        terms = text[len(name) + 1 : -1].replace(between, ",").split(",")
        words = [*map(self.dictionary.words.get, terms, map(self._words.get, terms))]
        if None not in words:
            return words  # type: ignore[return-value]
        return [self._words[term] if word is None else word for term, word in zip(terms, words, strict=True)]

    def _checked(self, name: str, arity: int) -> Predicate:
        if not PREDICATE.fullmatch(name) or not is_unicode(name):
            raise _not_simple(name)
        return self._signature(name, arity)

    def _signature(self, name: str, arity: int) -> Predicate:
        signature = interned(canonical(name, self.prefixes), arity)
        self._signatures[name, arity] = signature
        return signature

    def _look_closer(self, text: str, position: int) -> tuple[_Stated | Diagnostic | None, int]:
        """The fact or diagnostic at a position, None where nothing is stated there, and the position behind it."""
        blank = BLANK.match(text, position)
        assert blank is not None
        start = blank.end()
        if start == len(text):
            return None, start
        if text.startswith("/*", start):
            self._pending = text[start:] + self._pending
            self._line -= text.count("\n", start)
            return None, len(text)
        full = _FULL.match(text, start)
        if full:
            try:
                return self._stated(*full.groups()), full.end()
            except ReadingError:
                pass
        return self._parse_line(text, start)

    def _stated(self, name: str, args: str | None, time: str) -> _Stated:
        terms = tuple(canonical(match.group(), self.prefixes) for match in TERM.finditer(args or ""))
        return _Stated(self._at(time), canonical(name, self.prefixes), terms)

    def _at(self, time: str) -> int:
        """The tick of a number, or of a timestamp as in `@2026-11-15T08:00:00Z` or in quotes."""
        if time[0] in '"@':
            return self._moment(time)
        self.clock.notation.bare = True
        return int(time)

    def _moment(self, time: str) -> int:
        """The tick of a timestamp."""
        text = time[1:] if time[0] == "@" else time[1 : time.rindex('"')]
        try:
            tick = self.clock.tick(text)
        except SkippedTimeError as error:
            message, _, way_out = str(error).partition("; ")
            raise ReadingError("E301", message, way_out) from None
        except (ValueError, OverflowError):
            raise ReadingError(
                "E301", f"`{text}` is not a timestamp", 'write it as in "2014-08-11T11:00:00Z"'
            ) from None
        if tick < 0:
            raise ReadingError("E301", f"`{text}` is before the first tick", "ticks are counted from the epoch on")
        return tick

    def _parse_line(self, text: str, start: int) -> tuple[_Stated | Diagnostic | None, int]:
        begin, end = text.rfind("\n", 0, start) + 1, text.find("\n", start)
        end = end if end >= 0 else len(text)
        source = Source(self.name, text[begin:end].rstrip("\r"), self._line + text.count("\n", 0, begin))
        tree, problem, stop = read_statement(source, start - begin)
        if problem or tree is None:
            assert problem is not None
            return _malformed(problem), end
        lowering = Lowering(source, self.clock.tick_length)
        lowering.prefixes = self.prefixes
        if tree.data == "prefix":
            lowering.declare(tree)
            self._words.forget_prefixes()
            self._signatures.clear()
            return None, begin + stop
        if tree.data == "directive":
            span = lowering.span(tree)
            return Diagnostic(
                "E301", "expected a fact, found a directive", span, help="directives belong in the program"
            ), end
        rule = lowering.rule(tree)
        result = _malformed(lowering.diagnostics[0]) if lowering.diagnostics else self._from_rule(rule)
        return result, end if isinstance(result, Diagnostic) else begin + stop

    def _from_rule(self, rule: Rule) -> _Stated | Diagnostic:
        try:
            if rule.time is None and self._arrival is not None:
                return _Stated(self.clock.tick(written_instant(self._arrival())), *_ground(rule))
            if rule.time is None:
                raise ReadingError("E301", "the fact has no time", f"write `{_written(rule)[:-1].rstrip()} at 36.`")
            if not isinstance(rule.time, Constant):
                raise ReadingError("E301", "the time is not a number", "write it as in `at 36`")
            time = rule.time.term
            if not time.isdigit() and time[0] != '"':
                raise ReadingError("E301", f"`{time}` is not a tick", "ticks are the natural numbers 0, 1, 2, …")
            fact = _ground(rule)
            # A timestamp has become a tick on the way, if it was one.
            written = _written_at(rule.time.span)
            return _Stated(self._at(written if written[:1] in ("@", '"') else time), *fact)
        except ReadingError as bad:
            return Diagnostic("E301", str(bad), rule.span, help=bad.way_out)


def _written_at(span: Span) -> str:
    return span.source.text[span.start : span.end]


def _by_name(facts: list[str]) -> tuple[Iterable[str], dict[str, list[str]]]:
    """The name of each fact's predicate, up to its bracket, and the facts of each name."""
    first = facts[0].partition("(")[0]
    if all(map(str.startswith, facts, repeat(f"{first}("))):
        return repeat(first, len(facts)), {first: facts}
    heads = [fact.partition("(")[0] for fact in facts]
    facts_of: dict[str, list[str]] = {name: [] for name in heads}
    for name, fact in zip(heads, facts, strict=True):
        facts_of[name].append(fact)
    return heads, facts_of


def _not_simple(text: str) -> ReadingError:
    """Says to callers in this file that a text needs a closer look; nobody reads it."""
    return ReadingError("E301", f"`{text}` is not simple", "")


def _ground(rule: Rule) -> Fact:
    """The fact that a rule without a body states."""
    if rule.body:
        raise ReadingError("E301", "expected a fact, found a rule", "rules belong in the program")
    args = [arg.term for arg in rule.head.args if isinstance(arg, Constant)]
    if len(args) == len(rule.head.args):
        return Fact(rule.head.predicate, tuple(args))
    variables = sorted(names(rule.head))
    if variables:
        message = f"facts cannot contain variables such as `{variables[0]}`"
        raise ReadingError("E301", message, "quote text that starts with a capital")
    raise ReadingError("E301", "facts cannot contain arithmetic", "write its result")


def _written(rule: Rule) -> str:
    return rule.span.source.text[rule.span.start : rule.span.end]


def _malformed(problem: Diagnostic) -> Diagnostic:
    """What is wrong with a fact; help that speaks of rules would lead its reader astray."""
    way_out = problem.help if problem.code != "E101" else "write a fact as in `speed(a,12) at 3.`"
    return Diagnostic("E301", problem.message, problem.span, way_out, problem.notes)


def is_unicode(text: str) -> bool:
    """Whether a text can be written: JSON can escape half a surrogate pair, which no encoding has.

    >>> is_unicode("ä"), is_unicode("\\ud800")
    (True, False)
    """
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


@lru_cache(maxsize=65_536)
def read_fact(text: str, name: str = "fact", prefixes: tuple[tuple[str, str], ...] = ()) -> Fact:
    """One fact without a time, as on the command line or in JSON; raises `RejectedError`.

    >>> read_fact('a(x1, "b c", 007)')
    Fact('a', ('x1', 'b c', 7))
    """
    if not is_unicode(text):
        help = "write a character beyond U+FFFF as a pair of escapes: `\\ud83d\\ude00`"
        raise RejectedError([Diagnostic("E101", "this has half a surrogate pair, which is not a character", help=help)])
    match = _FACT.fullmatch(text)
    if match:
        try:
            by_name = dict(prefixes)
            terms = tuple(canonical(term.group(), by_name) for term in TERM.finditer(match[2] or ""))
            return Fact(canonical(match[1], by_name), terms)
        except ReadingError:
            pass
    source = Source(name, text if text.rstrip().endswith(".") else f"{text}.")
    raise RejectedError([_rejection(source, dict(prefixes))])


def _rejection(source: Source, prefixes: dict[str, str]) -> Diagnostic:
    """Why a text is not a fact."""
    tree, problem, _ = read_statement(source, len(source.text) - len(source.text.lstrip()))
    if tree is None:
        assert problem is not None
        return problem
    if tree.data in ("prefix", "directive"):
        return Diagnostic("E101", "this is not a fact", Span(source, 0, len(source.text)), help="write `a(x1,y)`")
    lowering = Lowering(source, 1_000)
    lowering.prefixes |= prefixes
    rule = lowering.rule(tree)
    if lowering.diagnostics:
        return lowering.diagnostics[0]
    try:
        _ground(rule)
    except ReadingError as bad:
        return Diagnostic("E101", str(bad), rule.span, help=bad.way_out)
    return Diagnostic(
        "E101", "expected one fact, found more", rule.span, help="write one fact, without a time: `a(x1,y)`"
    )
