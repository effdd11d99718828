"""Runs the real kubectl against a server under test."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from hack.lib.reference import binaries
from hack.lib.servers.process import environment

_TIMEOUT: Final = 60.0


class Kubectl:
    """kubectl with a kubeconfig and a home folder of its own."""

    def __init__(self, kubeconfig: Path, home: Path) -> None:
        self._program = binaries.binary("kubectl")
        self._env = environment(KUBECONFIG=str(kubeconfig), HOME=str(home))

    def run(self, *arguments: str, stdin: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        """Run kubectl and return the completed process, whatever its exit code."""
        return subprocess.run(
            [self._program, *arguments],
            input=stdin,
            env={**self._env, **env},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )

    def __call__(self, *arguments: str, stdin: str | None = None, **env: str) -> str:
        """Run kubectl, which must succeed, and return its output."""
        done = self.run(*arguments, stdin=stdin, **env)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr or done.stdout}"
        return done.stdout

    def json(self, *arguments: str) -> Any:
        """Return the output of a command with `-o json`, parsed."""
        return json.loads(self(*arguments, "-o", "json"))

    def refused(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl, which must fail, and return its error output."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode != 0, f"kubectl {' '.join(arguments)} succeeded: {done.stdout}"
        return done.stderr

    @contextmanager
    def watching(self, *arguments: str) -> Iterator[Iterator[str]]:
        """Yield an iterator over the lines that a watching kubectl prints; stop it at the end of the block."""
        with subprocess.Popen([self._program, *arguments], env=self._env, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
            assert process.stdout is not None
            try:
                yield iter(process.stdout.readline, "")
            finally:
                process.kill()
