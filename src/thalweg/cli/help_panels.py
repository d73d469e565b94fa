"""The groups in which `--help` shows options: a verb has dozens, and a user looks for one kind of them."""

from typing import Any, Final

PANELS: Final = {
    "Input": ("stream", "background", "map_", "on_error", "prefix"),
    "Time": ("at", "from_", "to", "tick", "delay", "clock", "idle", "max_ahead", "zone", "times", "revise", "final"),
    "Output": (
        "emit",
        "show",
        "out",
        "answer_format",
        "format",
        "late",
        "picture",
        "base",
        "quiet",
        "verbose",
        "report",
        "event",
    ),
    "Ontologies": (
        "profile",
        "as_",
        "keep",
        "schema_stream",
        "literals",
        "witnesses",
        "topology",
        "bolts",
        "classes",
        "individuals",
        "reasoner",
    ),
    "Answer sets": ("window", "slide", "models", "inputs", "solve_limit", "solver", "workers", "decomposition"),
    "Spark": ("runtime", "master", "partitions", "checkpoint", "jars", "memory"),
}
"""The parameters of the verbs, by the title of their group."""

_PANEL_OF: Final = {name: panel for panel, names in PANELS.items() for name in names}
_ORDER: Final = {name: place for place, name in enumerate(_PANEL_OF)}


def put_in_panels(parameters: list[Any]) -> None:
    """Says of each parameter in which group it is shown, and puts the groups in order."""
    parameters.sort(key=lambda parameter: _ORDER.get(parameter.name, -1))
    for parameter in parameters:
        if parameter.name in _PANEL_OF:
            parameter.rich_help_panel = _PANEL_OF[parameter.name]
