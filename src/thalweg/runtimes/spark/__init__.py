"""The same programs on Apache Spark: split over partitions, each fact exactly once."""
