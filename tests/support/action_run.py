"""Runs the steps of a composite action of GitHub in a shell, as its runner does."""

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

_EXPRESSION: Final = re.compile(r"\$\{\{ *(.*?) *\}\}")
_NAME: Final = re.compile(r"(?:inputs|github|steps)[\w.-]*")
_QUOTED: Final = re.compile(r"'[^']*'")


@dataclass
class ActionRun:
    """One run of an action: its values, and what its steps have printed.

    Steps of other people's actions have the outputs in `outputs` from the start, and do nothing.
    """

    action: Path
    checkout: Path
    scratch: Path
    """`RUNNER_TEMP`; the summary of the job is the file `summary.md` in it."""
    github: Mapping[str, str]
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    printed: str = ""

    def __post_init__(self) -> None:
        self._definition: dict[str, Any] = yaml.safe_load(self.action.read_text())
        declared = self._definition["inputs"]
        assert self.inputs.keys() <= declared.keys()
        self.inputs = {name: self._text(one["default"]) for name, one in declared.items()} | self.inputs

    def run(self, *, leaves_out: Callable[[str], bool] = lambda _name: False) -> int:
        """Run all steps up to the first that fails; return its exit code, or 0."""
        for step in self._definition["runs"]["steps"]:
            if "run" not in step or leaves_out(step.get("name", "")) or not self._holds(step.get("if", "true")):
                continue
            code = self._step(step)
            if code:
                return code
        return 0

    def _step(self, step: Mapping[str, Any]) -> int:
        assert step["shell"] == "bash"
        output = self.scratch / "output"
        output.write_text("")
        values = {name: self._text(value) for name, value in step.get("env", {}).items()}
        given = {
            "GITHUB_ACTION_PATH": str(self.action.parent),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.scratch / "summary.md"),
            "GITHUB_REPOSITORY": self.github["repository"],
            "GITHUB_BASE_REF": self.github.get("base_ref", ""),
            "RUNNER_TEMP": str(self.scratch),
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self._text(step["run"])],
            cwd=self.checkout,
            env={"PATH": os.environ["PATH"], "HOME": str(self.scratch)} | self.environment | given | values,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.printed += done.stdout
        if name := step.get("id"):
            self.outputs[name] = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return done.returncode

    def _value(self, name: str) -> str:
        """Return the value of a name in an expression; what is not set is empty."""
        kind, _, rest = name.partition(".")
        if kind == "inputs":
            return self.inputs[rest]
        if kind == "github":
            return self.github.get(rest, "")
        step, _, output = rest.partition(".outputs.")
        return self.outputs.get(step, {}).get(output, "")

    def _text(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: self._value(found[1]), text)

    def _holds(self, condition: str) -> bool:
        """Return whether a condition of comparisons that are joined by `&&` holds."""
        if condition == "true":
            return True
        for part in condition.split(" && "):
            left, operator, right = part.split(" ")
            assert _NAME.fullmatch(left)
            assert _QUOTED.fullmatch(right)
            if (self._value(left) == right.strip("'")) is not (operator == "=="):
                return False
        return True
