"""What a request is refused with: a status that clients know, and diagnostics; nothing of any library of HTTP."""

from collections.abc import Iterable, Mapping

from thalweg.diagnostics import Diagnostic, RejectedError


class RefusedError(RejectedError):
    """A request is refused and has changed nothing.

    >>> error = RefusedError(404, Diagnostic("E903", "there is no program `jam`"))
    >>> error.status, error.as_data()["diagnostics"][0]["message"]
    (404, 'there is no program `jam`')
    """

    def __init__(
        self,
        status: int,
        diagnostics: Diagnostic | Iterable[Diagnostic],
        headers: Mapping[str, str] | None = None,
        about: Mapping[str, object] | None = None,
    ) -> None:
        """`about` is what else the body of the answer says."""
        super().__init__([diagnostics] if isinstance(diagnostics, Diagnostic) else diagnostics)
        self.status = status
        self.headers = dict(headers or {})
        self.about = dict(about or {})

    def as_data(self) -> dict[str, object]:
        """The body of the answer."""
        return {"diagnostics": [diagnostic.as_data() for diagnostic in self.diagnostics], **self.about}


def refusal(status: int, message: str, way_out: str = "", headers: Mapping[str, str] | None = None) -> RefusedError:
    """A request is refused for what it is, whatever programs and data say.

    >>> refusal(404, "there is nothing here").as_data()
    {'diagnostics': [{'code': 'E903', 'severity': 'error', 'message': 'there is nothing here'}]}
    """
    return RefusedError(status, Diagnostic("E903", message, help=way_out), headers)


def has_failed() -> RefusedError:
    """Nothing can be asked of a program that has failed."""
    return refusal(409, "the program has failed", "its `because` says why: replace it, or restart it")
