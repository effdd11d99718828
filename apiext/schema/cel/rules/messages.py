"""Messages about violated rules (evalMessageExpression in validation.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.golang import formatting
from apiext.schema.cel.errors import BudgetError, CelError
from apiext.schema.cel.rules.budget import SpentError

if TYPE_CHECKING:
    from apiext.schema.cel.rules.budget import Budget
    from apiext.schema.cel.rules.rule import CompiledRule

_MAX_BYTES: Final = 5 * 1024
"""UTF-8 bytes of an evaluated message. Part of the API."""
_SPENT: Final = "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
_CALL_LIMIT: Final = "no further validation rules will be run due to call cost exceeds limit for messageExpression"


class CostlyMessageError(Exception):
    """The evaluation of a message cost too much. No further rule runs. The text is the error's detail."""


def failure_message(rule: CompiledRule, value: Any, old: Any, budget: Budget) -> str:
    """Return the message about a violated rule.

    Raises:
        CostlyMessageError: its evaluation exceeds the cost limit.
        InexactError: the costs must be counted.
    """
    if rule.message is not None:
        try:
            if rule.message.uses_old_self and old is None:
                text = budget.run(rule.message.without_old, value)
            else:
                # as in the reference, a message never sees an optional value
                text = budget.run(rule.message.with_plain_old if rule.is_optional else rule.message, value, old)
        except CelError:
            return rule.default_message
        except SpentError:
            raise CostlyMessageError(_SPENT) from None
        except BudgetError:
            raise CostlyMessageError(f"{_CALL_LIMIT}: {formatting.quote(rule.source['messageExpression'])}") from None
        if isinstance(text, str):
            text = formatting.trim_space(text)
            if text and "\n" not in text and len(text.encode()) <= _MAX_BYTES:
                return text
    return rule.default_message
