"""A deployment at work in a service: its program, a pump for each stream, and what follows its output."""

from collections.abc import Callable
from pathlib import Path

from thalweg.diagnostics import Diagnostic
from thalweg.service.followed_output import FollowedOutput, check_output
from thalweg.service.programs import Programs
from thalweg.service.pump import Pump
from thalweg.service.served_deployment import ServedDeployment
from thalweg.service.streams import LoggedStreams


class DeployedProgram:
    """The threads of a deployment. An unchanged one changes nothing; a changed one is the next generation."""

    def __init__(
        self,
        served: ServedDeployment,
        streams: LoggedStreams,
        programs: Programs,
        folder: Path,
        report: Callable[[Diagnostic], None],
    ) -> None:
        """Makes the streams and registers the program; `RejectedError` with what is wrong with them.

        The `folder` has how far outputs are.
        """
        for stream in served.streams:
            streams.put(stream.name, dict(stream.definition))
        self._pumps = [Pump(streams, stream.name, stream.origin, report) for stream in served.streams]
        for pump in self._pumps:
            pump.check()
        place = folder / f"{served.name}.json"
        if served.output is not None:
            check_output(served.output, place)
        program, _ = programs.put(served.name, served.body)
        self._output = None if served.output is None else FollowedOutput(served.output, program, place, report)
        for stream, pump in zip(served.streams, self._pumps, strict=True):
            streams.connectors[stream.name] = lambda pump=pump: pump.state.as_data()  # type: ignore[misc]

    def start(self) -> None:
        """Has the connectors bring what they have, and answers go where they are to go."""
        if self._output is not None:
            self._output.start()
        for pump in self._pumps:
            pump.start()

    def close_pumps(self) -> None:
        """Ends the connectors; what they bring from now on waits for the next start."""
        for pump in self._pumps:
            pump.ask_to_end()
        for pump in self._pumps:
            pump.close()

    def close_output(self) -> None:
        """Writes what the program has answered, behind its end."""
        if self._output is not None:
            self._output.close()
