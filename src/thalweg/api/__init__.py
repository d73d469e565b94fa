"""Load a program, run it somewhere, ask why. The command line and Python users go through the same functions.

A program is a path, LARS text, or a `Program`. A stream is a path, `-`, a URI, text, or any iterable of events: `Event`
values or pairs `(tick, facts)`. Which strings are paths, and which are text: `sources`. What Python users call is in
`verbs`; the rest is for the command line.
"""

from thalweg.api.answer_stream import Answers
from thalweg.api.jobs import PreparedRun, open_checkpoint, run_on_spark, run_to, start
from thalweg.api.kind_options import (
    ResolvedOptions,
    default_timing,
    resolve_options,
    understood,
    usage,
    with_frequencies,
    wrong_usage,
)
from thalweg.api.live_session import Session
from thalweg.api.loading import EVERYTHING, analyse, analyse_resolved, examine, load_part, load_resolved
from thalweg.api.naming import fact_of, predicates_of, prefixes_of
from thalweg.api.run_options import KindKeywords, RunOptions, keywords_of
from thalweg.api.saved_reasoner import need_recordings, saved_reasoner
from thalweg.api.sources import Background, On, Text, language_of_program, on_command_line
from thalweg.api.timing import Moment, Timing
from thalweg.api.verbs import check, explain, load, open, run, why, why_event, why_not, why_row
from thalweg.connectors.mapping.tally import Tally
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.kinds.part import Part
from thalweg.languages.compile_options import PROFILES, TASKS, OntologyOptions
from thalweg.model.prefixes import Prefixes, given_prefixes
from thalweg.runtimes.observer import Observer

__all__ = [
    "EVERYTHING",
    "PROFILES",
    "TASKS",
    "Answers",
    "Background",
    "KindKeywords",
    "Moment",
    "Observer",
    "On",
    "OntologyOptions",
    "Part",
    "Prefixes",
    "PreparedRun",
    "ResolvedOptions",
    "RunOptions",
    "Session",
    "SolveOptions",
    "Tally",
    "Text",
    "Timing",
    "analyse",
    "analyse_resolved",
    "check",
    "default_timing",
    "examine",
    "explain",
    "fact_of",
    "given_prefixes",
    "keywords_of",
    "language_of_program",
    "load",
    "load_part",
    "load_resolved",
    "need_recordings",
    "on_command_line",
    "open",
    "open_checkpoint",
    "predicates_of",
    "prefixes_of",
    "resolve_options",
    "run",
    "run_on_spark",
    "run_to",
    "saved_reasoner",
    "start",
    "understood",
    "usage",
    "why",
    "why_event",
    "why_not",
    "why_row",
    "with_frequencies",
    "wrong_usage",
]
