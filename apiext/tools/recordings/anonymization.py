"""Anonymization: pseudonyms for the names in objects and definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.encoding import json_codec
from apiext.tools.recordings.object_walk import member_schema, parse_text, rewrite, rewrite_fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.recordings.object_walk import Schema
    from apiext.tools.recordings.pseudonyms import Pseudonyms

_GVK: Final = CUSTOM_RESOURCE_DEFINITIONS.kind
_TYPES: Final = frozenset({"apiVersion", "kind", "apiGroup", "group", "version", "fieldsType"})
"""Members that name types, whatever an object is called."""
_SERVICE: Final = ("namespace", "name")
_MANAGERS: Final = ("kubectl", "kube-", "helm", "apiext", "before-first-apply")
"""Beginnings of managers that every cluster has."""


class Anonymizer:
    """Replaces names, namespaces, values of labels and managers in the objects of a definition.

    A text elsewhere in an object that is or contains such a name is replaced in the same way, unless its place is an enumeration.
    Must have seen all objects by `collect` before.
    """

    def __init__(self, definition: Definition, pseudonyms: Pseudonyms) -> None:
        self._group = definition.group
        self._kind = definition.names.kind
        self._pseudonyms = pseudonyms
        self._schemas = {version.name: dict(version.schema or {}) for version in definition.versions}
        service = _client(definition.head).get("service") or {}
        pseudonyms.add(str(service[name]) for name in _SERVICE if name in service)

    def collect(self, key: str, obj: Object) -> None:
        """Add the names of an object to the pseudonyms."""
        self._pseudonyms.add([*key.split("/"), *_names(obj)])

    def key(self, key: str) -> str:
        """Return the key with pseudonyms."""
        return "/".join(map(self._pseudonyms.of, key.split("/")))

    def anonymize(self, obj: Object) -> Object:
        """Return an object without its names. The object must not be nested deeper than MAX_DEPTH."""
        if obj.get("kind") == _GVK.kind and obj.get("apiVersion") == _GVK.api_version:
            return self.definition(obj)
        group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
        schema = self._schemas.get(version, {}) if group == self._group and obj.get("kind") == self._kind else {}
        new: Object = {}
        for name, value in obj.items():
            if name == "metadata" and isinstance(value, dict):
                new[name] = self._metadata(value, schema)
            else:
                new[name] = rewrite(value, name in _TYPES, member_schema(schema, name), self)
        return new

    def definition(self, crd: Object) -> Object:
        """Return a definition without the names in its metadata, and without the place of its webhook."""
        metadata = crd["metadata"]
        new, client = crd | {"metadata": self._metadata(metadata, {}) | {"name": metadata["name"]}}, _client(crd)
        if client:
            found, service = dict(client), client.get("service")
            if service:
                found["service"] = service | {name: self._pseudonyms.of(service[name]) for name in _SERVICE if name in service}
            if client.get("url"):
                found["url"] = self._pseudonyms.in_text(client["url"])
            conversion = crd["spec"]["conversion"]
            new["spec"] = crd["spec"] | {"conversion": conversion | {"webhook": conversion["webhook"] | {"clientConfig": found}}}
        return new

    def _metadata(self, metadata: Object, schema: Schema) -> Object:
        new, of = dict(metadata), self._pseudonyms.of
        for name in ("name", "namespace"):
            if isinstance(metadata.get(name), str):
                new[name] = of(metadata[name])
        if isinstance(metadata.get("generateName"), str):
            new["generateName"] = of(metadata["generateName"]) + "-"
        if isinstance(metadata.get("labels"), dict):
            new["labels"] = {key: of(value) if isinstance(value, str) else value for key, value in metadata["labels"].items()}
        if isinstance(metadata.get("annotations"), dict):
            new["annotations"] = {key: self._annotation(value) for key, value in metadata["annotations"].items()}
        if isinstance(metadata.get("ownerReferences"), list):
            new["ownerReferences"] = [
                one | {"name": of(str(one.get("name", "")))} if isinstance(one, dict) else one for one in metadata["ownerReferences"]
            ]
        if isinstance(metadata.get("managedFields"), list):
            new["managedFields"] = [self._entry(entry, schema) for entry in metadata["managedFields"]]
        new.pop("selfLink", None)
        return new

    def _annotation(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value.lstrip()[:1] == "{":
            try:
                parsed = parse_text(value)
            except ValueError:
                return self._pseudonyms.in_text(value)
            return json_codec.dumps(self.anonymize(parsed), sort_keys=False).decode() + "\n" * value.endswith("\n")
        return self._pseudonyms.in_text(value)

    def _entry(self, entry: Any, schema: Schema) -> Any:
        if not isinstance(entry, dict):
            return entry
        new, manager, fields = dict(entry), entry.get("manager"), entry.get("fieldsV1")
        if isinstance(manager, str) and not manager.startswith(_MANAGERS):
            new["manager"] = self._pseudonyms.of(manager)
        if isinstance(fields, dict):
            new["fieldsV1"] = rewrite_fields(fields, False, schema, self)  # noqa: FBT003
        return new

    # --- the rewriter; a spot says whether the value names a type ---------------------------------------------------------

    def member(self, spot: bool, name: str, owner: Object) -> bool:  # noqa: FBT001
        """Implement Rewriter.member."""
        return name in _TYPES

    def item(self, spot: bool) -> bool:  # noqa: FBT001
        """Implement Rewriter.item."""
        return spot

    def leaf(self, value: Any, spot: bool, schema: Schema) -> Any:  # noqa: FBT001
        """Implement Rewriter.leaf."""
        if type(value) is not str or spot or schema.get("enum"):
            return value
        return self._pseudonyms.in_text(value)


def _client(crd: Object) -> Object:
    """Return the clientConfig of a definition's webhook, {} without one."""
    webhook = (crd["spec"].get("conversion") or {}).get("webhook") or {}
    client: Object = webhook.get("clientConfig") or {}
    return client


def _names(obj: Object) -> Iterator[str]:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return
    labels, owners = metadata.get("labels"), metadata.get("ownerReferences")
    found: list[Any] = [metadata.get("name"), metadata.get("namespace"), metadata.get("generateName")]
    found += labels.values() if isinstance(labels, dict) else ()
    found += [owner.get("name") for owner in owners if isinstance(owner, dict)] if isinstance(owners, list) else []
    yield from (name for name in found if isinstance(name, str))
