"""Continuous queries: windows of streams are kept as graphs, and asked whenever one of them closes."""
