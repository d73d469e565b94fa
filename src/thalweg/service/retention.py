"""How long records of the log are kept, and when a file of it is followed by another one: only whole files leave."""

from dataclasses import dataclass
from typing import Final

DAY: Final = 24 * 60 * 60.0
_FILE_SIZE: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Retention:
    """How long records are kept: seconds and bytes, both counted in whole files."""

    seconds: float = DAY
    size: int = 10 << 30

    @property
    def file_size(self) -> int:
        """A file that has so many bytes is followed by another one.

        >>> Retention(size=1600).file_size, Retention(seconds=240).file_ms
        (100, 10000.0)
        """
        return min(_FILE_SIZE, self.size // 16)

    @property
    def file_ms(self) -> float:
        """So is one whose first record is so many milliseconds old."""
        return self.seconds * 1000 / 24


DEFAULT_RETENTION: Final = Retention()
