"""Which mutating webhooks are asked again in the second run of mutating admission (webhook/mutating/reinvocationcontext.go)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apiext.meta.encoding import json_values

if TYPE_CHECKING:
    from apiext.meta.encoding.json_codec import Object


@dataclass(slots=True)
class HookReinvocation:
    """The state of the webhooks of one write."""

    _output: Object | None = None
    """The object after the first run; kept only if a webhook may be asked again."""
    _asked: set[str] = field(default_factory=set)
    """Webhooks that were asked, and want to be asked again after a later change."""
    _again: set[str] = field(default_factory=set)
    """Webhooks to ask again."""

    def includes(self, uid: str) -> bool:
        """Return whether a webhook is asked again."""
        return uid in self._again

    def begin_second_run(self, new: Object | None) -> None:
        """Take the object at the beginning of the second run: if other plug-ins have changed it, all webhooks are asked again."""
        if self._asked and not json_values.equal(self._output, new):
            self.object_changed()

    def asked(self, uid: str) -> None:
        """Note that a webhook that may be asked again was asked."""
        self._asked.add(uid)

    def object_changed(self) -> None:
        """Ask the webhooks again that were asked before a change."""
        self._again |= self._asked
        self._asked = set()

    def end_run(self, new: Object | None) -> None:
        """Take the object at the end of a run."""
        self._output = json_values.copy(new) if self._asked else None
