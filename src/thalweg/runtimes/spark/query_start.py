"""A query of `reason` starts on a checkpoint: is it its own, or of a program that this one may take over from?"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.runtimes.spark.changed_job import (
    check_alike,
    handover,
    keep_with_query,
    on_its_way,
    read_kept_with_query,
)
from thalweg.runtimes.spark.handover import BucketHandover, KeptJob
from thalweg.runtimes.spark.partition_count import LastBatch, move, read_log
from thalweg.runtimes.spark.query_claim import KEY, QueryClaim, claims_in
from thalweg.runtimes.spark.query_folder import QueryFolder
from thalweg.runtimes.spark.shipped_job import ship_handover
from thalweg.runtimes.spark.stage_stores import StageStores
from thalweg.runtimes.spark.visible_checkpoint import check_visible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class QueryStart:
    """What is known of a query when it starts; with a `permit` it may follow the claim that is written there.

    `report` is told what goes on of an earlier program.
    """

    session: "SparkSession"
    claim: QueryClaim
    kept: KeptJob
    permit: Path | None
    report: Callable[[BucketHandover], object]

    def check(self, location: str, partitions: int, may_move: bool) -> None:
        """Readies a checkpoint; `RejectedError` where the query cannot be started on it."""
        offsets, commits = (read_log(self.session, location, log) for log in ("offsets", "commits"))
        claims = [claim for batch in sorted(offsets) for claim in claims_in(offsets[batch].splitlines())]
        last = LastBatch.of(offsets, commits)
        earlier = self._earlier(claims, last, location)
        check_visible(self.session, location, partitions)
        if last is not None and may_move:
            move(self.session, location, last, partitions)
        earlier = earlier or self._itself(claims, location)
        if earlier is not None:
            self._take_over(earlier, location, partitions if last is None or may_move else last.partitions)
        keep_with_query(self.session, location, self.kept)

    def _earlier(self, claims: list[dict[str, Any]], last: LastBatch | None, location: str) -> dict[str, Any] | None:
        """The claim of the program that the state is of, where that is another one and this may take over."""
        if not claims or last is None:
            return None
        is_settled = last.is_complete or last.moves
        begun, before = claims[-1], claims[-1] if is_settled or len(claims) == 1 else claims[-2]
        if self.claim.is_of(begun):
            self.claim.check(begun, location)
            return None if self.claim.is_of(before) else before
        if self.permit is None:
            self.claim.check(begun, location)
        self.claim.check_but_program(begun, location)
        if before != begun:
            raise on_its_way(location)
        if not is_settled:
            raise _incomplete(location)
        return before

    def _itself(self, claims: list[dict[str, Any]], location: str) -> dict[str, Any] | None:
        """The claim of this program, where its state was kept for a changed one that was killed."""
        folder = QueryFolder.of(self.session, location)
        if not claims or folder is None:
            return None
        stores = StageStores(folder)
        if stores.are_taken_from(self.claim.fingerprint):
            return claims[-1]
        stores.settle()
        return None

    def _take_over(self, before: dict[str, Any], location: str, partitions: int) -> None:
        fingerprint: str = before[KEY]["fingerprint"]
        earlier = read_kept_with_query(self.session, location, fingerprint)
        check_alike(earlier.job, self.kept.job, location)
        left = handover(self.session, location, earlier, self.kept)
        if not self.claim.is_of(before):
            self.report(left)
        ship_handover(self.session, self.kept.job, left)
        StageStores.of(self.session, location).empty(fingerprint, self.kept.job, partitions)
        if self.permit is not None:
            self.permit.write_text(json.dumps(before), encoding="utf-8")


def _incomplete(location: str) -> RejectedError:
    message = f"the last batch of checkpoint `{location}` is not complete, so a changed program cannot go on from it"
    way_out = "let the program that it was made with finish it first: `trigger(availableNow=True)`"
    return RejectedError([Diagnostic("E423", message, help=way_out)])
