"""Solvers that are asked where rules alone do not decide; each the only import of its package."""
