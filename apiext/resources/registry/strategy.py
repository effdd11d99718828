"""The strategy of a resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.base.meta.gvk import GroupKind
    from apiext.resources.registry.request_context import RequestContext


class Strategy:
    """The rules of one resource (apiserver pkg/registry/rest: RESTCreateStrategy, RESTUpdateStrategy).

    The methods prepare_* and canonicalize may change the new object: its top level and its metadata in place, deeper members only
    by replacement. The other methods change nothing. `old` never changes. Metadata has the form that meta.objectmeta gives it.
    """

    allow_unconditional_update = False
    """Whether an update may omit metadata.resourceVersion."""
    garbage_collected = True
    """Whether a propagation policy may set the garbage collector's finalizers."""
    error_kind: GroupKind | None = None
    """The kind in validation errors, if that is not the object's own."""
    distinct_errors = False
    """Whether equal field errors are reported once."""

    def prepare_for_create(self, ctx: RequestContext, obj: Object) -> None:
        """Prepare a new object for validation, for example set the generation and drop the status."""

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Return all errors of a new object, including its metadata."""
        raise NotImplementedError

    def warnings_on_create(self, ctx: RequestContext, obj: Object) -> list[str]:
        """Return the warnings about a valid new object: none by default."""
        return []

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Restore the fields that an update must not change, and count the generation."""

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Return the errors of a changed object.

        The registry itself validates the common rules of metadata. It passes their errors as `metadata_errors`. A strategy returns
        them too if the reference's strategy validates the metadata again.
        """
        raise NotImplementedError

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """Return the warnings about a valid update: none by default."""
        return []

    def canonicalize(self, obj: Object) -> None:
        """Bring a valid object into the form in which it is stored."""

    def may_delete_during_update(self, obj: Object, old: Object) -> bool:
        """Report whether an object that is being deleted may go now that its last finalizer is gone: True by default."""
        return True
