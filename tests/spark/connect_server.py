"""A server of Spark Connect on the loopback, started from the jars of PySpark."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from brokers import free_port
from spark.processes import started, wait_until

CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def connect_server(folder: Path, *options: str) -> Iterator[str]:
    """The address of a server that answers; nothing of it is left in the end."""
    from pyspark.find_spark_home import _find_spark_home

    from thalweg.runtimes.spark.java import find_java

    port, said = free_port(), folder / "server.txt"
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
    }
    submit = str(Path(_find_spark_home(), "bin", "spark-submit"))
    conf = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    line = ["bash", submit, "--master", "local[2]", "--class", CLASS, *conf, *options, "spark-internal"]
    with started(line, said, PYSPARK_PYTHON=sys.executable, JAVA_HOME=str(find_java().home)) as family:
        wait_until(
            lambda: "Spark Connect server started" in said.read_text() or family.ended, f"no server: {said.read_text()}"
        )
        assert not family.ended, said.read_text()
        yield f"sc://127.0.0.1:{port}"
