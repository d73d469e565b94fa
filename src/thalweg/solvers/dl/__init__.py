"""Reasoning with OWL 2 DL: least models with guards, the search for other models, and a reasoner in Java."""
