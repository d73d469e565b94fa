"""Short names for IRIs, as texts and drawings of plans show them."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final

from thalweg.model.predicate import with_files
from thalweg.model.prefixes import NO_PREFIXES, Prefixes
from thalweg.model.vocabulary import PREFIXES

# A string may look like anything inside, so it is matched whole.
_IRI: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<[A-Za-z][\w+.-]*:[^<>\s]*?([^<>\s/#:]+)[/#]?>')

OF_OWL: Final = Prefixes.of(PREFIXES)
"""The prefixes of RDF and OWL, and of its datatypes."""


def briefly(texts: Iterable[str], prefixes: Prefixes = NO_PREFIXES) -> Callable[[str], str]:
    """Shortens IRIs by their prefixes, and others to `:name`, except where two of the texts' would end up the same.

    >>> brief = briefly(["<http://a.org/x#jam>/1"], Prefixes((("ex", "http://example.org/"),)))
    >>> brief("<http://a.org/x#jam>(R)"), brief("<http://example.org/jam>(R)")
    (':jam(R)', 'ex:jam(R)')
    """
    meant = defaultdict(set)
    for text in texts:
        for match in _IRI.finditer(prefixes.shorten(with_files(text))):
            meant[match[1]].add(match[0])
    shorten = lambda iri: f":{iri[1]}" if iri[1] and len(meant[iri[1]]) == 1 else iri[0]  # noqa: E731
    return lambda text: _IRI.sub(shorten, prefixes.shorten(with_files(text)))
