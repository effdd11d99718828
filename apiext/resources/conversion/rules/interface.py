"""Compiled rules, as converters and tools use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from apiext.base.meta.field import aggregate
from apiext.resources.conversion.interface import ConversionError

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError

UNKNOWN: Final[Object] = {}
"""Stands for an object of which nothing is known."""


class Transformation(Protocol):
    """The rules from one version to another, through the hub, without what objects carry."""

    def apply(self, obj: Object, known: Object = UNKNOWN) -> bool:
        """Change an object of the source version to one of the target version, in place, and prune it by the target's schema.

        Return whether the opposite transformation surely gives an equal object again, apart from what `drop` rules remove. False says
        that it may not: what it loses is found by trying. The object must be pruned by the schema of its version.

        No object or list in it is changed, but replaced by a copy, so that a shallow copy from before stays as it was. What is the same
        Python object at the same place of `known`, a pruned object of the target version, is not pruned again.

        Raises:
            ConversionError: a value does not allow a rule, or an expression fails or costs too much.
        """
        ...

    def failures(self, obj: Object) -> list[tuple[str, str]]:
        """Evaluate each expression about objects of the source version. Return the places in the Conversion and the reasons of failures.

        The object stays as it is.
        """
        ...


class CompiledRules(Protocol):
    """The rules of all versions of a CRD, compiled for their schemas. Each pair is compiled at its first use."""

    @property
    def has_expressions(self) -> bool:
        """Return whether a rule has expressions: a conversion may then take long."""
        ...

    def transformation(self, source: str, target: str) -> Transformation:
        """Return the transformation between two different versions, by their names.

        Raises:
            ConversionError: the rules do not describe one of the versions.
            InvalidConversionError: expressions of the rules are invalid for the schemas, or cost too much.
        """
        ...


class InvalidConversionError(ConversionError):
    """A Conversion object is invalid, so that no object can be converted by it. The text has the path and the reason of each error."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__(aggregate(errors))
        self.errors = errors

    def copy(self) -> InvalidConversionError:
        """Return an equal error to raise elsewhere."""
        return InvalidConversionError(self.errors)
