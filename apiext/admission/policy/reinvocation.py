"""Which mutating policies run again after others have changed the object (mutating/reinvocationcontext.go)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apiext.meta.encoding import json_values

if TYPE_CHECKING:
    from apiext.meta.encoding.json_codec import Object


@dataclass(slots=True)
class PolicyReinvocation:
    """The state of one write."""

    invoked: set[Hashable] = field(default_factory=set)
    """Invocations that run again if a later one changes the object."""
    due: set[Hashable] = field(default_factory=set)
    """Invocations that run again."""
    _last: Object | None = None

    def require(self) -> None:
        """Let all invocations so far run again."""
        self.due |= self.invoked
        self.invoked = set()

    def remember(self, obj: Object | None) -> None:
        """Remember the object as the policies leave it."""
        self._last = json_values.copy(obj)

    def is_changed(self, obj: Object | None) -> bool:
        """Return whether other plug-ins have changed the object since then."""
        return not json_values.equal(self._last, obj)
