"""The command behind hack/chart."""

import sys

from hack.lib.chart.templates import TEMPLATES, write


def main() -> None:
    """Replace the templates of the chart."""
    if sys.argv[1:]:
        sys.exit("usage: hack/chart")
    write(TEMPLATES)


if __name__ == "__main__":
    main()
