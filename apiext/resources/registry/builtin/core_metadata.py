"""Metadata of the kinds that the reference validates by the rules of its core group, which also check the form of finalizers.

Mirrors ValidateObjectMeta of kubernetes pkg/apis/core/validation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field
from apiext.base.meta.objectmeta import validation

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.base.meta.objectmeta.validation import NameRule

NAMESPACE_FINALIZER: Final = "kubernetes"
"""The finalizer in spec.finalizers of namespaces. It stays until everything in the namespace is deleted."""
STANDARD_FINALIZERS: Final = frozenset({NAMESPACE_FINALIZER, validation.FINALIZER_ORPHAN, validation.FINALIZER_FOREGROUND})
_FINALIZERS: Final = field.Path("metadata", "finalizers")


def core_metadata_errors(metadata: Object, *, namespaced: bool, name_rule: NameRule) -> list[FieldError]:
    """Return the errors of metadata. Finalizers must be qualified names."""
    problems = validation.validate(metadata, namespaced=namespaced, name_rule=name_rule)
    return problems + finalizer_errors(metadata)


def finalizer_errors(metadata: Object) -> list[FieldError]:
    """Return an error for each finalizer that is neither a standard one nor a qualified name."""
    finalizers = enumerate(metadata.get("finalizers", ()))
    return [error for index, name in finalizers for error in unqualified_finalizer(name, _FINALIZERS.index(index))]


def unqualified_finalizer(name: str, path: Path) -> list[FieldError]:
    """Return an error if a finalizer is neither a standard one nor a qualified name."""
    if "/" in name or name in STANDARD_FINALIZERS:
        return []
    return [field.invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")]
