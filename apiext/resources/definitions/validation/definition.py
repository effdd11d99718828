"""Validation of whole definitions: creation, update, and update of the status."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field
from apiext.base.meta.gvk import GroupResource
from apiext.base.meta.names import dns1035_label, dns1123_subdomain, name_is_dns_subdomain, size
from apiext.base.meta.objectmeta import validation
from apiext.base.meta.objectmeta.validation import IMMUTABLE
from apiext.resources.definitions.conditions import ANNOTATION, Approval, approval, is_protected
from apiext.resources.definitions.v1beta1 import to_v1beta1_spec
from apiext.resources.definitions.validation import go_printing, known_schemas, schemas
from apiext.resources.definitions.validation.client_config import ca_bundle_errors, client_config_errors, review_version_errors
from apiext.resources.definitions.validation.openapi import openapi_errors, root_scope
from apiext.resources.definitions.validation.options import CREATE, MAX_SELECTABLE_FIELDS, ValidationOptions, for_update, has_defaults
from apiext.resources.definitions.validation.schemas import openapi_schema
from apiext.schema.cel.cost.limits import SchemaCosts
from apiext.schema.cel.rules.rule import NO_EXPRESSIONS
from apiext.schema.defaulting.validation import default_errors
from apiext.schema.field_path import FieldPathError, resolve
from apiext.schema.keywords import KEYWORDS
from apiext.schema.model import unsupported_field
from apiext.schema.structural import structural_errors
from apiext.storage.replicas.server_keys import RESERVED, is_reserved

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.schema.model import Props

_SPEC: Final = field.Path("spec")
_STATUS: Final = field.Path("status")


_SCOPES: Final = ("Cluster", "Namespaced")
_EXTENSIONS: Final = tuple(each.name for each in KEYWORDS if each.name.startswith("x-kubernetes-") and each.name != "x-kubernetes-map-type")

_STRATEGIES: Final = ("None", "Webhook")


_ROOT_FIELDS: Final = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems "
    "UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations"
)
"""Go names of the allowed fields at the root of a schema with the status subresource."""
_ALLOWED: Final = frozenset(_ROOT_FIELDS.split())
_IF_STATUS_ENABLED: Final = "if the status subresource is enabled"


_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SCALE_PATHS: Final = {
    "specReplicasPath": ((".spec.",), "should be a json path under .spec"),
    "statusReplicasPath": ((".status.",), "should be a json path under .status"),
    "labelSelectorPath": ((".spec.", ".status."), "should be a json path under either .spec or .status"),
}
_SELECTABLE_TYPES: Final = ("string", "boolean", "integer")
_NOT_SELECTABLE: Final = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)
_MAX_WARNING_BYTES: Final = 256


def column_errors(owner: Object, path: Path) -> list[FieldError]:
    """Return the errors of the printer columns of a spec or a version in v1beta1 form (ValidateCustomResourceColumnDefinition)."""
    columns = owner.get("additionalPrinterColumns") or ()
    columns_path = path.child("additionalPrinterColumns")
    return [error for index, column in enumerate(columns) for error in _column_errors(column, columns_path.index(index))]


def _column_errors(column: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if not column["name"]:
        errors.append(field.required(path.child("name")))
    types = f"must be one of {','.join(_TYPES)}"
    if not column["type"]:
        errors.append(field.required(path.child("type"), types))
    elif column["type"] not in _TYPES:
        errors.append(field.invalid(path.child("type"), column["type"], types))
    if column.get("format") and column["format"] not in _FORMATS:
        errors.append(field.invalid(path.child("format"), column["format"], f"must be one of {','.join(_FORMATS)}"))
    json_path = column["JSONPath"]
    if not json_path:
        errors.append(field.required(path.child("JSONPath")))
    elif not json_path.startswith("."):
        errors.append(_not_simple(json_path, path.child("JSONPath")))
    return errors


def subresource_errors(subresources: Object | None, path: Path) -> list[FieldError]:
    """Return the errors of the scale subresource's paths (ValidateCustomResourceDefinitionSubresources)."""
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors: list[FieldError] = []
    for key, (prefixes, detail) in _SCALE_PATHS.items():
        json_path, key_path = scale.get(key), path.child(f"scale.{key}")
        is_optional = key == "labelSelectorPath"
        if not json_path:
            if not is_optional:
                errors.append(field.required(key_path))
        elif not json_path.startswith("."):
            errors.append(_not_simple(json_path, key_path))
        elif not json_path.startswith(prefixes):
            errors.append(field.invalid(key_path, field.typed_text(json_path) if is_optional else json_path, detail))
    return errors


def _not_simple(json_path: str, path: Path) -> FieldError:
    return field.invalid(path, json_path, "must be a simple json path starting with .")


def selectable_errors(owner: Object, schema: Props | None, path: Path, *, too_many: bool, without_schema: str) -> list[FieldError]:
    """Return the errors of the selectable fields of a spec or a version (ValidateCustomResourceSelectableFields).

    Each path must lead to a scalar, and be unique. `too_many` permits more than MAX_SELECTABLE_FIELDS fields; `without_schema` is the
    message about fields without a schema.
    """
    selectable_fields, list_path = owner.get("selectableFields"), path.child("selectableFields")
    if not selectable_fields:
        return []
    if schema is None:
        return [field.invalid(list_path, "", without_schema)]
    unsupported = unsupported_field(schema)
    if unsupported:
        return [field.invalid(path.child("schema.openAPIV3Schema"), "", unsupported)]
    errors: list[FieldError] = []
    known: set[tuple[str, ...]] = set()
    for index, selectable in enumerate(selectable_fields):
        json_path, field_path = selectable["jsonPath"], list_path.index(index).child("jsonPath")
        if not json_path:
            errors.append(field.required(field_path))
            continue
        try:
            steps, target = resolve(json_path, schema, arrays=False)
        except FieldPathError as error:
            errors.append(field.invalid(field_path, json_path, f"is an invalid path: {error}"))
            continue
        if steps[0] == ".metadata":
            errors.append(field.invalid(field_path, json_path, "must not point to fields in metadata"))
        if target is None or target.get("type") not in _SELECTABLE_TYPES:
            errors.append(field.invalid(field_path, json_path, _NOT_SELECTABLE))
        if steps in known:
            errors.append(field.duplicate(field_path, json_path))
        known.add(steps)
    if len(known) > MAX_SELECTABLE_FIELDS and not too_many:
        errors.append(field.too_many(list_path, len(known), MAX_SELECTABLE_FIELDS))
    return errors


def deprecation_errors(version: Object, path: Path) -> list[FieldError]:
    """Return the errors of a deprecation warning. It must be short and printable, and the version deprecated."""
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    problems = []
    if not version.get("deprecated"):
        problems.append("can only be set for deprecated versions")
    else:
        if size(warning) > _MAX_WARNING_BYTES:
            problems.append(f"must be <= {_MAX_WARNING_BYTES} characters long")
        if not warning:
            problems.append("must not be an empty string")
        unprintable = next((index for index, char in enumerate(warning) if not char.isprintable()), None)
        if unprintable is not None:
            position = size(warning[:unprintable])
            problems.append(f"must only contain printable UTF-8 characters; non-printable character found at index {position}")
    return [field.invalid(path.child("deprecationWarning"), field.typed_text(warning), problem) for problem in problems]


def version_errors(version: Object, path: Path, options: ValidationOptions, *, has_status: bool) -> list[FieldError]:
    """Return the errors of a version in v1beta1 form; `has_status` includes the subresources of the spec."""
    validation = version.get("schema")
    errors = deprecation_errors(version, path)
    errors += validation_errors(validation, path.child("schema"), options, version=version["name"], has_status=has_status)
    errors += subresource_errors(version.get("subresources"), path.child("subresources"))
    errors += column_errors(version, path)
    return errors + selectable_errors(
        version,
        openapi_schema(validation),
        path,
        too_many=version["name"] in options.too_many_selectable,
        without_schema="may only be set when `version.schema.openAPIV3Schema` is not included",
    )


def validation_errors(
    validation: Object | None, path: Path, options: ValidationOptions, *, version: str, has_status: bool
) -> list[FieldError]:
    """Return the errors of a CustomResourceValidation (validateCustomResourceDefinitionValidation)."""
    root, schema_path = openapi_schema(validation), path.child("openAPIV3Schema")
    if root is None:
        return []
    errors = _status_errors(root, path) if has_status else []
    if root.get("nullable"):
        errors.append(field.forbidden(path.child("openAPIV3Schema.nullable"), "nullable cannot be true at the root"))
    is_stored, known_as = version in options.unchanged_versions, known_schemas.digest(root)
    if known_as in known_schemas.VALID or (is_stored and known_as in known_schemas.VALID_IF_STORED):
        return errors
    errors += _schema_errors(root, schema_path, options, version, has_errors=bool(errors))
    # a schema whose defaults lost unknown fields of embedded metadata must lose them again
    if not errors and options.is_strict and known_schemas.digest(root) == known_as:
        if is_stored:
            known_schemas.VALID_IF_STORED.add(known_as)
        elif options.stored_expressions == NO_EXPRESSIONS:
            known_schemas.VALID.add(known_as)
    return errors


def _schema_errors(root: Props, schema_path: Path, options: ValidationOptions, version: str, *, has_errors: bool) -> list[FieldError]:
    """Return the errors of a schema, except those of its root. `has_errors`: whether there are such."""
    errors: list[FieldError] = []
    unsupported = unsupported_field(root) if options.structural else ""
    costs, scope = SchemaCosts(suppressed=version in options.unchanged_versions), None
    if options.structural and not unsupported:
        problems = structural_errors(root, schema_path) or default_errors(root, schema_path, require_pruned=options.pruned_defaults)
        errors += problems
        if not problems:
            scope = root_scope(root, costs, options.stored_expressions)
    errors += openapi_errors(root, schema_path, options, scope)
    if unsupported and not errors and not has_errors:
        # Usually, another error explains why the schema is unsupported.
        errors.append(field.invalid(schema_path, "", unsupported))
    return errors + costs.errors(schema_path)


def _status_errors(root: Props, path: Path) -> list[FieldError]:
    """Return an error for a root field that extracting the status schema would lose."""
    for name, go_name in go_printing.SCHEMA_FIELDS.items():
        # Canonical form omits zero values.
        if name not in root or (name == "items" and root[name] is None):
            continue
        if go_name == "Type":
            if root["type"] != "object":
                detail = f'only "object" is allowed as the type at the root of the schema {_IF_STATUS_ENABLED}'
                return [field.invalid(path.child("openAPIV3Schema.type"), root["type"], detail)]
        elif go_name not in _ALLOWED:
            detail = f"only [{_ROOT_FIELDS}] fields are allowed at the root of the schema {_IF_STATUS_ENABLED}"
            return [field.invalid(path.child("openAPIV3Schema"), go_printing.schema(root), detail)]
    return []


def conversion_errors(conversion: Object, path: Path, options: ValidationOptions) -> list[FieldError]:
    """Return the errors of a CustomResourceConversion in v1beta1 form."""
    errors: list[FieldError] = []
    strategy, client = conversion["strategy"], conversion.get("webhookClientConfig")
    versions: list[str] = conversion.get("conversionReviewVersions") or []
    if not strategy:
        errors.append(field.required(path.child("strategy")))
    elif strategy not in _STRATEGIES:
        errors.append(field.not_supported(path.child("strategy"), strategy, _STRATEGIES))
    if strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        if client is not None:
            errors.append(field.forbidden(path.child("webhookClientConfig"), detail))
        if versions:
            errors.append(field.forbidden(path.child("conversionReviewVersions"), detail))
        return errors
    if client is None:
        errors.append(field.required(path.child("webhookClientConfig"), "required when strategy is set to Webhook"))
    else:
        errors += _client_errors(client, path.child("webhookClientConfig"), options)
    versions_path = path.child("conversionReviewVersions")
    if not versions:
        return [*errors, field.required(versions_path)]
    return errors + review_version_errors(versions, versions_path, recognized=options.recognized_review_version)


def _client_errors(client: Object, path: Path, options: ValidationOptions) -> list[FieldError]:
    errors = client_config_errors(client, path)
    if options.ca_bundle and client.get("caBundle"):
        errors += ca_bundle_errors(client["caBundle"], path.child("caBundle"))
    return errors


def spec_errors(spec: Object, path: Path, options: ValidationOptions) -> list[FieldError]:
    """Return the errors of a spec (validateCustomResourceDefinitionSpec)."""
    errors = _group_and_scope(spec, path)
    preserve = spec["preserveUnknownFields"]
    errors += _missing_schemas(spec, path, options)
    defaults = preserve and has_defaults(spec)
    if defaults:
        detail = "must be false in order to use defaults in the schema"
        errors.append(field.invalid(path.child("preserveUnknownFields"), True, detail))  # noqa: FBT003
    if not preserve or defaults or schemas.any_schema(spec, _has_extensions):
        options = replace(options, structural=True)
    errors += _versions(spec, path, options)
    errors += missing_names(spec["names"], path.child("names"))
    errors += names_errors(spec["names"], path.child("names"))
    has_status = any(map(_has_status, (spec, *spec.get("versions", ()))))
    version = spec.get("version", "")
    errors += validation_errors(spec.get("validation"), path.child("validation"), options, version=version, has_status=has_status)
    errors += subresource_errors(spec.get("subresources"), path.child("subresources"))
    errors += column_errors(spec, path)
    errors += selectable_errors(
        spec,
        schemas.openapi_schema(spec.get("validation")),
        path,
        too_many="" in options.too_many_selectable,
        without_schema="may only be set when validations.schema is included",
    )
    return errors + _conversion(spec, path, options)


def spec_update_errors(spec: Object, old: Object, path: Path, options: ValidationOptions) -> list[FieldError]:
    """Return the errors of an updated spec, including changes of immutable fields."""
    errors = spec_errors(spec, path, options)
    names, old_names = spec["names"], old["names"]
    changes = []
    if options.immutable_names:
        changes = [
            (path.child("scope"), field.typed_text(spec["scope"]), field.typed_text(old["scope"])),
            (path.child("names", "kind"), names["kind"], old_names["kind"]),
        ]
    changes += [
        (path.child("group"), spec["group"], old["group"]),
        (path.child("names", "plural"), names["plural"], old_names["plural"]),
    ]
    return errors + [field.invalid(changed_path, new, IMMUTABLE) for changed_path, new, previous in changes if new != previous]


def _group_and_scope(spec: Object, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    group, scope = spec["group"], spec["scope"]
    if not group:
        errors.append(field.required(path.child("group")))
    elif problems := dns1123_subdomain(group):
        errors.append(field.invalid(path.child("group"), group, ",".join(problems)))
    elif "." not in group:
        errors.append(field.invalid(path.child("group"), group, "should be a domain with at least one dot"))
    if not scope:
        errors.append(field.required(path.child("scope")))
    elif scope not in _SCOPES:
        errors.append(field.not_supported(path.child("scope"), scope, _SCOPES))
    return errors


def reserved_errors(spec: Object, path: Path) -> list[FieldError]:
    """Return the error of a new definition whose instances would lie among the servers' own records."""
    plural = spec["names"]["plural"]
    return [field.invalid(path.child("names", "plural"), plural, RESERVED)] if is_reserved(GroupResource(spec["group"], plural)) else []


def _missing_schemas(spec: Object, path: Path, options: ValidationOptions) -> list[FieldError]:
    if schemas.openapi_schema(spec.get("validation")) is not None:
        return []
    required_everywhere = options.schemas_everywhere
    if not required_everywhere and spec["preserveUnknownFields"]:
        return []
    return [
        field.required(
            path.child("versions").index(index).child("schema", "openAPIV3Schema"),
            "" if required_everywhere else "because otherwise all fields are pruned",
        )
        for index, version in enumerate(spec.get("versions", ()))
        if (required_everywhere or version["served"]) and schemas.openapi_schema(version.get("schema")) is None
    ]


def _has_extensions(node: Props) -> bool:
    return any(node.get(name) not in (None, []) for name in _EXTENSIONS)


def _has_status(owner: Object) -> bool:
    return (owner.get("subresources") or {}).get("status") is not None


def _versions(spec: Object, path: Path, options: ValidationOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    versions, versions_path = spec.get("versions", []), path.child("versions")
    # If two versions have one name, the first determines the subresources.
    first = {version["name"]: version for version in reversed(versions)}
    for index, version in enumerate(versions):
        name = version["name"]
        if problems := dns1035_label(name):
            errors.append(field.invalid(versions_path.index(index).child("name"), name, ",".join(problems)))
        has_status = _has_status(spec if "subresources" in spec else first[name])
        errors += version_errors(version, versions_path.index(index), options, has_status=has_status)
    if len({version["name"] for version in versions}) != len(versions):
        errors.append(field.invalid(versions_path, go_printing.versions(spec.get("versions")), "must contain unique version names"))
    if sum(version["storage"] for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        errors.append(field.invalid(versions_path, go_printing.versions(spec.get("versions")), detail))
    name = spec.get("version", "")
    if name and (problems := dns1035_label(name)):
        errors.append(field.invalid(path.child("version"), name, ",".join(problems)))
    return errors


def _conversion(spec: Object, path: Path, options: ValidationOptions) -> list[FieldError]:
    conversion, conversion_path = spec["conversion"], path.child("conversion")
    errors: list[FieldError] = []
    if conversion["strategy"] != "None" and spec["preserveUnknownFields"]:
        detail = "must be None if spec.preserveUnknownFields is true"
        errors.append(field.invalid(conversion_path.child("strategy"), field.typed_text(conversion["strategy"]), detail))
    return errors + conversion_errors(conversion, conversion_path, options)


def names_errors(names: Object, path: Path) -> list[FieldError]:
    """Return the errors of given names: DNS labels, kinds in any case (ValidateCustomResourceDefinitionNames)."""
    errors: list[FieldError] = []
    for key in ("plural", "singular"):
        name = names.get(key)
        if name and (problems := dns1035_label(name)):
            errors.append(field.invalid(path.child(key), name, ",".join(problems)))
    for key in ("kind", "listKind"):
        name = names.get(key)
        if name and (problems := dns1035_label(name.lower())):
            detail = "may have mixed case, but should otherwise match: " + ",".join(problems)
            errors.append(field.invalid(path.child(key), name, detail))
    errors += _name_list_errors(names, "shortNames", path)
    if names["kind"] and names["kind"] == names.get("listKind"):
        errors.append(field.invalid(path.child("listKind"), names["listKind"], "kind and listKind may not be the same"))
    return errors + _name_list_errors(names, "categories", path)


def missing_names(names: Object, path: Path) -> list[FieldError]:
    """Return an error for each missing name that the spec requires. The status does not require names."""
    return [field.required(path.child(key)) for key in ("plural", "singular", "kind", "listKind") if not names.get(key)]


def _name_list_errors(names: Object, key: str, path: Path) -> list[FieldError]:
    return [
        field.invalid(path.child(key).index(index), name, ",".join(problems))
        for index, name in enumerate(names.get(key) or ())
        if (problems := dns1035_label(name))
    ]


def validate_create(crd: Object) -> list[FieldError]:
    """Return the errors of a new definition in canonical form, including its metadata."""
    required_name = f"{crd['spec']['names']['plural']}.{crd['spec']['group']}"

    def name_rule(name: str, prefix: bool) -> list[str]:  # noqa: FBT001
        problems = name_is_dns_subdomain(name, prefix)
        return problems if name == required_name else [*problems, 'must be spec.names.plural+"."+spec.group']

    errors = field.distinct(validation.validate(crd["metadata"], namespaced=False, name_rule=name_rule))
    errors += spec_errors(to_v1beta1_spec(crd["spec"]), _SPEC, CREATE)
    errors += reserved_errors(crd["spec"], _SPEC)
    return errors + _common_errors(crd, None)


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """Return the errors of an updated definition; both states are in canonical form."""
    errors = field.distinct(validation.validate_update(new["metadata"], old["metadata"]))
    spec, old_spec = to_v1beta1_spec(new["spec"]), to_v1beta1_spec(old["spec"])
    errors += spec_update_errors(spec, old_spec, _SPEC, for_update(spec, old_spec, old))
    return errors + _common_errors(new, old)


def validate_status_update(new: Object, old: Object) -> list[FieldError]:
    """Return the errors of an update of the status."""
    errors = field.distinct(validation.validate_update(new["metadata"], old["metadata"]))
    return errors + names_errors(new["status"]["acceptedNames"], _STATUS.child("acceptedNames"))


def _common_errors(crd: Object, old: Object | None) -> list[FieldError]:
    errors = names_errors(crd["status"]["acceptedNames"], _STATUS.child("acceptedNames"))
    errors += _stored_versions(crd)
    errors += _approval(crd, old)
    if crd["spec"].get("preserveUnknownFields") and not (old and old["spec"].get("preserveUnknownFields")):
        detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(field.invalid(_SPEC.child("preserveUnknownFields"), True, detail))  # noqa: FBT003
    return errors


def _stored_versions(crd: Object) -> list[FieldError]:
    """Return the errors of status.storedVersions: each must be in the spec (ValidateCustomResourceDefinitionStoredVersions)."""
    path, stored = _STATUS.child("storedVersions"), crd["status"]["storedVersions"]
    if not stored:
        return [field.invalid(path, stored, "must have at least one stored version")]
    errors = []
    remaining = {name: index for index, name in enumerate(stored)}
    for version in crd["spec"]["versions"] or ():
        is_stored = remaining.pop(version["name"], None) is not None
        if version["storage"] and not is_stored:
            errors.append(field.invalid(path, stored, f"must have the storage version {version['name']}"))
    for name, index in remaining.items():
        detail = (
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        )
        errors.append(field.invalid(path.index(index), name, detail))
    return errors


def _approval(crd: Object, old: Object | None) -> list[FieldError]:
    """Return the errors of the approval annotation of a definition in a community group. Accept an unchanged state."""
    if not is_protected(crd["spec"]["group"]):
        return []
    state, message = approval(crd)
    if state in (Approval.APPROVED, Approval.BYPASSED) or (old is not None and approval(old)[0] is state):
        return []
    path = field.Path("metadata", "annotations").key(ANNOTATION)
    if state is Approval.MISSING:
        return [field.required(path, message)]
    return [field.invalid(path, crd["metadata"]["annotations"][ANNOTATION], message)]
