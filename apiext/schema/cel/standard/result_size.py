"""Limits the size of a call's result."""

from __future__ import annotations

from apiext.base.meta.limits import MAX_CEL_RESULT
from apiext.schema.cel.errors import CALL_COST_EXCEEDED, BudgetError


def check_result_size(length: int) -> None:
    """Refuse a call whose result would be too large. Its arguments do not limit the result.

    Raises:
        BudgetError: the result would be longer than `MAX_CEL_RESULT`.
    """
    if length > MAX_CEL_RESULT:
        raise BudgetError(CALL_COST_EXCEEDED)
