"""Sizes of memory as users write them."""

import re


def size_in_bytes(text: str) -> int:
    """A size in bytes; `ValueError` where it is none.

    >>> size_in_bytes("32M")
    33554432
    """
    match = re.fullmatch(r"([0-9]{1,18})([KMG]?)B?", text.strip(), re.IGNORECASE)
    if not match:
        raise ValueError(f"`{text}` is not a size; write `32M` or `1G`")
    return int(match.group(1)) << {"": 0, "K": 10, "M": 20, "G": 30}[match.group(2).upper()]
