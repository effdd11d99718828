"""Compares an object with the schemas of all versions of its definition, whatever its apiVersion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from apiext.base.meta.encoding import json_values
from apiext.resources.evaluation.compiled_version import version_schemas
from apiext.resources.stored_objects.builtin_definitions import is_builtin
from apiext.storage.rendering.renderer import DECODING_ERRORS

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.schema.compiled import CompiledSchema


@dataclass(frozen=True, slots=True)
class VersionFit:
    """The mismatches between an object and the schema of one version."""

    version: str
    unknown: tuple[str, ...]
    """Paths of the fields that the version does not have; a read in this version drops them."""
    invalid: tuple[str, ...]
    """Violations of the schema by the other fields."""

    @property
    def fits(self) -> bool:
        """Report whether the object has exactly the version's shape."""
        return not (self.unknown or self.invalid)

    def __str__(self) -> str:
        """Return the version and the number of each kind of problem."""
        parts = [f"{count} {what}" for count, what in ((len(self.unknown), "unknown"), (len(self.invalid), "invalid")) if count]
        return f"{self.version}: {', '.join(parts) or 'fits'}"


class VersionFits:
    """Compares objects with the schemas of a definition's versions."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._schemas = {} if is_builtin(definition) else version_schemas(definition)

    def of(self, obj: Object) -> list[VersionFit]:
        """Return the fit of each version, best first; an empty list for a built-in kind.

        Equal fits are in this order: the object's version, the storage version, other versions.
        """
        group = self._definition.group
        order = [obj.get("apiVersion", ""), f"{group}/{self._definition.storage_version.name}"]

        def rank(fit: VersionFit) -> tuple[int, int]:
            label = f"{group}/{fit.version}"
            return len(fit.unknown) + len(fit.invalid), order.index(label) if label in order else len(order)

        return sorted((self._fit(version, schema, obj) for version, schema in self._schemas.items()), key=rank)

    def _fit(self, version: str, schema: CompiledSchema, obj: Object) -> VersionFit:
        label = {"apiVersion": f"{self._definition.group}/{version}", "kind": self._definition.names.kind}
        shaped: Object = json_values.copy(obj) | label
        try:
            unknown = schema.coerce(shaped, drop_invalid=True, report=True)
            schema.default(shaped)
        except DECODING_ERRORS as error:
            return VersionFit(version, (), (str(error),))
        problems = [*schema.validate_values(shaped), *schema.validate_resources(shaped), *schema.validate_lists(shaped)]
        return VersionFit(version, tuple(unknown), tuple(map(str, problems)))
