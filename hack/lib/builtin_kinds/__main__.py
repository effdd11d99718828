"""The command hack/builtin-kinds."""

import argparse
import sys
import tempfile
from pathlib import Path

from hack.lib.builtin_kinds import archive
from hack.lib.servers.controlplane import ControlPlane


def main() -> int:
    """Write the data file from the running reference; with --check only compare it."""
    parser = argparse.ArgumentParser(prog="hack/builtin-kinds", description="Generates the data of `apiext serve --builtin-kinds`.")
    parser.add_argument("--check", action="store_true", help="fail if the file differs, and leave it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ControlPlane(Path(folder), durable=False) as reference:
        members = archive.collect(reference)
    if options.check:
        return int(archive.read() != members)
    archive.write(members)
    print(f"{archive.TARGET}: {archive.TARGET.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
