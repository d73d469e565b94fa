"""Ontologies of OWL 2 DL become rules and guards that classify events.

top_module      the axioms that can matter to some classes
clausify        axioms become rules and guards (`solvers/dl/normal_form.py`)
data_ranges     data ranges become tests of values, and values become cells
manchester      class expressions as users write them
"""
