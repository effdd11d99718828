"""Runs the `apiext` command, and reports what it leaves to the garbage collector: `python -m ...garbage_report FOLDER serve ...`."""

import gc
import json
import os
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Final

from apiext.cli.main import main

QUESTION: Final = "question"
"""The FIFO to which a question is written: the first one empties the list, each later one asks for it."""
ANSWER: Final = "answer.json"
"""The file with the kinds of apiext's objects that were left in cycles, and their numbers; it replaces the earlier answer."""


def _answer_questions(folder: Path) -> None:
    while True:
        (folder / QUESTION).read_text()
        gc.collect()
        kinds = Counter(f"{type(item).__module__}.{type(item).__qualname__}" for item in gc.garbage)
        gc.garbage.clear()
        gc.set_debug(gc.DEBUG_SAVEALL)
        partial = folder / "partial"
        partial.write_text(json.dumps({kind: number for kind, number in kinds.items() if kind.startswith("apiext.")}))
        partial.rename(folder / ANSWER)


if __name__ == "__main__":
    given = Path(sys.argv.pop(1))
    os.mkfifo(given / QUESTION)
    threading.Thread(target=_answer_questions, args=[given], daemon=True).start()
    main()
