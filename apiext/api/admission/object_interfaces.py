"""What plug-ins may do with the objects of a resource (apiserver pkg/admission/interfaces.go, ObjectInterfaces)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource


class EquivalentResource(NamedTuple):
    """A resource that serves the same objects as another one, with the kind of its bodies."""

    resource: GroupVersionResource
    kind: GroupVersionKind


class UnpatchableError(ValueError):
    """A policy cannot mutate objects of this kind. The text is the reference's."""


class ObjectInterfaces(Protocol):
    """Equivalent resources, conversions and defaults. Each endpoint has its own."""

    def equivalents(self) -> Sequence[EquivalentResource]:
        """Return the other resources that serve the endpoint's objects, in the order in which rules are tried on them."""
        ...

    async def convert(self, obj: Object, kind: GroupVersionKind) -> Object:
        """Return an object of the endpoint in the version of another kind; the object itself if it has this kind. Never change it.

        Raises:
            ValueError: the object cannot be converted. The text is the reference's.
        """
        ...

    async def complete(self, obj: Object, *, strict: bool = False) -> Object:
        """Return an object that a plug-in has changed, of any version, with defaults.

        Unknown fields of custom resources stay, as in the reference: they are dropped when the object is written. Those of other kinds are
        dropped here, or refused if `strict`, as after JSON patches of policies.

        Raises:
            UnpatchableError: `strict`, and policies cannot patch objects of this kind.
            ValueError: it is no object of this kind. The text is the reference's.
        """
        ...

    async def apply_configuration(self, obj: Object, configuration: Object) -> Object:
        """Return an object, of any version, with an apply configuration merged into it. Fields have no managers here.

        Raises:
            ValueError: the configuration does not fit the object's type. The text is the reference's.
        """
        ...
