"""The configurations that may match a write, before their rules and selectors are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from apiext.api.admission.attributes import Attributes, not_ready
from apiext.api.admission.sources import NotReadyError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from apiext.api.admission.sources import AdmissionPhase, RequestPlace

Entry = TypeVar("Entry")


async def candidates(
    find: Callable[[AdmissionPhase, RequestPlace], Awaitable[Sequence[Entry]]], phase: AdmissionPhase, attributes: Attributes
) -> Sequence[Entry]:
    """Return the entries with a rule for the place of a write. `find` is a method of ConfigurationSource.

    Raises:
        StatusError: 403, the configurations have not been listed in time.
    """
    if attributes.objects is None:
        return ()
    try:
        return await find(phase, attributes.place)
    except NotReadyError as error:
        raise not_ready(attributes) from error
