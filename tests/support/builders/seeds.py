"""Seeds of tests with random choices: constant, unless the run explores."""

import os
import random
from typing import Final

EXPLORING: Final = os.environ.get("APIEXT_EXPLORE", "")
"""The number of an exploring run (`hack/test --explore`). Examples, requests and test order depend on it."""
SEED: Final = int(EXPLORING or 1)


def seeded(seed: object) -> random.Random:
    """Return a Random from the seed, and from EXPLORING if it is set."""
    return random.Random(f"{EXPLORING}{seed}")  # noqa: S311 test data has nothing to hide
