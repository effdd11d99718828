"""Transformations: from a spoke to the hub, from the hub to a spoke, or both one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from apiext.conversion.rules.interface import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.conversion.rules.detachment import Detach
    from apiext.conversion.rules.finish import Finish
    from apiext.conversion.rules.operations.operation import Step
    from apiext.meta.encoding.json_codec import Object


class Stage(Protocol):
    """The way from one version to another, one of which is the hub."""

    def apply(self, obj: Object, known: Object) -> bool:
        """See `Transformation.apply`. What rules change in the object is not shared."""
        ...


class StepsStage:
    """Implements Stage for rules without expressions."""

    __slots__ = ("_api_version", "_finish", "_steps")

    def __init__(self, steps: Sequence[Step], finish: Finish, api_version: str) -> None:
        self._steps = tuple(steps)
        self._finish = finish
        self._api_version = api_version

    def apply(self, obj: Object, known: Object) -> bool:
        """Implement Stage.apply."""
        is_exact = True
        for step in self._steps:
            if not step(obj):
                is_exact = False
        obj["apiVersion"] = self._api_version
        return self._finish(obj, known) and is_exact


class StagedTransformation:
    """Implements Transformation."""

    __slots__ = ("_detach", "_last", "_stages")

    def __init__(self, stages: Sequence[Stage], detach: Detach) -> None:
        """Create the transformation. `detach` copies what the rules of all stages change."""
        *stages, self._last = stages
        self._stages = tuple(stages)
        self._detach = detach

    def apply(self, obj: Object, known: Object = UNKNOWN) -> bool:
        """Implement Transformation.apply."""
        self._detach(obj)
        is_exact = True
        for stage in self._stages:
            is_exact = stage.apply(obj, UNKNOWN) and is_exact
        return self._last.apply(obj, known) and is_exact
