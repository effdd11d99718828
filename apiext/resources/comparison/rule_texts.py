"""What follows from each change in kube-apiserver, for people who read a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from apiext.schema.keywords import JUNCTORS, of_kind

BOUNDS: Final = tuple(keyword for keyword in of_kind("number", "count") if keyword != "multipleOf")
"""Keywords that bound a value or its size. Each has a rule for a narrower and one for a wider bound."""
CLAUSES: Final = (*JUNCTORS, "not")
"""Keywords with clauses. Each has rules for narrower, wider and other clauses."""

_RATCHETED: Final = "Stored objects that break it stay readable, and updates pass that leave the value unchanged."
_STRICTER: Final = f"The server rejects values that it accepted before. {_RATCHETED}"
_LOOSER: Final = "The server accepts more values than before."
_NEW_VALUES: Final = "Readers may see values that could not occur before."
_NO_UPDATE: Final = "The server refuses this update. Deleting and creating the definition deletes all objects."
_DEFAULTS: Final = "Defaults are set on every read: objects without the field change for readers at once, without a write."
_APPLIERS: Final = "Server-side apply merges and owns the value in another way: appliers may overwrite or keep what they did not before."

_DEFINITION: Final = {
    "definitionAdded": "The server serves a new resource.",
    "definitionRemoved": "The server deletes all objects of the resource and answers 404.",
    "groupChanged": _NO_UPDATE,
    "scopeChanged": _NO_UPDATE,
    "kindChanged": _NO_UPDATE,
    "pluralChanged": _NO_UPDATE,
    "listKindChanged": "Typed clients read lists by their kind and do not know the new one.",
    "singularChanged": "kubectl no longer knows the old name.",
    "shortNameAdded": "kubectl knows another name. If a resource of the group has it already, the name is not accepted.",
    "shortNameRemoved": "kubectl no longer knows the name.",
    "categoryAdded": "kubectl lists the objects with the category.",
    "categoryRemoved": "kubectl no longer lists the objects with the category.",
    "pruningEnabled": "The server drops fields that the schema does not specify from every read and write.",
    "pruningDisabled": "The server refuses preserveUnknownFields: true.",
    "conversionWebhookAdded": "Objects stored in another version than the requested one can only be read while the webhook answers.",
    "conversionWebhookRemoved": "The server only replaces apiVersion, and drops the fields that the requested version does not have.",
    "conversionWebhookMoved": "Objects stored in another version than the requested one can only be read while the webhook answers there.",
    "conversionCABundleChanged": "Calls fail unless the webhook's certificate is signed by the new authority.",
    "conversionReviewVersionsChanged": "The server calls the webhook with the first version of the list that it knows.",
    "storageVersionChanged": "Later writes are stored in the new version; what is stored stays in the former one until it is rewritten. "
    "From then on a definition without the new version cannot come back.",
    "storedVersionRemoved": "The server refuses to remove a version that status.storedVersions names: objects may be stored in it.",
}
_VERSION: Final = {
    "versionAdded": "The server serves another version.",
    "versionRemoved": "The server answers 404 to clients of the version.",
    "unservedVersionAdded": "Objects may be stored in another version.",
    "unservedVersionRemoved": "No client could use the version.",
    "versionServed": "The server serves another version.",
    "versionUnserved": "The server answers 404 to clients of the version.",
    "versionDeprecated": "Answers have a Warning header.",
    "versionUndeprecated": "Answers no longer have a Warning header.",
    "deprecationWarningChanged": "The Warning header has another text.",
    "statusSubresourceAdded": "Creates and updates drop the status: only writes to /status change it. The generation counts changes "
    "outside metadata and status only.",
    "statusSubresourceRemoved": "The server answers 404 to /status. Updates change the status, too, and the generation counts its changes.",
    "scaleSubresourceAdded": "The server answers at /scale.",
    "scaleRefusesValues": "With a scale, the server checks the field in every create and update, whatever else it changes. Objects with "
    "another value cannot be updated at all.",
    "scaleSubresourceRemoved": "The server answers 404 to /scale: kubectl scale and autoscalers stop working.",
    "scaleReplicasPathChanged": "kubectl scale and autoscalers read and write another field.",
    "scaleSelectorPathAdded": "Autoscalers find the pods of an object.",
    "scaleSelectorPathRemoved": "Autoscalers no longer find the pods of an object.",
    "scaleSelectorPathChanged": "Autoscalers read the selector of the pods from another field.",
    "printerColumnAdded": "kubectl get shows another column.",
    "printerColumnRemoved": "kubectl get no longer shows the column.",
    "printerColumnChanged": "kubectl get shows something else in the column.",
    "printerColumnsReordered": "kubectl get shows the columns in another order.",
    "selectableFieldAdded": "Field selectors may name the field.",
    "selectableFieldRemoved": "The server answers 400 to field selectors with the field: informers that use one stop working.",
}
_FIELDS: Final = {
    "newFieldMissing": "Another version has the field, which is new and optional: no stored object has it. Clients of this version do not "
    "see it, and remove it from objects that they write.",
    "fieldAdded": "The server keeps the field; before, it was dropped from writes.",
    "fieldRemoved": "The server drops the field from every read and write. It is lost with the next write of the object.",
    "fieldSpecified": "The field was kept as an unknown one, or as a value of a map. Now its own schema counts. Other changes of the field "
    "say what that means for its values.",
    "fieldUnspecified": "The server keeps the field as a value of the map, or unchecked and without defaults as unknown ones. Other "
    "changes of the field say what that means for its values.",
    "mapValuesAdded": "The server keeps fields of any name.",
    "mapValuesRemoved": "The server drops fields that properties do not name from every read and write.",
    "unknownFieldsPreserved": "The server keeps unknown fields unchecked.",
    "unknownFieldsPruned": "The server drops unknown fields from every read and write. They are lost with the next write of the object.",
    "unknownFieldsSpecified": "Unknown fields were kept unchecked. Now the server checks them, and drops what the schema does not specify.",
    "unknownFieldsUnspecified": "The server keeps the values of the map unchecked and without defaults.",
    "typeNarrowed": _STRICTER,
    "typeWidened": f"{_LOOSER} {_NEW_VALUES}",
    "typeChanged": "Clients of the old type cannot read new values. Stored values are invalid, and the fields of objects are dropped.",
    "nullableAdded": f"Readers may see null, which was dropped or replaced by the default. {_LOOSER}",
    "nullableRemoved": "The server drops null, or replaces it by the default, in every read and write.",
    "defaultAdded": _DEFAULTS,
    "requiredDefaultAdded": "Writes may leave out the field, which every object has.",
    "defaultChanged": _DEFAULTS,
    "defaultRemoved": "Objects that do not store the field appear without it. If it is required, writes must set it.",
    "embeddedResourceAdded": "The value must be an object with apiVersion, kind and metadata. Unknown fields of its metadata are dropped.",
    "embeddedResourceRemoved": "The server drops apiVersion, kind and metadata of the value unless the schema keeps them.",
    "descriptionChanged": "Only documents change. If the meaning of the field changes, too, clients break.",
    "documentationChanged": "Only documents change.",
    "unstructuralKeywordChanged": "The keyword is not part of structural schemas; servers refuse it in new definitions.",
    "listTypeChanged": f"{_APPLIERS} Lists of type set and map must not repeat items or keys.",
    "listMapKeysChanged": f"{_APPLIERS} Items must not repeat the new keys.",
    "mapTypeChanged": _APPLIERS,
    "mergedPartChanged": "A list or map around the value is atomic: appliers replace it as a whole, before and after.",
}
_VALUES: Final = {
    "newValueRefused": "Another version allows more since this release: no stored object makes use of it. Clients of this version see such "
    "values as they are, and the server rejects creates and changes with them; updates pass that leave the value unchanged.",
    "requiredAdded": "The server rejects objects without the field. Stored ones stay readable, and updates pass that leave the object "
    "around the field unchanged.",
    "requiredWithDefaultAdded": "The default is set before objects are checked, so that none lacks the field.",
    "requiredRemoved": "Readers may see objects without the field.",
    "enumAdded": _STRICTER,
    "enumRemoved": f"{_LOOSER} {_NEW_VALUES}",
    "enumValueAdded": f"{_LOOSER} Readers with a closed list of values may not know the new one.",
    "enumValueRemoved": _STRICTER,
    "patternAdded": _STRICTER,
    "patternRemoved": f"{_LOOSER} {_NEW_VALUES}",
    "patternNarrowed": f"The new pattern accepts some of the former values only. {_STRICTER}",
    "patternWidened": f"The new pattern accepts all former values. {_LOOSER} {_NEW_VALUES}",
    "patternRewritten": "The pattern accepts the same values, in other words.",
    "patternChanged": f"The new pattern refuses some former values, or it is not decided whether it does. {_STRICTER}",
    "formatNarrowed": _STRICTER,
    "formatWidened": f"{_LOOSER} {_NEW_VALUES}",
    "formatChanged": _STRICTER,
    "uncheckedFormatChanged": "The server does not check this format; only documents change.",
    "multipleOfNarrowed": _STRICTER,
    "multipleOfWidened": _LOOSER,
    "multipleOfChanged": _STRICTER,
    "uniqueItemsNarrowed": _STRICTER,
    "uniqueItemsWidened": _LOOSER,
    "ruleAdded": _STRICTER,
    "keptRuleAdded": "No stored object breaks the rule: it is about new fields, or limits what was limited before. Later writes keep it.",
    "ruleRemoved": _LOOSER,
    "ruleNarrowed": f"The new rule requires what the former one did, and more. {_STRICTER}",
    "ruleWidened": "The new rule requires less than the former one.",
    "ruleChanged": f"Whether the new rule accepts all that the former one did is not decided. {_STRICTER}",
    "ruleReportChanged": "The rule decides as before. At most its error changes.",
}
TEXTS: Final[Mapping[str, str]] = MappingProxyType(
    _DEFINITION
    | _VERSION
    | _FIELDS
    | _VALUES
    | {f"{keyword}Narrowed": _STRICTER for keyword in (*BOUNDS, *CLAUSES)}
    | {f"{keyword}Widened": _LOOSER for keyword in (*BOUNDS, *CLAUSES)}
    | {f"{keyword}Changed": f"Whether the new clauses accept all former values is not decided. {_STRICTER}" for keyword in CLAUSES}
)
"""The texts by the name of the rule."""
