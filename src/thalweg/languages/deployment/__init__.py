"""Deployments (`.toml`): one file with the programs, streams and options of a run, read by every verb.

program = ["traffic.lars", "city.ttl"]
[streams.readings]
from = "mqtt://broker/city/+/readings"
map  = ["temp(device, temp) at ts"]
[time]
tick = "1s"
"""

from collections.abc import Sequence
from typing import Final

from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.languages.deployment.read_deployment import read_deployment
from thalweg.languages.registry import Language, Options


def compile(sources: Sequence[Source], options: Options) -> tuple[None, list[Diagnostic]]:
    """A deployment names programs and is none: what takes programs alone refuses it."""
    message = f"`{sources[0].name}` is a deployment, which names programs and is not one"
    raise RejectedError([Diagnostic("E403", message, help=f"run it alone: `thalweg run {sources[0].name}`")])


LANGUAGE: Final = Language(
    "deployment",
    (".toml",),
    compile,
    understands=frozenset(),
    title="deployments (`.toml`)",
    deploys=read_deployment,
)
