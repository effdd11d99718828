"""Returns the errors of calls that a server refuses."""

from collections.abc import Awaitable

import pytest

from apiext.base.meta.errors import StatusError


async def refusal(call: Awaitable[object]) -> StatusError:
    """Return the StatusError of a call. Fail the test if the call succeeds."""
    with pytest.raises(StatusError) as refused:
        await call
    return refused.value
