"""The OpenAPI v3 definitions of the reference without descriptions."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from apiext.api.openapi.builtin_definitions import references
from hack.lib.builtin_kinds.go_types import GoTypes
from hack.lib.servers.caller import Caller

_KINDS: Final = "x-kubernetes-group-version-kind"


def read_schemas(client: Caller, kinds: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """Return the definitions of kinds and of their lists, given as group, version and kind, with those that they refer to."""
    wanted = {(group, version, f"{kind}{tail}") for group, version, kind in kinds for tail in ("", "List")}
    definitions: dict[str, Any] = {}
    for group, version in sorted({(group, version) for group, version, _ in wanted}):
        document = client.must("GET", f"/openapi/v3/apis/{group}/{version}" if group else f"/openapi/v3/api/{version}")
        definitions |= document["components"]["schemas"]
    queue = [name for name, schema in definitions.items() if wanted & {_key(kind) for kind in schema.get(_KINDS, ())}]
    found: dict[str, Any] = {}
    while queue:
        name = queue.pop()
        if name not in found:
            found[name] = without_descriptions(definitions[name])
            queue += references(found[name])
    return found


def _key(kind: dict[str, str]) -> tuple[str, str, str]:
    return kind["group"], kind["version"], kind["kind"]


def without_descriptions(value: Any) -> Any:
    """Return a schema without descriptions. A property may have that name: it is an object."""
    if isinstance(value, dict):
        return {key: without_descriptions(one) for key, one in value.items() if key != "description" or not isinstance(one, str)}
    return [without_descriptions(one) for one in value] if isinstance(value, list) else value


def declared_defaults(schemas: Mapping[str, Any], types: GoTypes) -> dict[str, dict[str, Any]]:
    """Return the defaults of fields by struct. Those that only state the zero value of a Go type are left out."""
    found: dict[str, dict[str, Any]] = {}
    for name, schema in schemas.items():
        struct = _struct_name(name)
        pointers = {entry.split()[1].partition(",")[0] for entry in types.structs.get(struct, ()) if entry.split()[2].startswith("*")}
        defaults = {field: member["default"] for field, member in schema.get("properties", {}).items() if "default" in member}
        kept = {field: default for field, default in defaults.items() if default or (field in pointers and default != {})}
        if kept and struct in types.structs:
            found[struct] = kept
    return found


def _struct_name(definition: str) -> str:
    """Return the name of the struct of a definition, such as core/v1.Pod for io.k8s.api.core.v1.Pod."""
    package, _, name = definition.removeprefix("io.k8s.api.").rpartition(".")
    return f"{package.replace('.', '/')}.{name}"
