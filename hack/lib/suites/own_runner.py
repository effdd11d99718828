"""Builds and runs the runner of openshift/api, with the programs of the reference. Nothing in its folder changes."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from hack.lib.reference import binaries

_ORDERED: Final = "Describe(suiteName, Ordered, func"
_ALL: Final = "Describe(suiteName, Ordered, ContinueOnFailure, func"
"""The runner skips the cases after a failed one; all of them shall be compared."""


class RunnerError(Exception):
    """The runner cannot be built or run."""


def build(folder: Path, scratch: Path) -> Path:
    """Return the test program of a folder of openshift/api, changed so that it goes on after a failure.

    Raises:
        RunnerError: it cannot be built.
    """
    generator = folder / "tests" / "generator.go"
    text = generator.read_text()
    if _ORDERED not in text:
        raise RunnerError(f"{generator} is not as expected: {_ORDERED} is missing")
    changed, overlay, program = scratch / "generator.go", scratch / "overlay.json", scratch / "tests.test"
    changed.write_text(text.replace(_ORDERED, _ALL))
    overlay.write_text(json.dumps({"Replace": {str(generator): str(changed)}}))
    go = shutil.which("go")
    if go is None:
        raise RunnerError("go is not installed")
    done = subprocess.run(
        [go, "test", "-mod=vendor", f"-overlay={overlay}", "-c", "-o", program, "."],
        cwd=folder / "tests",
        env=os.environ | {"GOFLAGS": "", "GOWORK": "off", "GOTOOLCHAIN": "local"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RunnerError(f"go test -c: {done.stderr.strip()[-1000:]}")
    return program


def run(folder: Path, report: Path) -> None:
    """Run all suites of a folder on kube-apiserver, and write the JSON report. Takes half an hour.

    Raises:
        RunnerError: the runner writes no report.
    """
    assets = binaries.provide(["etcd", "kube-apiserver", "kubectl"])
    with tempfile.TemporaryDirectory(prefix="apiext-suites-") as scratch:
        program = build(folder.resolve(), Path(scratch))
        log = Path(scratch) / "log"
        with log.open("wb") as output:
            subprocess.run(
                [program, f"-ginkgo.json-report={report.resolve()}", "-ginkgo.timeout=6h", "-ginkgo.no-color", "-test.timeout=0"],
                cwd=folder / "tests",
                env=os.environ | {"KUBEBUILDER_ASSETS": str(assets), "TMPDIR": scratch},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if not report.is_file():
            raise RunnerError(f"the runner wrote no report: {log.read_text(errors='replace').strip()[-1000:]}")
