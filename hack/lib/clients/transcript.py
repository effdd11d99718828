"""The transcript of a client: lines of JSON, each a step and its answer, without what differs between two equal servers."""

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any, Final

_SECONDS: Final = 600.0
"""How long a client may run."""
_VARYING: Final = {"resourceVersion": "REVISION", "uid": "UID", "continue": "TOKEN"}
"""Members whose values no two servers share, with what stands for them if they are not empty."""
_UNORDERED: Final = {"managedFields", "causes"}
_ERRORS: Final = re.compile(r"(?<= is invalid: \[).*(?=\])", re.DOTALL)
"""The errors of an invalid object, which kube-apiserver finds in any order."""
_TEXTS: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| ?[+-]\d\d:?\d\d(?: \w+)?)?"), "TIME"),
    (re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"), "TIME"),
    (re.compile(r'(resourceVersion\\*":\\*")\d+'), r"\1REVISION"),
    (re.compile(r"127\.0\.0\.1:\d+|localhost:\d+"), "SERVER"),
)


@dataclass(frozen=True)
class Transcript:
    """The lines of a client, normalised, and what it wrote to stderr if it failed."""

    lines: tuple[str, ...]
    failure: str = ""

    def differences(self, other: "Transcript") -> list[str]:
        """Return the lines in which two transcripts differ, with their steps, as a unified diff of indented JSON."""
        return list(unified_diff(self.pretty(), other.pretty(), "kube-apiserver", "apiext", lineterm="", n=4))

    def pretty(self) -> list[str]:
        """Return the transcript as lines of indented JSON, with the failure at the end."""
        found = [line for text in self.lines for line in json.dumps(json.loads(text), indent=1, sort_keys=True).splitlines()]
        return [*found, *self.failure.splitlines()]


def record(command: Sequence[str], env: Mapping[str, str]) -> Transcript:
    """Run a client and return its transcript. A client that fails or takes longer than 600 s has a failure."""
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        return Transcript(_lines(_text(error.stdout)), f"no end within {_SECONDS:.0f} s: {_text(error.stderr)[-2000:]}")
    failure = f"exit code {done.returncode}: {_normal(done.stderr[-2000:])}" if done.returncode else ""
    return Transcript(_lines(done.stdout), failure)


def _text(output: bytes | str | None) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


def _lines(output: str) -> tuple[str, ...]:
    return tuple(json.dumps(normalised(json.loads(line)), sort_keys=True) for line in output.splitlines() if line.startswith("{"))


def normalised(value: Any) -> Any:
    """Return a value of JSON in which revisions, uids, times, tokens and addresses are replaced by words."""
    if isinstance(value, dict):
        return {key: _VARYING[key] if key in _VARYING and item else _member(key, item) for key, item in value.items()}
    if isinstance(value, list):
        return [normalised(item) for item in value]
    return _normal(value) if isinstance(value, str) else value


def _member(key: str, value: Any) -> Any:
    """Return a member's value; managedFields, which servers sort by time, and causes, which have no order, are sorted by content."""
    changed = normalised(value)
    return sorted(changed, key=str) if key in _UNORDERED and isinstance(changed, list) else changed


def _normal(text: str) -> str:
    for pattern, word in _TEXTS:
        text = pattern.sub(word, text)
    return _ERRORS.sub(lambda found: ", ".join(sorted(found[0].split(", "))), text)
