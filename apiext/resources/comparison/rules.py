"""The rules of a comparison, one row each: what changes, whom it may break in kube-apiserver, and its grade by default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from apiext.resources.comparison.change import Direction, Grade, Hurts
from apiext.resources.comparison.rule_texts import BOUNDS, CLAUSES, TEXTS

_ADDED, _REMOVED, _CHANGED = Direction.ADDED, Direction.REMOVED, Direction.CHANGED
_NARROWED, _WIDENED = Direction.NARROWED, Direction.WIDENED
_NOBODY, _WRITERS, _CLIENTS = Hurts.NOBODY, Hurts.WRITERS, Hurts.CLIENTS
_IGNORE, _NOTE, _WARNING, _ERROR = Grade.IGNORE, Grade.NOTE, Grade.WARNING, Grade.ERROR

UNHANDLED: Final = "unhandled"
"""What crdify calls changes that none of its validations knows."""


class ComparisonRule(NamedTuple):
    """A row of the table."""

    name: str
    subject: str
    """What changes: two rules with the same subject describe opposite changes, or kinds of one change."""
    direction: Direction
    hurts: Hurts
    grade: Grade
    crdify: str = ""
    """The validation of crdify that reports the same change as incompatible; empty if none does."""
    hurts_unserved: bool = False
    """Whether it hurts, too, if the version is not served before or after the change: for its clients, or for objects stored in it."""

    @property
    def about(self) -> str:
        """Return what follows from the change, in a sentence or two."""
        return TEXTS[self.name]


# fmt: off
_DEFINITION: Final = (
    ComparisonRule("definitionAdded", "definition", _ADDED, _NOBODY, _NOTE),
    ComparisonRule("definitionRemoved", "definition", _REMOVED, _CLIENTS, _ERROR),
    ComparisonRule("groupChanged", "group", _CHANGED, _CLIENTS, _ERROR),
    ComparisonRule("scopeChanged", "scope", _CHANGED, _CLIENTS, _ERROR, "scope"),
    ComparisonRule("kindChanged", "kind", _CHANGED, _CLIENTS, _ERROR),
    ComparisonRule("pluralChanged", "plural", _CHANGED, _CLIENTS, _ERROR),
    ComparisonRule("listKindChanged", "listKind", _CHANGED, _CLIENTS, _ERROR),
    ComparisonRule("singularChanged", "singular", _CHANGED, _CLIENTS, _WARNING),
    ComparisonRule("shortNameAdded", "shortName", _ADDED, _NOBODY, _NOTE),
    ComparisonRule("shortNameRemoved", "shortName", _REMOVED, _CLIENTS, _WARNING),
    ComparisonRule("categoryAdded", "category", _ADDED, _NOBODY, _NOTE),
    ComparisonRule("categoryRemoved", "category", _REMOVED, _CLIENTS, _WARNING),
    ComparisonRule("pruningEnabled", "pruning", _NARROWED, _CLIENTS, _ERROR),
    ComparisonRule("pruningDisabled", "pruning", _WIDENED, _NOBODY, _WARNING),
    ComparisonRule("conversionWebhookAdded", "conversionWebhook", _ADDED, _CLIENTS, _WARNING),
    ComparisonRule("conversionWebhookRemoved", "conversionWebhook", _REMOVED, _CLIENTS, _ERROR),
    ComparisonRule("conversionWebhookMoved", "conversionClient", _CHANGED, _CLIENTS, _WARNING),
    ComparisonRule("conversionCABundleChanged", "conversionCABundle", _CHANGED, _CLIENTS, _NOTE),
    ComparisonRule("conversionReviewVersionsChanged", "conversionReviewVersions", _CHANGED, _CLIENTS, _NOTE),
    ComparisonRule("storageVersionChanged", "storageVersion", _CHANGED, _NOBODY, _NOTE),
    ComparisonRule("storedVersionRemoved", "storedVersion", _REMOVED, _CLIENTS, _ERROR, "storedVersionRemoval"),
)
_VERSION: Final = (
    ComparisonRule("versionAdded", "version", _ADDED, _NOBODY, _NOTE),
    ComparisonRule("versionRemoved", "version", _REMOVED, _CLIENTS, _ERROR),
    ComparisonRule("unservedVersionAdded", "unservedVersion", _ADDED, _NOBODY, _NOTE),
    ComparisonRule("unservedVersionRemoved", "unservedVersion", _REMOVED, _NOBODY, _NOTE),
    ComparisonRule("versionServed", "served", _ADDED, _NOBODY, _NOTE),
    ComparisonRule("versionUnserved", "served", _REMOVED, _CLIENTS, _ERROR, hurts_unserved=True),
    ComparisonRule("versionDeprecated", "deprecated", _ADDED, _NOBODY, _NOTE),
    ComparisonRule("versionUndeprecated", "deprecated", _REMOVED, _NOBODY, _NOTE),
    ComparisonRule("deprecationWarningChanged", "deprecationWarning", _CHANGED, _NOBODY, _NOTE),
    ComparisonRule("statusSubresourceAdded", "statusSubresource", _ADDED, _CLIENTS, _ERROR),
    ComparisonRule("statusSubresourceRemoved", "statusSubresource", _REMOVED, _CLIENTS, _ERROR),
    ComparisonRule("scaleSubresourceAdded", "scaleSubresource", _ADDED, _NOBODY, _NOTE),
    ComparisonRule("scaleRefusesValues", "scaleValues", _CHANGED, _WRITERS, _ERROR),
    ComparisonRule("scaleSubresourceRemoved", "scaleSubresource", _REMOVED, _CLIENTS, _ERROR),
    ComparisonRule("scaleReplicasPathChanged", "scaleReplicasPath", _CHANGED, _CLIENTS, _ERROR),
    ComparisonRule("scaleSelectorPathAdded", "scaleSelectorPath", _ADDED, _NOBODY, _NOTE),
    ComparisonRule("scaleSelectorPathRemoved", "scaleSelectorPath", _REMOVED, _CLIENTS, _ERROR),
    ComparisonRule("scaleSelectorPathChanged", "scaleSelectorPath", _CHANGED, _CLIENTS, _WARNING),
    ComparisonRule("printerColumnAdded", "printerColumn", _ADDED, _NOBODY, _NOTE),
    ComparisonRule("printerColumnRemoved", "printerColumn", _REMOVED, _CLIENTS, _NOTE),
    ComparisonRule("printerColumnChanged", "printerColumn", _CHANGED, _CLIENTS, _NOTE),
    ComparisonRule("printerColumnsReordered", "printerColumns", _CHANGED, _NOBODY, _NOTE),
    ComparisonRule("selectableFieldAdded", "selectableField", _ADDED, _NOBODY, _NOTE),
    ComparisonRule("selectableFieldRemoved", "selectableField", _REMOVED, _CLIENTS, _ERROR),
)
_FIELDS: Final = (
    ComparisonRule("fieldAdded", "field", _ADDED, _NOBODY, _NOTE),
    ComparisonRule("fieldRemoved", "field", _REMOVED, _CLIENTS, _ERROR, "existingFieldRemoval", hurts_unserved=True),
    ComparisonRule("newFieldMissing", "field", _REMOVED, _CLIENTS, _WARNING, "existingFieldRemoval"),
    ComparisonRule("fieldSpecified", "specifiedField", _NARROWED, _CLIENTS, _WARNING, hurts_unserved=True),
    ComparisonRule("fieldUnspecified", "specifiedField", _WIDENED, _CLIENTS, _WARNING, "existingFieldRemoval", hurts_unserved=True),
    ComparisonRule("mapValuesAdded", "mapValues", _WIDENED, _NOBODY, _NOTE, UNHANDLED),
    ComparisonRule("mapValuesRemoved", "mapValues", _NARROWED, _CLIENTS, _ERROR, "existingFieldRemoval", hurts_unserved=True),
    ComparisonRule("unknownFieldsPreserved", "unknownFields", _WIDENED, _NOBODY, _NOTE, UNHANDLED),
    ComparisonRule("unknownFieldsPruned", "unknownFields", _NARROWED, _CLIENTS, _ERROR, UNHANDLED, hurts_unserved=True),
    ComparisonRule("unknownFieldsSpecified", "mapOfUnknown", _NARROWED, _CLIENTS, _WARNING, UNHANDLED, hurts_unserved=True),
    ComparisonRule("unknownFieldsUnspecified", "mapOfUnknown", _WIDENED, _CLIENTS, _WARNING, "existingFieldRemoval", hurts_unserved=True),
    ComparisonRule("typeNarrowed", "type", _NARROWED, _WRITERS, _ERROR, "type"),
    ComparisonRule("typeWidened", "type", _WIDENED, _CLIENTS, _WARNING, "type"),
    ComparisonRule("typeChanged", "type", _CHANGED, _CLIENTS, _ERROR, "type", hurts_unserved=True),
    ComparisonRule("nullableAdded", "nullable", _WIDENED, _CLIENTS, _NOTE, "nullable", hurts_unserved=True),
    ComparisonRule("nullableRemoved", "nullable", _NARROWED, _CLIENTS, _ERROR, "nullable", hurts_unserved=True),
    ComparisonRule("defaultAdded", "default", _ADDED, _CLIENTS, _WARNING, "default", hurts_unserved=True),
    ComparisonRule("requiredDefaultAdded", "default", _ADDED, _NOBODY, _NOTE, "default"),
    ComparisonRule("defaultChanged", "default", _CHANGED, _CLIENTS, _ERROR, "default", hurts_unserved=True),
    ComparisonRule("defaultRemoved", "default", _REMOVED, _CLIENTS, _ERROR, "default", hurts_unserved=True),
    ComparisonRule("embeddedResourceAdded", "embeddedResource", _NARROWED, _CLIENTS, _ERROR, UNHANDLED, hurts_unserved=True),
    ComparisonRule("embeddedResourceRemoved", "embeddedResource", _WIDENED, _CLIENTS, _ERROR, UNHANDLED, hurts_unserved=True),
    ComparisonRule("descriptionChanged", "description", _CHANGED, _NOBODY, _IGNORE, "description"),
    ComparisonRule("documentationChanged", "documentation", _CHANGED, _NOBODY, _IGNORE, UNHANDLED),
    ComparisonRule("unstructuralKeywordChanged", "unstructuralKeyword", _CHANGED, _WRITERS, _ERROR, UNHANDLED),
)
_LISTS: Final = (
    ComparisonRule("listTypeChanged", "listType", _CHANGED, _WRITERS, _ERROR, UNHANDLED),
    ComparisonRule("listMapKeysChanged", "listMapKeys", _CHANGED, _WRITERS, _ERROR, UNHANDLED),
    ComparisonRule("mapTypeChanged", "mapType", _CHANGED, _WRITERS, _ERROR, UNHANDLED),
    ComparisonRule("mergedPartChanged", "mergedPart", _CHANGED, _NOBODY, _NOTE, UNHANDLED),
)
_VALUES: Final = (
    ComparisonRule("newValueRefused", "newValue", _CHANGED, _WRITERS, _WARNING, UNHANDLED),
    ComparisonRule("requiredAdded", "required", _NARROWED, _WRITERS, _ERROR, "required"),
    ComparisonRule("requiredWithDefaultAdded", "required", _NARROWED, _NOBODY, _NOTE, "required"),
    ComparisonRule("requiredRemoved", "required", _WIDENED, _CLIENTS, _NOTE),
    ComparisonRule("enumAdded", "enum", _NARROWED, _WRITERS, _ERROR, "enum"),
    ComparisonRule("enumRemoved", "enum", _WIDENED, _CLIENTS, _NOTE, "enum"),
    ComparisonRule("enumValueAdded", "enumValue", _WIDENED, _CLIENTS, _NOTE, "enum"),
    ComparisonRule("enumValueRemoved", "enumValue", _NARROWED, _WRITERS, _ERROR, "enum"),
    ComparisonRule("patternAdded", "pattern", _NARROWED, _WRITERS, _ERROR, "pattern"),
    ComparisonRule("patternRemoved", "pattern", _WIDENED, _CLIENTS, _NOTE, "pattern"),
    ComparisonRule("patternNarrowed", "pattern", _NARROWED, _WRITERS, _ERROR, "pattern"),
    ComparisonRule("patternWidened", "pattern", _WIDENED, _CLIENTS, _NOTE, "pattern"),
    ComparisonRule("patternChanged", "pattern", _CHANGED, _WRITERS, _ERROR, "pattern"),
    ComparisonRule("patternRewritten", "pattern", _CHANGED, _NOBODY, _NOTE, "pattern"),
    ComparisonRule("formatNarrowed", "format", _NARROWED, _WRITERS, _ERROR, UNHANDLED),
    ComparisonRule("formatWidened", "format", _WIDENED, _CLIENTS, _NOTE, UNHANDLED),
    ComparisonRule("formatChanged", "format", _CHANGED, _WRITERS, _ERROR, UNHANDLED),
    ComparisonRule("uncheckedFormatChanged", "uncheckedFormat", _CHANGED, _NOBODY, _NOTE, UNHANDLED),
    ComparisonRule("multipleOfNarrowed", "multipleOf", _NARROWED, _WRITERS, _ERROR, UNHANDLED),
    ComparisonRule("multipleOfWidened", "multipleOf", _WIDENED, _NOBODY, _NOTE, UNHANDLED),
    ComparisonRule("multipleOfChanged", "multipleOf", _CHANGED, _WRITERS, _ERROR, UNHANDLED),
    ComparisonRule("uniqueItemsNarrowed", "uniqueItems", _NARROWED, _WRITERS, _ERROR, UNHANDLED),
    ComparisonRule("uniqueItemsWidened", "uniqueItems", _WIDENED, _NOBODY, _NOTE, UNHANDLED),
    ComparisonRule("ruleAdded", "rule", _NARROWED, _WRITERS, _ERROR, UNHANDLED),
    ComparisonRule("keptRuleAdded", "rule", _NARROWED, _NOBODY, _NOTE, UNHANDLED),
    ComparisonRule("ruleRemoved", "rule", _WIDENED, _NOBODY, _NOTE, UNHANDLED),
    ComparisonRule("ruleNarrowed", "ruleText", _NARROWED, _WRITERS, _ERROR, UNHANDLED),
    ComparisonRule("ruleWidened", "ruleText", _WIDENED, _NOBODY, _NOTE, UNHANDLED),
    ComparisonRule("ruleChanged", "ruleText", _CHANGED, _WRITERS, _ERROR, UNHANDLED),
    ComparisonRule("ruleReportChanged", "ruleReport", _CHANGED, _NOBODY, _NOTE, UNHANDLED),
)
# fmt: on


def _bounds() -> Iterator[ComparisonRule]:
    for keyword in BOUNDS:
        yield ComparisonRule(f"{keyword}Narrowed", keyword, _NARROWED, _WRITERS, _ERROR, keyword)
        yield ComparisonRule(f"{keyword}Widened", keyword, _WIDENED, _NOBODY, _NOTE)


def _clauses() -> Iterator[ComparisonRule]:
    for keyword in CLAUSES:
        crdify = "oneOf" if keyword == "oneOf" else UNHANDLED
        yield ComparisonRule(f"{keyword}Narrowed", keyword, _NARROWED, _WRITERS, _ERROR, crdify)
        yield ComparisonRule(f"{keyword}Widened", keyword, _WIDENED, _NOBODY, _NOTE, crdify)
        yield ComparisonRule(f"{keyword}Changed", keyword, _CHANGED, _WRITERS, _ERROR, crdify)


RULES: Final[Mapping[str, ComparisonRule]] = MappingProxyType(
    {rule.name: rule for rule in (*_DEFINITION, *_VERSION, *_FIELDS, *_LISTS, *_VALUES, *_bounds(), *_clauses())}
)
"""All rules by name."""
