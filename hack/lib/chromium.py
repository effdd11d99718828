"""Finds Chromium for the tests of pages, and installs Debian's package where that is possible.

`python -m hack.lib.chromium` prints the program, or why there is none; it always succeeds: the tests are skipped then.
"""

import os
import shutil
import sys
from typing import Final

from hack.lib import debian

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PACKAGE: Final = "chromium"


class NoChromiumError(Exception):
    """There is no Chromium; the message is one line with the reason."""


def find() -> str:
    """Return the path of Chromium: `APIEXT_CHROMIUM`, else the one on the PATH.

    Raises:
        NoChromiumError: there is none.
    """
    named = os.environ.get("APIEXT_CHROMIUM")
    found = next((path for name in ([named] if named else _NAMES) if (path := shutil.which(name))), None)
    if found is None:
        raise NoChromiumError(f"{named} is no program" if named else "no Chromium is installed (Debian: apt-get install chromium)")
    return found


def provide() -> str:
    """Return the path of Chromium. Install it first if it is missing, this is Debian and the user is root.

    Raises:
        NoChromiumError: it cannot be installed.
    """
    try:
        return find()
    except NoChromiumError:
        if os.environ.get("APIEXT_CHROMIUM"):
            raise
    try:
        debian.install(_PACKAGE)
    except debian.NoPackageError as error:
        raise NoChromiumError(str(error)) from error
    return find()


if __name__ == "__main__":
    try:
        print(provide())
    except NoChromiumError as problem:
        print(f"hack/test: tests of pages are skipped: {problem}", file=sys.stderr)
