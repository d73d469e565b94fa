"""Checkpoints of a generation that are kept besides the last one, one an hour, for questions about the past.

    folder/earlier/812-1190/     what the checkpoint was behind record 812, when tick 1190 had been evaluated

Files of a checkpoint are replaced and never changed, so a link is a copy.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import Final

EVERY: Final = 3600.0
"""Seconds from one to the next."""
_SHARE: Final = 4
"""They have at most this part of what answers may have."""


class EarlierCheckpoints:
    """Those in the folder of a generation; `keep` and `drop_before` are for the program's thread."""

    def __init__(self, folder: Path) -> None:
        self._checkpoint = folder / "checkpoint"
        self._folder = folder / "earlier"

    def keep(self, seq: int, tick: int) -> None:
        """Keeps the last checkpoint, unless one of the last hour is kept."""
        kept = self._kept()
        if kept and time.time() - kept[-1].stat().st_mtime < EVERY:
            return
        unfinished = self._folder / "unfinished"
        rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for file in self._files():
            os.link(file, unfinished / file.name)
        unfinished.rename(self._folder / f"{seq}-{tick}")

    def _files(self) -> Iterator[Path]:
        return (file for file in self._checkpoint.iterdir() if file.name != "lock")

    def reaching(self, tick: int) -> Path | None:
        """The last one that was taken at a tick, or before it."""
        return next((folder for folder in reversed(self._kept()) if _tick(folder) <= tick), None)

    def drop_before(self, instant: float, most: int) -> None:
        """Removes those that were kept before an instant (seconds since 1970), or are beyond so many bytes."""
        size = 0
        for folder in reversed(self._kept()):
            size += sum(file.stat().st_size for file in folder.iterdir())
            if folder.stat().st_mtime < instant or size > most // _SHARE:
                rmtree(folder, ignore_errors=True)

    def _kept(self) -> list[Path]:
        return sorted(self._folder.glob("*-*"), key=_seq) if self._folder.exists() else []


def _seq(folder: Path) -> int:
    return int(folder.name.partition("-")[0])


def _tick(folder: Path) -> int:
    return int(folder.name.partition("-")[2])
