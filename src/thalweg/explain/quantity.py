"""Numbers with their nouns."""


def count(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun, in the plural except for 1.

    >>> count(1, "rule"), count(2_000, "rule"), count(2, "memory", "memories")
    ('1 rule', '2000 rules', '2 memories')
    """
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
