"""Work in a thread that can be paused."""

import threading


class Pausable:
    """Runs `_run` in a thread between `start` and `pause`; `_run` returns soon once `_ended` is set."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread()

    def start(self) -> None:
        """Start or continue the work."""
        self._ended.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Finish the current step, and stop; idempotent."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        raise NotImplementedError
