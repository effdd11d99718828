"""Exceptions without their frames."""

import pytest

from apiext.base.scheduling.tracebacks import without_frames


def test_forgets_frames_and_earlier_exceptions() -> None:
    """Remove the tracebacks of an exception, of its cause and of what was handled before that."""
    context, cause = KeyError("a"), ValueError("b")
    with pytest.raises(RuntimeError) as raised:  # noqa: PT012 -- a chain of exceptions
        try:
            try:
                raise context
            except KeyError:
                raise cause  # noqa: B904 -- the context counts
        except ValueError as error:
            raise RuntimeError("c") from error
    chain = [raised.value, cause, context]

    assert without_frames(raised.value) is raised.value
    assert [(error.__cause__, error.__context__, error.__traceback__) for error in chain] == [(None, None, None)] * 3
