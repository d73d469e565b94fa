"""The packages that Spark fetches from Maven for formats that it does not bring: which version goes with which Spark.

Each was built for one minor version of Spark; that of Kafka runs on the next one, too. Where a session is opened here
they are fetched (`spark.jars.packages`); a session that is open must have been opened with them, and the message names
the coordinate.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from thalweg.diagnostics import Diagnostic, RejectedError

_SCALA: Final = "2.13"
_CENTRAL: Final = "https://repo1.maven.org/maven2"
# The connector to Kafka names one of its own version, which Maven Central does not have.
_TOKENS: Final = f"spark-token-provider-kafka-0-10_{_SCALA}"
_TOKENS_JAR: Final = f"{_CENTRAL}/org/apache/spark/{_TOKENS}/4.0.0/{_TOKENS}-4.0.0.jar"

PACKAGES: Final = {
    "kafka": {
        "4.1": f"org.apache.spark:spark-sql-kafka-0-10_{_SCALA}:4.1.3",
        "4.2": f"org.apache.spark:spark-sql-kafka-0-10_{_SCALA}:4.2.0",
        "4.3": f"org.apache.spark:spark-sql-kafka-0-10_{_SCALA}:4.2.0",
    },
    "delta": {
        "4.1": f"io.delta:delta-spark_4.1_{_SCALA}:4.4.0",
        "4.2": f"io.delta:delta-spark_4.2_{_SCALA}:4.4.0",
    },
    "iceberg": {"4.1": f"org.apache.iceberg:iceberg-spark-runtime-4.1_{_SCALA}:1.12.0"},
}
"""The newest coordinate of each format for each version of Spark, as Maven Central has them."""

_BESIDE: Final = {
    "kafka": {"spark.jars.excludes": f"org.apache.spark:{_TOKENS}", "spark.jars": _TOKENS_JAR},
}
"""What is fetched beside a package."""

_SETTINGS: Final = {
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


def fetched_packages(formats: Iterable[str], spark: str) -> dict[str, str]:
    """The settings with which a session of a version of Spark fetches the packages of formats.

    >>> fetched_packages(["delta"], "4.2.0")
    {'spark.jars.packages': 'io.delta:delta-spark_4.2_2.13:4.4.0'}
    """
    names = sorted({*formats})
    settings = {"spark.jars.packages": ",".join(coordinate(name, spark) for name in names)} if names else {}
    return settings | _joined(_BESIDE.get(name, {}) for name in names)


def format_settings(formats: Iterable[str]) -> dict[str, str]:
    """The settings of a session that reads and writes formats, wherever their packages are from.

    >>> format_settings(["iceberg", "kafka"])
    {'spark.sql.extensions': 'org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions'}
    """
    return _joined(_SETTINGS.get(name, {}) for name in sorted({*formats}))


def _joined(several: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Settings together; those of one name are a list."""
    settings: dict[str, str] = {}
    for chosen in several:
        for key, value in chosen.items():
            settings[key] = f"{settings[key]},{value}" if key in settings else value
    return settings


def missing_package(error: Exception, spark: str) -> Diagnostic | None:
    """What to do about an error of Spark that it does not know a format; None for any other error.

    >>> missing_package(ValueError("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta."), "4.2.0").help
    'open the session with `spark.jars.packages=io.delta:delta-spark_4.2_2.13:4.4.0`'
    """
    text = str(error)
    for name in PACKAGES:
        if "DATA_SOURCE_NOT_FOUND" in text and f": {name}." in text:
            try:
                way_out = f"open the session with `spark.jars.packages={coordinate(name, spark)}`"
            except RejectedError as rejected:
                return rejected.diagnostics[0]
            return Diagnostic("E406", f"this session of Spark does not know the format `{name}`", help=way_out)
    return None
