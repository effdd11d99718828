"""The rules of a Conversion object with the schemas of its CRD, ready to convert single objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta.encoding import json_values
from apiext.resources.conversion.rules.carried import annotation
from apiext.resources.conversion.rules.check.document_check import crd_schemas
from apiext.resources.conversion.rules.check.sample_trials import violations
from apiext.resources.conversion.rules.check.samples import Samples
from apiext.resources.conversion.rules.compile import compile_rules
from apiext.resources.conversion.rules.converter import RulesConverter
from apiext.resources.conversion.rules.declared_losses import DeclaredLosses
from apiext.resources.evaluation.fields import described

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.model import ConversionRules, FieldSteps
    from apiext.resources.definitions.definition import Definition


class TriedRules:
    """Converts objects as a server does."""

    def __init__(self, rules: ConversionRules, definition: Definition) -> None:
        self.rules = rules
        self.definition = definition
        self.schemas = crd_schemas(definition.object)
        self.storage = definition.storage_version.name
        self._compiled = compile_rules(rules, self.schemas)
        self._losses = DeclaredLosses(rules)
        self._converter = RulesConverter(self._compiled, self._losses, self.schemas, self.storage, rules.name, hub=rules.hub)

    def convert(self, obj: Object, version: str) -> Object:
        """Convert an object in place, and return it.

        Raises:
            ConversionError: it cannot be converted.
        """
        return self._converter.convert_inline(obj, f"{self.definition.group}/{version}")

    def settle(self, obj: Object) -> None:
        """Remove from an object of the storage version, in place, what it carries for places that it does not have, as a write does."""
        self._converter.settle(obj)

    def bare(self, obj: Object, version: str) -> Object:
        """Return a copy of an object in another version, by the rules alone: without what it carries.

        Raises:
            ConversionError: it cannot be converted.
        """
        copied: Object = json_values.copy(obj)
        annotation.take(copied)
        source = copied["apiVersion"].rpartition("/")[2]
        if source != version:
            self._compiled.transformation(source, version).apply(copied)
        return copied

    def losses(self, source: str, target: str) -> Sequence[FieldSteps]:
        """Return the fields that the conversion between two versions drops on purpose."""
        return self._losses.between(source, target) if source != target else ()

    def errors_of(self, obj: Object, version: str) -> Sequence[str]:
        """Return why an object is invalid in its version, without values and indices."""
        schema = self.schemas[version]
        return [": ".join(described(each, obj, schema.structural)) for each in violations(schema, obj)]

    def decoded(self, obj: Object) -> Object:
        """Return a copy of an object as a server decodes it in its version."""
        copied: Object = json_values.copy(obj)
        self.schemas[copied["apiVersion"].rpartition("/")[2]].coerce(copied, defaults=True, drop_invalid=True)
        return copied

    def samples(self, version: str) -> Samples:
        """Return the generator of objects of a version."""
        definition = self.definition
        return Samples(self.schemas[version], self.rules, version, kind=definition.names.kind, namespaced=definition.namespaced)
