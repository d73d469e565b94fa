"""The process that forks the Python workers of a session on this machine: it imports once what each of them needs.

Spark's own imports nothing, so each worker would take most of a second for imports; a run over a few facts has two.
Nothing that is imported here may start a thread of Python, because a process that is forked has none of them, or
choose a secret, because it would have the same.
"""

import pandas  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import thalweg.runtimes.spark.bucket_answers
import thalweg.runtimes.spark.stream_batches
import thalweg.runtimes.spark.worker_cache  # noqa: F401

if __name__ == "__main__":
    manager()
