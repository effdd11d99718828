"""The values of an enum, as checks of values and reports use them."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from functools import cached_property
from typing import Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_values import count_members, identity
from apiext.base.meta.field import supported_values
from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_INLINE_STEPS
from apiext.base.scheduling.inline_work import current_work

_TEXTS_OF_A_STEP: Final = 50
_VALUES_OF_A_STEP: Final = 8
_SHOWN_IN_A_STEP: Final = 4
"""Values of an enum that a step prepares: only for texts, for any values, and for the report."""
_CHARACTERS_OF_A_STEP: Final = 200
"""Characters of its texts that a step prepares for the report."""


class Enumeration:
    """The values of an enum, prepared at first use for all types of values and for the report.

    All properties are limited work (`base/scheduling/inline_work.py`).
    """

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    @cached_property
    def texts(self) -> frozenset[str]:
        """Return the texts."""
        current_work().step(len(self._values) // _TEXTS_OF_A_STEP)
        return frozenset(value for value in self._values if type(value) is str)

    @cached_property
    def identities(self) -> frozenset[Hashable]:
        """Return the keys of all values but null."""
        current_work().step(count_members(self._values, at_most=MAX_INLINE_STEPS * _VALUES_OF_A_STEP) // _VALUES_OF_A_STEP)
        return frozenset(identity(value) for value in self._values if value is not None)

    @cached_property
    def description(self) -> tuple[str, str]:
        """Return what stands for the list in a message that only has to be distinct, and the list as a field error has it."""
        current_work().step(count_members(self._values, at_most=MAX_INLINE_STEPS * _SHOWN_IN_A_STEP) // _SHOWN_IN_A_STEP)
        current_work().step(sum(len(value) for value in self._values if type(value) is str) // _CHARACTERS_OF_A_STEP)
        digest = hashlib.blake2b(" ".join(map(formatting.value, self._values)).encode(errors="surrogatepass")).hexdigest()
        return digest, supported_values(item if isinstance(item, str) else json_codec.dumps(item).decode() for item in self._values)
