"""The strategy of a resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from apiext.meta.field import FieldError
    from apiext.meta.json_codec import Object
    from apiext.registry.request_context import RequestContext


class Strategy(Protocol):
    """The rules of one resource (apiserver pkg/registry/rest: RESTCreateStrategy, RESTUpdateStrategy).

    The methods prepare_* and canonicalize may change the new object: its top level and its metadata in place, deeper members only
    by replacement. The other methods change nothing. `old` never changes. Metadata has the form that meta.objectmeta gives it.
    """

    allow_create_on_update: bool
    """Whether PUT may create an object."""
    allow_unconditional_update: bool
    """Whether an update may omit metadata.resourceVersion."""
    returns_deleted_object: bool
    """Whether the answer to a completed deletion is the object instead of a Status."""
    garbage_collected: bool
    """Whether a propagation policy may set the garbage collector's finalizers."""
    distinct_errors: bool
    """Whether equal field errors are reported once."""

    def prepare_for_create(self, ctx: RequestContext, obj: Object) -> None:
        """Prepare a new object for validation, for example set the generation and drop the status."""
        ...

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Return all errors of a new object, including its metadata."""
        ...

    def warnings_on_create(self, ctx: RequestContext, obj: Object) -> list[str]:
        """Return the warnings about a valid new object."""
        ...

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Restore the fields that an update must not change, and count the generation."""
        ...

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[FieldError]:
        """Return the errors of a changed object; the registry validates the common rules of metadata besides."""
        ...

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """Return the warnings about a valid update."""
        ...

    def canonicalize(self, obj: Object) -> None:
        """Bring a valid object into the form in which it is stored."""
        ...

    def may_delete_during_update(self, obj: Object, old: Object) -> bool:
        """Report whether an object that is being deleted, and has lost its last finalizer, may be deleted now."""
        ...
