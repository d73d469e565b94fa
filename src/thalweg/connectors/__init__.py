"""One transport a file, source and sink together."""
