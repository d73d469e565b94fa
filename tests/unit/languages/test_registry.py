"""Languages are found by suffix; those of other packages may be broken, or claim what is taken."""

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from thalweg.diagnostics import RejectedError, Source
from thalweg.ir.nodes import Program
from thalweg.languages.registry import BUILT_IN, GROUP, Language, Options, language_of, load

MINE = Language("mine", (".mine",), lambda sources, options: (Program(), []))
LARS = Language("other", (".lars", ".other"), lambda sources, options: (Program(), []))
NOT_ONE = "text"


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("jam.lars", "lars"),
        ("a/b.LARS", "lars"),
        ("jam.lp", "asp"),
        ("city.ttl.gz", "owl"),
        ("koala.owl", "owl"),
    ],
)
def test_a_suffix_says_the_language(name: str, language: str) -> None:
    found = language_of(name)
    assert found is not None
    assert found.name == language


@pytest.mark.parametrize("name", ["x.txt", "lars", "x", "", "x.lars.txt", "in.facts"])
def test_other_files_are_no_programs(name: str) -> None:
    assert language_of(name) is None


def test_backgrounds_are_facts_rules_and_rdf() -> None:
    names = ("in.facts", "in.lars", "in.ttl", "in.lp", "in.csv")
    found = [language_of(name, background=True) for name in names]
    assert [one and one.name for one in found] == ["lars", "lars", "owl", None, None]


def test_a_language_that_cannot_be_loaded_is_left_out_with_a_reason() -> None:
    known = load(
        (
            *BUILT_IN,
            entry("gone", "no_such_module:LANGUAGE"),
            entry("nothing", f"{__name__}:NOTHING"),
            entry("text", f"{__name__}:NOT_ONE"),
            entry("mine", f"{__name__}:MINE"),
        )
    )
    assert known.programs[".mine"] is MINE
    assert [sentence.partition(": ")[0] for sentence in known.broken] == [
        f"the language `{name}` cannot be loaded" for name in ("gone", "nothing", "text")
    ]
    assert "No module named 'no_such_module'" in known.broken[0]


def test_a_suffix_that_two_languages_claim_is_refused_with_both_names() -> None:
    known = load((*BUILT_IN, entry("other", f"{__name__}:LARS")))
    assert known.programs[".other"] is LARS
    compile = known.programs[".lars"].compile
    with pytest.raises(RejectedError, match=r"E402.*`lars` and `other` claim \.lars"):
        compile([Source("jam.lars", "")], Options())


@pytest.mark.parametrize("suffix", ["mine", ".Mine", ".", ".mine.gz", ".m3", ""])
def test_a_suffix_is_a_full_stop_and_small_letters(suffix: str) -> None:
    with pytest.raises(ValueError, match="is not a suffix"):
        Language("mine", (suffix,), MINE.compile)


def test_a_program_of_rules_imports_no_compiler_of_other_languages() -> None:
    script = """
import sys, thalweg
thalweg.load("q(X) :- p(X).", background="p(a).")
assert not thalweg.check(thalweg.Source("jam.lars", "q :- p."))
heavy = ("clingo", "pyoxigraph", "pyhornedowl", "thalweg.languages.owl.program", "thalweg.languages.asp.program")
print([name for name in sys.modules if name.startswith(heavy)])
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
