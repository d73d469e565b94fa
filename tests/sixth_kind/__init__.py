"""A language of another package, with a kind of its own: running counts of what comes.

    tally doors by R: enter(P,R) +1, leave(P,R) -1

A fact counts at each tick at which it comes on a stream, and at the tick at which rules begin to conclude it, once
however often it comes at that tick. While the count N of a key is not 0, `doors(R,N)` holds, for users and for rules.

    tallies.py     texts to tallies: `LANGUAGE`
    counters.py    tallies as a part of a plan, alone or beside others
    counting.py    the operator, split by the key; its state is the counts
    explained.py   the plan document
"""

from sixth_kind.tallies import LANGUAGE

__all__ = ["LANGUAGE"]
