"""Answer set programs, read by clingo's own parser, become outlines, and rules where they are stratified.

    a(X) :- p(X), not q(X).      with inputs p/1 and q/1, over windows of three ticks, becomes

    a(X) :- p(X) in [2], not q(X) in [2].

clingo itself is not needed here: `solvers.clingo.parse` hands over the statements, which are known by their types.
"""

from thalweg.languages.asp.directives import OwnWindow, contradictions, signatures, take_out
from thalweg.languages.asp.program import AspProgram, calls, read, unused
from thalweg.languages.asp.terms import Names

__all__ = ["AspProgram", "Names", "OwnWindow", "calls", "contradictions", "read", "signatures", "take_out", "unused"]
