"""Answer set programs, read by clingo's own parser, become outlines, and rules where they are stratified.

    a(X) :- p(X), not q(X).      with inputs p/1 and q/1, over windows of three ticks, becomes

    a(X) :- p(X) in [2], not q(X) in [2].

clingo itself is not needed here: `solvers.clingo.parse` hands over the statements, which are known by their types.
"""

from typing import Final

from thalweg.languages.registry import Language

LANGUAGE: Final = Language("asp", (".lp",), kind="answer sets")
