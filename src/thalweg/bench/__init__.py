"""Published benchmarks behind `thalweg bench`."""
