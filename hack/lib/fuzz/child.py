"""Fuzzes one target in this process, with the options of libFuzzer: `python -m hack.lib.fuzz.child TARGET [OPTION...] FOLDER...`."""

import sys

import atheris

with atheris.instrument_imports(include=["apiext"], enable_loader_override=False):
    from hack.lib.fuzz.targets import TARGETS


def main() -> None:
    """Fuzz until an option of libFuzzer ends it, or an input fails."""
    target = TARGETS[sys.argv.pop(1)]
    with atheris.instrument_imports(include=["apiext"], enable_loader_override=False):
        target(b"")  # the first call imports the modules
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
