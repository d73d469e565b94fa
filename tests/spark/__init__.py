"""On a real Spark: one session for all that need one, processes of their own for what is to be killed."""
