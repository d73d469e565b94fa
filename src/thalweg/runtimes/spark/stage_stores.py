"""The stores of Spark for a changed program with another number of stages that follow each other.

Spark has a store for each stage and partition, and refuses a checkpoint with more or fewer of them than a query has
stages. What is in the stores goes to the workers of the changed program in another way (see `handover`). So it is kept
in a file, and each stage begins with an empty store, of the version that the next batch asks for:

    thalweg/states            what the buckets of the earlier program had, and whose that is
    thalweg/emptying          that `states` is whole, and after which batch it was read: the stores may go
    state/1/0/8.zip           the empty store of a stage and a partition, after batch 7
    state/1/_metadata/v2/7    what Spark says of a stage
    thalweg/emptied           for which program that was done

Until its first batch is complete, a program that is started takes over from what `states` has, wherever another one was
killed. Afterwards these files are removed.
"""

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.model.arrow import DamagedError
from thalweg.model.sealed import seal, seal_json, unseal, unseal_json
from thalweg.runtimes.spark.checkpoint_format import FORMAT
from thalweg.runtimes.spark.handover import Address, BucketState, load_states, save_states
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.query_folder import OWN, QueryFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STATES: Final = f"{OWN}/states"
_EMPTYING: Final = f"{OWN}/emptying"
_EMPTIED: Final = f"{OWN}/emptied"
_VERSIONS: Final = "spark.sql.streaming.stateStore.checkpointFormatVersion"
# What Spark's RocksDB writes of a store: here it has no file, so an empty database is made when it is opened.
_NOTHING: Final = {
    "sstFiles": [],
    "numKeys": 0,
    "numInternalKeys": 0,
    "columnFamilyMapping": {},
    "columnFamilyTypeMap": {},
    "maxColumnFamilyId": 0,
}
# Spark counts stages from the last one on, which is another operator than those before it.
_LAST_STAGE: Final = "transformWithStateInPandasExec"
_STAGE: Final = "transformWithStateInPySparkExec"


@dataclass(frozen=True, slots=True)
class StageStores:
    """The stores in the checkpoint of a query of Spark Classic."""

    folder: QueryFolder

    @classmethod
    def of(cls, session: "SparkSession", location: str) -> "StageStores":
        """The stores of the checkpoint at a location."""
        folder = QueryFolder.of(session, location)
        assert folder is not None, "a client of Spark Connect"
        return cls(folder)

    def are_taken_from(self, earlier: str) -> bool:
        """Whether what a program has left, which is named by its fingerprint, may be found in `kept` only."""
        return self.folder.exists(_EMPTYING) and self._has_left(earlier)

    def kept(self, earlier: str) -> dict[Address, BucketState] | None:
        """The states that an earlier program has left, where they were kept; else Spark's stores have them."""
        if not self.are_taken_from(earlier):
            return None
        return load_states(unseal(self.folder.read(_STATES), FORMAT))

    def keep(self, earlier: str, states: Mapping[Address, BucketState]) -> None:
        """Keeps the states that an earlier program has left, before its stores go."""
        if self.are_taken_from(earlier):
            return
        self.folder.remove(_EMPTYING)
        self.folder.remove(_EMPTIED)
        self.folder.write(_STATES, seal(save_states(states), FORMAT))
        about = {"earlier": earlier, "batch": self.folder.last("commits")}
        self.folder.write(_EMPTYING, seal_json(about, FORMAT))

    def empty(self, earlier: str, job: Job, partitions: int) -> None:
        """Makes an empty store for each stage of a job and each partition, where that was not done before.

        `RejectedError` where Spark gives names of its own to the versions of stores.
        """
        about = self._read(_EMPTYING)
        last = self.folder.last("commits")
        if about is None or about["earlier"] != earlier or self.folder.last("offsets") > last:
            # Without such files all stays as it is. If the first batch has begun, stores have what was written of it.
            return
        if (done := self._read(_EMPTIED)) is not None and done["program"] == job.fingerprint:
            return
        self._check_versions()
        if about["batch"] != last:
            # Another number of partitions has taken a batch meanwhile.
            self.folder.write(_EMPTYING, seal_json({"earlier": earlier, "batch": last}, FORMAT))
        self.folder.remove("state")
        for name, content in empty_stores(job, partitions, last):
            self.folder.write(name, content)
        self.folder.write(_EMPTIED, seal_json({"program": job.fingerprint}, FORMAT))

    def settle(self) -> None:
        """Removes what was kept for a program that has completed its first batch since."""
        if self.folder.exists(_EMPTYING):
            for name in (_EMPTYING, _EMPTIED, _STATES):
                self.folder.remove(name)

    def _has_left(self, earlier: str) -> bool:
        """Whether the states that are kept are those that a program has left, and no batch was completed since."""
        about = self._read(_EMPTYING)
        return about is not None and about["earlier"] == earlier and self.folder.last("commits") <= about["batch"]

    def _read(self, name: str) -> dict[str, Any] | None:
        """What a file says; None where there is none, or a run was killed when it wrote it."""
        try:
            return unseal_json(self.folder.read(name), FORMAT) if self.folder.exists(name) else None
        except DamagedError:
            return None

    def _check_versions(self) -> None:
        if self.folder.session.conf.get(_VERSIONS, "1") != "1":
            message = f"a changed program has another number of stages, and `{_VERSIONS}` is not 1"
            way_out = "begin with a new checkpoint and another output"
            raise RejectedError([Diagnostic("E423", message, help=way_out)])


def empty_stores(job: Job, partitions: int, batch: int) -> Iterator[tuple[str, bytes]]:
    """The names and contents of the files of Spark that say that after a batch the stores of a job are empty."""
    store = io.BytesIO()
    with zipfile.ZipFile(store, "w") as archive:
        archive.writestr("metadata", f"v1\n{json.dumps(_NOTHING)}")
    for stage in range(len(job.levels)):
        for partition in range(partitions):
            yield f"state/{stage}/{partition}/{batch + 1}.zip", store.getvalue()
        yield f"state/{stage}/_metadata/v2/{batch}", f"v2\n{json.dumps(_about_stage(job, stage, partitions))}".encode()


def _about_stage(job: Job, stage: int, partitions: int) -> dict[str, Any]:
    is_first = stage == len(job.levels) - 1
    mode = "EventTime" if is_first and job.closes else "NoTime"
    properties = {"timeMode": mode, "outputMode": "Append", "stateVariables": []}
    store = {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": partitions, "stateSchemaFilePaths": []}
    return {
        "operatorInfo": {"operatorId": stage, "operatorName": _STAGE if stage else _LAST_STAGE},
        "stateStoreInfo": [store],
        "operatorPropertiesJson": json.dumps(properties),
    }
