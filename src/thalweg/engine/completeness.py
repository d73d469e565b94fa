"""Which relations may lack rows because facts were shed, until when, and whose facts those were."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from thalweg.ir.annotate_terms import as_streamed
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER
from thalweg.planning.withhold import incomplete

if TYPE_CHECKING:
    from thalweg.engine.engine import Engine


def weigh(engine: "Engine") -> None:
    """Finds what may lack rows, and the tick at which the first of it is complete again."""
    whole = engine.whole
    lacking = [whole.memories[name].number for name in engine.lacking]
    lacking += [whole.imports[key].number for key in engine.doubts]
    engine.incomplete = incomplete(whole, lacking)
    engine.settle_at = min(engine.lacking.values(), default=FOREVER) + 1
    visible = (*whole.outputs.values(), *whole.exports.values())
    misses = any(relation.number in engine.incomplete for relation in visible)
    engine.shed = tuple(sorted(as_streamed(_names_of_shed(engine)))) if misses else ()


def _names_of_shed(engine: "Engine") -> Iterator[Predicate]:
    for names in engine.doubts.values():
        yield from names
    for (signature, _), relation in engine.whole.imports.items():
        if relation.name in engine.lacking:
            yield signature
    for (signature, _), feeds in engine.whole.feeds.items():
        if any(feed.relation.name in engine.lacking for feed in feeds):
            yield from engine.gathering.sources(signature) or (signature,)
