"""Errors of calls. Callers turn them into the texts that clients see."""

from __future__ import annotations

import ssl


class CallFailedError(Exception):
    """A call got no answer."""


class DialError(CallFailedError):
    """There is no connection: the DNS (socket.gaierror), the server (OSError) or the TLS handshake (ssl.SSLError) refused it."""

    def __init__(self, host: str, port: int, cause: OSError) -> None:
        super().__init__(str(cause))
        self.host = host
        self.port = port
        self.cause = cause
        self.is_proxy = False
        """Whether it is the connection to a proxy."""

    @property
    def is_tls(self) -> bool:
        """Return whether the server was reached."""
        return isinstance(self.cause, ssl.SSLError)


class ProxyError(CallFailedError):
    """A proxy does not connect to the server. The text is the reason phrase of its answer."""


class BrokenConnectionError(CallFailedError):
    """The connection ended before the answer did."""

    def __init__(self, cause: Exception | None = None) -> None:
        super().__init__("EOF")
        self.cause = cause
        """The error of the connection, None if the server closed it."""


class MalformedAnswerError(CallFailedError):
    """An answer is not HTTP, or its content is not what the answer says. The text says why."""


class TooLargeAnswerError(CallFailedError):
    """An answer has more bytes than the call takes."""


class BodyError(Exception):
    """A call got the head of an answer, but not its body."""

    def __init__(self, cause: CallFailedError | TimeoutError) -> None:
        super().__init__(str(cause))
        self.cause = cause
