"""The rules of one kind of object, as the registry asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from apiext.meta.field import FieldError
    from apiext.meta.json_codec import Object
    from apiext.registry.request_context import RequestContext


class Strategy(Protocol):
    """What is special about one resource (apiserver pkg/registry/rest: RESTCreateStrategy, RESTUpdateStrategy).

    Methods named prepare_* and canonicalize may change the new object: its top level and its metadata freely, what lies deeper only by
    replacing it. All others must change nothing. `old` is never changed. Metadata is in the form that meta.objectmeta gives it.
    """

    allow_create_on_update: bool
    """Whether PUT may create."""
    allow_unconditional_update: bool
    """Whether an update may leave out metadata.resourceVersion."""
    returns_deleted_object: bool
    """Whether a completed deletion is answered with the object instead of a Status."""
    garbage_collected: bool
    """Whether a propagation policy may set the finalizers of the garbage collector."""
    distinct_errors: bool
    """Whether of field errors that say the same only one is told."""

    def prepare_for_create(self, ctx: RequestContext, obj: Object) -> None:
        """Bring a new object into shape before it is validated: initial generation, no status, ..."""
        ...

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Everything wrong with a new object, its metadata included."""
        ...

    def warnings_on_create(self, ctx: RequestContext, obj: Object) -> list[str]:
        """Texts for the client about a valid new object."""
        ...

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Take back what an update may not change, and count the generation."""
        ...

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[FieldError]:
        """Everything wrong with a changed object; the rules common to all metadata are checked by the registry besides."""
        ...

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """Texts for the client about a valid update."""
        ...

    def canonicalize(self, obj: Object) -> None:
        """Bring a valid object into the form in which it is stored."""
        ...

    def may_delete_during_update(self, obj: Object, old: Object) -> bool:
        """Whether an object that is being deleted and has lost its last finalizer may go now."""
        ...
