"""Thalweg: a stream reasoner that knows until when each conclusion holds."""
