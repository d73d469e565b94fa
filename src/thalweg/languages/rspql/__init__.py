"""Continuous queries in RSP-QL: SPARQL over windows of streams."""
