"""Shapes of SHACL, which are given as an ontology by mistake: they say what data must look like, not what follows."""

from collections.abc import Sequence
from typing import Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.languages.owl import structure
from thalweg.languages.owl.separate_vocabulary import separate
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.vocabulary import Triple

SHACL: Final = "http://www.w3.org/ns/shacl#"
_SHAPES: Final = {f"<{SHACL}NodeShape>", f"<{SHACL}PropertyShape>"}
_TARGETS: Final = f"<{SHACL}target"
_WAY_OUT: Final = (
    "validate data with a SHACL processor, such as pySHACL; to find contradictions on a stream, state the constraints "
    "as axioms of OWL (`--as consistency`) or as rules in a `.lars` file"
)


def without_shapes(name: str, triples: Sequence[Triple]) -> tuple[list[Triple], list[Diagnostic]]:
    """The triples of a document that are not SHACL, and a warning if some are.

    `RejectedError` where nothing is left to reason with.
    """
    shapes, remaining = separate(triples, SHACL)
    if not shapes:
        return remaining, []
    names = dict.fromkeys(
        subject
        for subject, predicate, object_ in shapes
        if predicate.startswith(_TARGETS) or (predicate == RDF_TYPE and object_ in _SHAPES)
    )
    named = [subject for subject in names if subject[0] == "<"]
    example = f", such as `{named[0]}`" if named else ""
    count = f"{len(names)} SHACL shape{'s' if len(names) > 1 else ''}{example}" if names else "words of SHACL"
    if not structure.read(remaining).axioms:
        message = f"{name} has {count}, and no axioms: shapes are for validation, and nothing follows from them"
        raise RejectedError([Diagnostic("E420", message, help=_WAY_OUT)])
    message = f"{name}: {count}: not used, because shapes are for validation; the axioms beside them are used"
    return remaining, [Diagnostic("W420", message, help=_WAY_OUT)]
