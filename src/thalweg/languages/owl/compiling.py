"""An ontology as a program, by any profile, with a warning for each axiom that lies outside of it."""

from collections.abc import Iterator, Sequence

from thalweg.diagnostics import Diagnostic
from thalweg.ir.nodes import Program
from thalweg.languages.owl import structure
from thalweg.languages.owl.axioms import Axiom, ClassAssertion, Ontology
from thalweg.languages.owl.profiles import outside
from thalweg.languages.owl.program import Options, beside, over_triples, rewritten, specialised
from thalweg.model.vocabulary import Triple, short


def compile(
    name: str,
    triples: Sequence[Triple],
    profile: str,
    window: int = 0,
    schema: bool = False,
    options: Options = Options(),
    others: Sequence[Program] = (),
) -> tuple[Program, list[Diagnostic]]:
    """The program of an ontology, and a warning for each axiom that lies outside the profile.

    `others` are the programs that it runs beside.
    """
    ontology = structure.read(triples)
    if profile == "ql":
        program = rewritten(name, triples, ontology, window)
    elif schema:
        program = beside(over_triples(triples, profile, window, options), others)
    else:
        # Rules beside an ontology may ask for anything by any of its names.
        alone = not any(other.rules for other in others)
        program = specialised(name, triples, profile, window, options, profile == "rl" and alone)
    return program, list(_outside(name, ontology, profile))


def _outside(name: str, ontology: Ontology, profile: str) -> Iterator[Diagnostic]:
    axioms = [axiom for axiom in ontology.axioms if not _is_plain(axiom)]
    sentences = [sentence for axiom in axioms if (sentence := outside(axiom, profile)) is not None]
    sentences += (f"`{imported}` is imported but not read: name its file as well" for imported in ontology.imports)
    sentences += (f"`{' '.join(map(short, triple))}` is not part of an axiom" for triple in ontology.leftovers)
    for number, sentence in enumerate(sentences, 1):
        way_out = "the rest is used; another `--profile` may support it" if number == len(sentences) else ""
        yield Diagnostic("W409", f"{name}: {sentence}", help=way_out)


def _is_plain(axiom: Axiom) -> bool:
    """That something is in a class with a name is data, whatever a profile's grammar says of the name."""
    return isinstance(axiom, ClassAssertion) and isinstance(axiom.of, str)
