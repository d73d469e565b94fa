"""What is evaluated as one: rules, an answer set program, or both, each ready for both runtimes."""
