"""The kept inputs of each target: one in each line of a file, in base64."""

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "corpus"
_KEPT: Final = 200
"""Maximum of kept inputs of a target."""
_KEPT_BYTES: Final = 512
"""Maximum size of a kept input."""


def load(target: str) -> list[bytes]:
    """Return the kept inputs of a target."""
    file = FOLDER / f"{target}.txt"
    return [base64.b64decode(line) for line in file.read_text().split()] if file.exists() else []


def keep(target: str, inputs: Iterable[bytes]) -> None:
    """Replace the kept inputs of a target by small ones of these; of too many, by some of every size."""
    small = sorted({one for one in inputs if one and len(one) <= _KEPT_BYTES}, key=lambda one: (len(one), one))
    some = [small[place * len(small) // _KEPT] for place in range(_KEPT)] if len(small) > _KEPT else small
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{target}.txt").write_text("".join(f"{base64.b64encode(one).decode()}\n" for one in some))


def unpack(target: str, folder: Path) -> None:
    """Write the kept inputs of a target to files, as libFuzzer reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in load(target):
        (folder / hashlib.sha256(one).hexdigest()).write_bytes(one)


def pack(target: str, folder: Path) -> None:
    """Keep the inputs in a folder."""
    keep(target, [path.read_bytes() for path in sorted(folder.iterdir())])
