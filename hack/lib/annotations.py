"""Prints the failures in a JUnit report of `apiext test` as annotations of GitHub; standard library only.

`python annotations.py REPORT`: a line for each case that did not pass, which GitHub shows beside the line of the suite. The paths of the
report are relative to the folder of the checkout, or below it.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET


def annotations(report: str, checkout: Path) -> Iterator[str]:
    """Yield a command of GitHub's workflows for each failure and error in a report."""
    for case in ET.fromstring(report).iter("testcase"):  # noqa: S314 -- a report of apiext's own
        for problem in (*case.iter("failure"), *case.iter("error")):
            about = {"title": case.get("name", "")}
            if file := case.get("file"):
                about |= {"file": os.path.relpath(file, checkout), "line": case.get("line", "1")}
            text = problem.text or problem.get("message", "")
            yield f"::error {','.join(f'{name}={_property(value)}' for name, value in about.items())}::{_data(text)}"


def _data(text: str | None) -> str:
    return (text or "").strip().replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


if __name__ == "__main__":
    for line in annotations(Path(sys.argv[1]).read_text(), Path.cwd()):
        print(line)
