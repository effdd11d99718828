"""An informer that lists exactly when client-go's does.

Mirrors client-go's Reflector (tools/cache/reflector.go: watch, handleAnyWatch, isWatchErrorRetriable; its MaxInternalErrorRetryDuration
is 0 by default), Request.Watch (rest/request.go) and its retries (rest/with_retry.go), and StreamWatcher (apimachinery, pkg/watch).
The back-off does not grow: client-go resets it after two minutes, and restarts follow each other faster.
"""

import http.client
import random
import ssl
import time
from collections.abc import Callable
from typing import Any, Final

from hack.lib.soak.access import Access, Replicas
from hack.lib.soak.attack import BROKEN
from hack.lib.soak.follower import Follower, V, WatchError

_SHORT_SECONDS: Final = 1.0
"""Minimum of seconds of a watch without an event: an earlier end is an error."""
_RETRIES: Final = 10
"""Retries of a request without an answer, or with Retry-After."""
_NO_ANSWER_SECONDS: Final = 1.0
"""Seconds until the next attempt after a request without an answer."""
_BACK_OFF_SECONDS: Final = 0.8
"""Minimum of seconds until the next request after a refused connection, a 429 or a failed list; the maximum is twice as long."""
_NO_ANSWER: Final = (ConnectionResetError, BrokenPipeError, TimeoutError, ssl.SSLEOFError)


class ListNeededError(Exception):
    """The watch cannot resume. The message is the reason."""


class Reflector(Follower[V]):
    """Follows a collection; sends an ended watch again at once.

    | a watch | |
    | --- | --- |
    | ends or breaks after an event, or after a second | resumes |
    | ends or breaks earlier | list |
    | is aborted by kube-apiserver, which resets a stream of HTTP/2 (`http2`) | list |
    | cannot connect | resumes after a back-off |
    | gets no answer | resumes after a second; list after 10 attempts |
    | gets 429 or a server error with Retry-After | resumes after these seconds; after 10 attempts as without Retry-After |
    | gets 429 as answer or event | resumes after a back-off |
    | gets any other answer or ERROR event | list |

    `reasons` has the reason of each further list.
    """

    def __init__(
        self, access: Access | Replicas, path: str, value: Callable[[dict[str, Any]], V], *, patience: float, http2: bool = False
    ) -> None:
        """Prepare an informer. `http2` means that clients reach the server by HTTP/2; this one uses HTTP/1.1."""
        super().__init__(access, path, value, patience=patience)
        self._http2 = http2
        self._received = 0
        self.reasons: list[str] = []

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                if self._expired:
                    self._relist()
                else:
                    self._resume()
            except ListNeededError as error:
                self.reasons.append(str(error))
                self._expired = True

    def _relist(self) -> None:
        with self._access.connection(self._patience) as connection:
            try:
                self._list(connection)
            except (*BROKEN, ValueError):  # a proxy answers text
                self._back_off()

    def _resume(self) -> None:
        """Watch once.

        Raises:
            ListNeededError: A list has to come next.
        """
        begun, self._received = time.monotonic(), 0
        for attempt in range(_RETRIES + 1):
            with self._access.connection(self._patience) as connection:
                try:
                    response = self._open(connection)
                except ConnectionRefusedError:
                    self._back_off()
                    return
                except WatchError as error:
                    if error.retry_after is None or attempt == _RETRIES:
                        self._check(error)
                        return
                    pause = error.retry_after
                except _NO_ANSWER:
                    pause = _NO_ANSWER_SECONDS
                except BROKEN as error:
                    raise ListNeededError(repr(error)) from error
                else:
                    self._follow(response, begun)
                    return
            self._ended.wait(pause)
        raise ListNeededError("requests got no answer")

    def _follow(self, response: http.client.HTTPResponse, begun: float) -> None:
        """Process the events of a watch; `begun` is the monotonic time of its request."""
        try:
            self._read(response)
        except WatchError as error:
            self._check(error)
            return
        except http.client.IncompleteRead as error:
            if self._http2:
                raise ListNeededError("the watch was aborted") from error
        except (*BROKEN, ValueError):
            pass  # client-go treats a broken connection as the end
        if not self._received and time.monotonic() - begun < _SHORT_SECONDS:
            raise ListNeededError("the watch lasted less than a second, without an event")

    def _check(self, error: WatchError) -> None:
        """Back off after a 429; list after any other error."""
        if error.code != http.HTTPStatus.TOO_MANY_REQUESTS:
            raise ListNeededError(str(error)) from error
        self._back_off()

    def _back_off(self) -> None:
        self._ended.wait(_BACK_OFF_SECONDS * random.uniform(1, 2))  # noqa: S311 -- no secret

    def _take(self, kind: str, obj: dict[str, Any]) -> None:
        self._received += 1
        super()._take(kind, obj)
