"""One dataflow: operators joined by edges, taken through time in one process or in the buckets of Spark."""
