"""The Go types of built-in kinds, from the program gotypes of hack/reference."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from hack.lib.reference import golang
from hack.lib.reference.binaries import MODULE, cache_folder

_STRUCT: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)+")


@dataclass(frozen=True, slots=True)
class GoTypes:
    """The types of all kinds of the reference's scheme."""

    kinds: dict[str, str]
    """The struct of each kind, by group/version/kind."""
    structs: dict[str, list[str]]

    def closure(self, kinds: Iterable[str]) -> dict[str, Any]:
        """Return the kinds with their structs and those that these refer to."""
        wanted = {kind: self.kinds[kind] for kind in kinds}
        found: dict[str, list[str]] = {}
        queue = list(wanted.values())
        while queue:
            name = queue.pop()
            if name not in found:
                found[name] = self.structs[name]
                queue += [each for entry in found[name] for each in _STRUCT.findall(entry.split()[-1])]
        return {"kinds": wanted, "structs": {name: ";".join(entries) for name, entries in found.items()}}


def read_types() -> GoTypes:
    """Build and run gotypes.

    Raises:
        BuildError: there is no Go toolchain.
        CalledProcessError: the build fails.
    """
    go = golang.toolchain(MODULE, cache_folder(), lambda text: print(text, file=sys.stderr))
    done = subprocess.run([go, "run", "-mod=readonly", "./gotypes"], cwd=MODULE, stdout=subprocess.PIPE, check=True)
    read = json.loads(done.stdout)
    return GoTypes(read["kinds"], read["structs"])
