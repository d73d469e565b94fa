"""Contradictions with an ontology: each with a smallest set of facts behind it, and how frequent classes are."""
