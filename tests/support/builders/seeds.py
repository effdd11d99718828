"""Where tests that choose at random get their chance from: the same in each run, unless they are to explore."""

import os
import random
from typing import Final

EXPLORING: Final = os.environ.get("APIEXT_EXPLORE", "")
"""A number: the examples, generated requests and order of tests are those of this number (`hack/test --explore`)."""
SEED: Final = int(EXPLORING or 1)


def seeded(seed: object) -> random.Random:
    """A source of choices that are always the same, or others for each number to explore with."""
    return random.Random(f"{EXPLORING}{seed}")  # noqa: S311 test data has nothing to hide
