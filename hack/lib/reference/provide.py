"""The command behind hack/provide."""

import argparse
import sys

from hack.lib.reference import binaries


def main(argv: list[str] | None = None) -> int:
    """Provide the programs and print their folder or path; write progress to standard error."""
    parser = argparse.ArgumentParser(
        prog="hack/provide",
        description="Provides the programs of the reference in the user's cache folder and prints that folder.",
        epilog=f"Programs: {', '.join(binaries.PROGRAMS)}. Without a name: {', '.join(binaries.DEFAULT)}.",
    )
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help="program to provide")
    parser.add_argument(
        "--kubernetes", metavar="RELEASE", help=f"another release than the pinned one, such as 1.36; see {binaries.RELEASE}"
    )
    parser.add_argument("--print-path", metavar="PROGRAM", help="provide this one and print its path")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    options = parser.parse_args(argv)
    progress = _ignore if options.quiet else _say
    try:
        if options.kubernetes:
            binaries.select_release(options.kubernetes, progress=progress)
            progress(f"for tests against it: {binaries.RELEASE}={binaries.kubernetes_version()} hack/test tests/e2e")
        if options.print_path:
            folder = binaries.provide([options.print_path, *options.names], progress=progress)
            print(folder / options.print_path)
        else:
            print(binaries.provide(options.names or binaries.DEFAULT, progress=progress))
    except binaries.ProvideError as error:
        print(f"hack/provide: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("hack/provide: interrupted", file=sys.stderr)
        return 130
    return 0


def _say(line: str) -> None:
    print(f"hack/provide: {line}", file=sys.stderr, flush=True)


def _ignore(_line: str) -> None:
    pass


if __name__ == "__main__":
    sys.exit(main())
