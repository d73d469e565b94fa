"""What a graph says in a vocabulary that is not OWL's: rules of SWRL, shapes of SHACL."""

from collections.abc import Sequence

from thalweg.languages.owl.kinds import rdf
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.vocabulary import Triple


def separate(triples: Sequence[Triple], namespace: str) -> tuple[list[Triple], list[Triple]]:
    """The triples in a vocabulary, with the lists and blank nodes that only they need; and all others.

    >>> separate([("_:s", "<sh#path>", "<p>"), ("_:s", "<label>", '"x"'), ("<a>", "<p>", "<b>")], "sh#")[1]
    [('<a>', '<p>', '<b>')]
    """
    prefix = f"<{namespace}"

    def speaks(triple: Triple) -> bool:
        return triple[1].startswith(prefix) or (triple[1] == RDF_TYPE and triple[2].startswith(prefix))

    if not any(map(speaks, triples)):
        return [], list(triples)
    nodes = {triple[0] for triple in triples if triple[0][0] == "_" and speaks(triple)}
    nodes |= _list_nodes(triples, prefix)
    inside, outside = list[Triple](), list[Triple]()
    for triple in triples:
        (inside if triple[0] in nodes or speaks(triple) else outside).append(triple)
    return inside, outside


def _list_nodes(triples: Sequence[Triple], prefix: str) -> set[str]:
    """The nodes of lists that a word of the vocabulary leads to."""
    rests = {subject: object_ for subject, predicate, object_ in triples if predicate == rdf("rest")}
    nodes: set[str] = set()
    for _, predicate, node in triples:
        if predicate.startswith(prefix):
            while node in rests and node not in nodes:
                nodes.add(node)
                node = rests[node]
    return nodes
