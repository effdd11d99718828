"""Draws the figures of hack/bench --plot, which it reads as JSON, with matplotlib: a program for an environment of its own."""

import json
import sys
from typing import Any, Final

import matplotlib as mpl
from matplotlib import pyplot as plt

_COLUMNS: Final = 4
_INCHES: Final = 3.2
"""Width of a panel."""


def main() -> None:
    """Draw what standard input has into the file that the command line names."""
    found: dict[str, dict[str, Any]] = json.load(sys.stdin)
    mpl.rcParams |= {"svg.hashsalt": "apiext", "svg.fonttype": "none"}  # the same figures give the same small file
    labels = list(next(iter(found.values()))["figures"])
    lines = -(-len(labels) // _COLUMNS)
    picture, panels = plt.subplots(
        lines, _COLUMNS, figsize=(_INCHES * _COLUMNS, _INCHES * 0.8 * lines), layout="constrained", squeeze=False
    )
    for panel, label in zip(panels.flat, labels, strict=False):
        for name, growth in found.items():
            panel.loglog(growth["sizes"], growth["figures"][label], marker="o", label=name)
        panel.set_title(label, fontsize="medium")
        panel.grid(visible=True, alpha=0.3)
    for panel in panels.flat[len(labels) :]:
        panel.axis("off")
    handles, names = panels.flat[0].get_legend_handles_labels()
    picture.legend(handles, names, loc="lower right")
    picture.supxlabel("objects")
    picture.savefig(sys.argv[1], metadata={"Date": None} if sys.argv[1].endswith(".svg") else None)


main()
