"""The packages that Spark fetches from Maven for formats that it does not bring: which version goes with which Spark.

Each was built for one minor version of Spark. Where a session is opened here they are fetched (`spark.jars.packages`);
a session that is open must have been opened with them, and the message names the coordinate.
"""

from collections.abc import Iterable
from typing import Final

from thalweg.diagnostics import Diagnostic, RejectedError

_SCALA: Final = "2.13"

PACKAGES: Final = {
    "kafka": {
        "4.1": f"org.apache.spark:spark-sql-kafka-0-10_{_SCALA}:4.1.3",
        "4.2": f"org.apache.spark:spark-sql-kafka-0-10_{_SCALA}:4.2.0",
    },
    "delta": {
        "4.1": f"io.delta:delta-spark_4.1_{_SCALA}:4.4.0",
        "4.2": f"io.delta:delta-spark_4.2_{_SCALA}:4.4.0",
    },
    "iceberg": {"4.1": f"org.apache.iceberg:iceberg-spark-runtime-4.1_{_SCALA}:1.12.0"},
}
"""The newest coordinate of each format for each version of Spark, as Maven Central has them."""

_SETTINGS: Final = {
    "kafka": {},
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "iceberg": {"spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"},
}


def coordinate(format_: str, spark: str) -> str:
    """The package of a format for a version of Spark; `RejectedError` where Maven has none.

    >>> coordinate("delta", "4.2.1")
    'io.delta:delta-spark_4.2_2.13:4.4.0'
    >>> coordinate("iceberg", "4.3.0")
    Traceback (most recent call last):
    thalweg.diagnostics.RejectedError: error[E406]: there is no package of iceberg for Spark 4.3
      help: use Spark 4.1 (`pip install 'pyspark==4.1.*'`), or give a jar of your own with `--jar`
    """
    version = ".".join(spark.split(".")[:2])
    by_version = PACKAGES[format_]
    if version not in by_version:
        newest = max(by_version)
        message = f"there is no package of {format_} for Spark {version}"
        way_out = f"use Spark {newest} (`pip install 'pyspark=={newest}.*'`), or give a jar of your own with `--jar`"
        raise RejectedError([Diagnostic("E406", message, help=way_out)])
    return by_version[version]


def package_settings(formats: Iterable[str], spark: str) -> dict[str, str]:
    """The settings of a session that reads and writes formats.

    >>> package_settings(["kafka"], "4.2.0")
    {'spark.jars.packages': 'org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0'}
    """
    names = sorted({*formats})
    settings: dict[str, str] = {}
    for name in names:
        for key, value in _SETTINGS[name].items():
            settings[key] = f"{settings[key]},{value}" if key in settings else value
    if names:
        settings["spark.jars.packages"] = ",".join(coordinate(name, spark) for name in names)
    return settings


def missing_package(error: Exception, spark: str) -> Diagnostic | None:
    """What to do about an error of Spark that it does not know a format; None for any other error.

    >>> missing_package(ValueError("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta."), "4.2.0").help
    'open the session with `--conf spark.jars.packages=io.delta:delta-spark_4.2_2.13:4.4.0`'
    """
    text = str(error)
    for name in PACKAGES:
        if "DATA_SOURCE_NOT_FOUND" in text and f": {name}." in text:
            try:
                way_out = f"open the session with `--conf spark.jars.packages={coordinate(name, spark)}`"
            except RejectedError as rejected:
                return rejected.diagnostics[0]
            return Diagnostic("E406", f"this session of Spark does not know the format `{name}`", help=way_out)
    return None
