"""A real object store on the loopback: MinIO, built from its published source. Where it cannot be had, tests skip.

It is built once, by Go, into a cache in the home directory, which takes minutes.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from brokers import CACHE, fetch, free_port, running, wait_until

VERSION = "v0.0.0-20260212201848-7aac2a2c5b7c"
USER, PASSWORD = "thalweg", "only-for-tests"
BUCKET = "lake"


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """A store that answers, with a bucket."""

    address: str

    @property
    def environment(self) -> dict[str, str]:
        """How those who use it know who they are."""
        return {"AWS_ACCESS_KEY_ID": USER, "AWS_SECRET_ACCESS_KEY": PASSWORD, "AWS_EC2_METADATA_DISABLED": "true"}

    def uri(self, name: str) -> str:
        """What a command calls a folder: Spark takes no notice of the options."""
        return f"s3a://{BUCKET}/{name}?endpoint_override={self.address}&scheme=http&region=us-east-1"

    def settings(self) -> dict[str, str]:
        """What Spark must know of it; its jars are too large to be sent around."""
        jars = os.pathsep.join(map(str, hadoop_jars()))
        return {
            "spark.driver.extraClassPath": jars,
            "spark.executor.extraClassPath": jars,
            "spark.hadoop.fs.s3a.endpoint": f"http://{self.address}",
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": USER,
            "spark.hadoop.fs.s3a.secret.key": PASSWORD,
            **{f"spark.executorEnv.{variable}": value for variable, value in self.environment.items()},
        }


def hadoop_jars() -> list[Path]:
    """What Hadoop needs for object stores, in the version that Spark brings."""
    import pyspark

    (client,) = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    return fetch("hadoop-aws", f"org.apache.hadoop:hadoop-aws:{client.stem.rpartition('-')[2]}")


@contextmanager
def run_minio() -> Iterator[ObjectStore]:
    """Starts a store with an empty bucket."""
    from pyarrow.fs import S3FileSystem

    program, address = _built(), f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINIO_ROOT_USER", USER)
        patch.setenv("MINIO_ROOT_PASSWORD", PASSWORD)
        line = [str(program), "server", "--address", address, "--console-address", "127.0.0.1:0", f"{folder}/data"]
        client = S3FileSystem(
            access_key=USER,
            secret_key=PASSWORD,
            endpoint_override=address,
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
        )

        def answers() -> bool:
            try:
                client.create_dir(BUCKET)
            except OSError:
                return False
            return True

        with running(line, folder, address) as server:
            wait_until(server, answers)
            yield ObjectStore(address)


def _built() -> Path:
    program = CACHE / "minio" / VERSION / "minio"
    if program.exists():
        return program
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    program.parent.mkdir(parents=True, exist_ok=True)
    with (program.parent / "lock").open("w") as lock, tempfile.TemporaryDirectory(dir=program.parent) as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["go", "install", "-ldflags=-w", f"github.com/minio/minio@{VERSION}"]
        done = subprocess.run(command, env={**os.environ, "GOBIN": folder}, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"MinIO cannot be built: {done.stderr.splitlines()[-1:]}")
        Path(folder, "minio").rename(program)
    return program
