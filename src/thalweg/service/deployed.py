"""A deployment at work in a service: its program, a pump for each stream, and what follows its output."""

from collections.abc import Callable

from thalweg.diagnostics import Diagnostic
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
        report: Callable[[Diagnostic], None],
    ) -> None:
        """Makes the streams and registers the program; `RejectedError` with what is wrong with them."""
        for stream in served.streams:
            streams.put(stream.name, dict(stream.definition))
        self._pumps = [Pump(streams, stream.name, stream.origin, report) for stream in served.streams]
        for pump in self._pumps:
            pump.check()
        programs.put(served.name, served.body)
        for stream, pump in zip(served.streams, self._pumps, strict=True):
            streams.connectors[stream.name] = lambda pump=pump: pump.state.as_data()  # type: ignore[misc]

    def start(self) -> None:
        """Has the connectors bring what they have."""
        for pump in self._pumps:
            pump.start()

    def close(self) -> None:
        """Ends the connectors; what they bring from now on waits for the next start."""
        for pump in self._pumps:
            pump.close()
