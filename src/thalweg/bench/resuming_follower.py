"""Follows a program of a service in a process of its own, from its first line on, and resumes whenever it is cut.

`python -m thalweg.bench.resuming_follower ADDRESS PROGRAM FILE` writes the id of each line into the file. What it read
of a line before it was cut does not count: the line comes again.
"""

import sys
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from time import sleep
from typing import IO
from urllib.parse import urlsplit

_PAUSE = 0.2


def follow(address: str, program: str, told: IO[str]) -> None:
    """Writes the ids of lines, until the process is ended."""
    place, last = urlsplit(address), "1-0"
    while True:
        with suppress(OSError, HTTPException), closing(HTTPConnection(place.hostname or "", place.port)) as connection:
            connection.request("GET", f"/v1/programs/{program}/events", headers={"Last-Event-ID": last})
            response = connection.getresponse()
            kind = begun = ""
            while text := response.readline():
                name, _, value = text[:100].decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "id":
                    begun = value
                elif name == "" and kind == "line":
                    last, kind = begun, ""
                    told.write(f"{last}\n")
                    told.flush()
                elif kind in ("gap", "reset", "snapshot"):
                    told.write(f"{kind}\n")
        sleep(_PAUSE)


if __name__ == "__main__":
    address, program, path = sys.argv[1:]
    with open(path, "a", encoding="utf-8") as told:
        follow(address, program, told)
