"""What makes Spark start faster: a home without zipped Python sources, and a Java that does not optimise.

`pyspark.zip` holds no compiled files, so each of the Python processes of a run would compile all that it imports from
there; without it they import the installed package.

Measured (CPU seconds from two facts to the end of the run): 40 as Spark comes, 35 without the zip, 23 with `SHORT`
besides. An archive of loaded classes would save 5 more, but costs 37 when the first run ends, and 180 MB of disk.
"""

from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final

from thalweg.runtimes.spark.java import cache_directory

SHORT: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a Java that does not run for long: nothing in it is worth optimising."""

# What Spark's scripts need of its home.
_PARTS: Final = ("bin", "jars", "sbin", "conf")


@cache
def linked_home(home: Path) -> Path:
    """A home made of links to another one, without its `python/lib`; the home itself if it is not that of the package.

    >>> linked_home(Path("/opt/spark"))
    PosixPath('/opt/spark')
    """
    if not (home / "__init__.py").exists():
        return home
    about = sha256(f"{home} {version('pyspark')}".encode()).hexdigest()[:12]
    place = cache_directory() / f"spark-{about}"
    try:
        place.mkdir(exist_ok=True)
        for part in filter(lambda part: (home / part).exists(), _PARTS):
            # Another process may be making the same link.
            with suppress(FileExistsError):
                (place / part).symlink_to(home / part)
    except OSError:
        return home
    return place
