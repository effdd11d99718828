"""Work in a thread that can be paused."""

import threading
from typing import Self


class Pausable:
    """Runs `_run` in a thread between `start` and `pause`, or during a block; `_run` returns soon once `_ended` is set."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread()
        self._failure: Exception | None = None

    def start(self) -> None:
        """Start or continue the work."""
        self._ended.clear()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Finish the current step, and stop; idempotent.

        Raises:
            Exception: the error that ended the work, once.
        """
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.pause()

    def _work(self) -> None:
        try:
            self._run()
        except Exception as error:  # noqa: BLE001 -- a thread would only print it
            self._failure = error

    def _run(self) -> None:
        raise NotImplementedError
