"""From a program to a plan: pure functions, one idea a file."""
