"""What a run answers: values of every kind, and the ways in which they are shown and written."""
