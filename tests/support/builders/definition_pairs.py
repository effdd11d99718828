"""Pairs of definitions, the objects that exist under the first one, and what the second one does to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from apiext.tools.judgement.outcome import FindingKind as K
from tests.support.builders.crds import crd, version

Json = dict[str, Any]

INTEGER: Final[Json] = {"type": "integer"}
STRING: Final[Json] = {"type": "string"}
ANY: Final[Json] = {"x-kubernetes-preserve-unknown-fields": True}
STATUS: Final[Json] = {"subresources": {"status": {}}}
KEYED: Final[Json] = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


def struct(*rules: str, **properties: Json) -> Json:
    """Return the schema of an object with rules."""
    found: Json = {"type": "object", "properties": properties}
    return found | {"x-kubernetes-validations": [{"rule": rule} for rule in rules]} if rules else found


def several(items: Json, **more: Any) -> Json:
    """Return the schema of a list."""
    return {"type": "array", "items": items, "maxItems": 20} | more


def mapping(items: Json) -> Json:
    """Return the schema of a map."""
    return {"type": "object", "additionalProperties": items}


def root(*rules: str, status: Json | None = None, **spec: Json) -> Json:
    """Return the schema of a whole object, with rules at its root."""
    return struct(*rules, spec=struct(**spec), status=status or struct(phase=STRING, count=INTEGER))


def v1(schema: Json, **more: Any) -> Json:
    """Return the version v1, which is stored."""
    return version("v1", storage=True, schema=schema, **more)


@dataclass(frozen=True, slots=True)
class AppliedObject:
    """An object that managers apply in turn."""

    specs: tuple[Json, ...]
    """The spec that each manager applies."""
    version: str = "v1"
    status: Json | None = None
    metadata: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DefinitionPair:
    """A change of a definition."""

    name: str
    old: tuple[Json, ...]
    """The versions."""
    new: tuple[Json, ...]
    objects: tuple[AppliedObject, ...]
    found: frozenset[tuple[K, str, str]] = frozenset()
    """Kind, version and path of all findings."""

    def crd(self, versions: tuple[Json, ...], plural: str = "widgets") -> Json:
        """Return a definition with one of the lists of versions."""
        return crd(plural, *versions, group="pairs.example.com", kind="Widget", conversion={"strategy": "None"})


def _pair(name: str, old: Json, new: Json, *specs: Json, found: set[tuple[K, str, str]], status: Json | None = None) -> DefinitionPair:
    objects = tuple(AppliedObject((spec,), status=status) for spec in specs)
    return DefinitionPair(name, (old,), (new,), objects, frozenset(found))


_HOST: Final = v1(root(host=STRING, size=INTEGER))
_ITEM: Final = struct(name=STRING, size=INTEGER) | {"required": ["name"]}
_BAD_ITEM: Final = struct(name=STRING, size=INTEGER | {"maximum": 5}) | {"required": ["name"]}
_LABELS: Final = {"a": "x", "b": "y"}


def _ports(protocol: Json, *required: str) -> Json:
    """Return a version with a list of ports, whose second key may have a default."""
    items = struct(port=INTEGER, protocol=STRING | protocol, name=STRING) | {"required": ["port", *required]}
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]}
    return v1(root(ports=several(items, **keys)))


def _modes(**default: str) -> Json:
    """Return a version with lists that have one owner, whose items have fields with defaults."""
    mode, deep = STRING | default, struct(mode=STRING | default, size=INTEGER) | {"default": {}}
    return v1(root(list=several(struct(name=STRING, mode=mode, deep=deep))))


PAIRS: Final = (
    _pair("nothing changes", _HOST, _HOST, {"host": "a", "size": 1}, found=set()),
    _pair(
        "a field is removed",
        _HOST,
        v1(root(size=INTEGER)),
        {"host": "a", "size": 1},
        {"size": 2},
        found={(K.PRUNED, "v1", "spec.host"), (K.APPLIER, "v1", "")},
    ),
    _pair(
        "a field of items is removed",
        v1(root(list=several(_ITEM))),
        v1(root(list=several(struct(name=STRING)))),
        {"list": [{"name": "a", "size": 1}, {"name": "b"}]},
        found={(K.PRUNED, "v1", "spec.list[].size"), (K.APPLIER, "v1", "")},
    ),
    _pair(
        "a default appears",
        _HOST,
        v1(root(host=STRING, size=INTEGER, mode=STRING | {"default": "x"})),
        {"size": 1},
        found={(K.DEFAULTED, "v1", "spec.mode")},
    ),
    _pair(
        "a default changes",
        v1(root(mode=STRING | {"default": "x"}, size=INTEGER)),
        v1(root(mode=STRING | {"default": "y"}, size=INTEGER)),
        {"size": 1},
        {"mode": "x"},
        found=set(),
    ),
    _pair(
        "the default of a key changes",
        _ports({"default": "TCP"}),
        _ports({"default": "UDP"}),
        {"ports": [{"port": 80, "name": "a"}]},
        {"ports": [{"port": 80, "protocol": "TCP"}]},
        {"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}]},
        found={(K.UNAPPLIED, "v1", "spec.ports[].protocol"), (K.APPLIER, "v1", "")},
    ),
    _pair(
        "a key loses its default",
        _ports({"default": "TCP"}),
        _ports({}, "protocol"),
        {"ports": [{"port": 80}]},
        {"ports": [{"port": 80, "protocol": "TCP"}]},
        found={(K.APPLIER, "v1", "spec.ports[].protocol"), (K.UNAPPLIED, "v1", "spec.ports[].protocol")},
    ),
    _pair(
        "the defaults within a list of one owner change",
        _modes(default="x"),
        _modes(default="y"),
        {"list": [{"name": "a"}]},
        {"list": [{"name": "a", "mode": "z", "deep": {"size": 1}}]},
        found={(K.UNAPPLIED, "v1", "spec.list[].mode"), (K.UNAPPLIED, "v1", "spec.list[].deep.mode")},
    ),
    _pair(
        "a maximum falls",
        v1(root(size=INTEGER)),
        v1(root(size=INTEGER | {"maximum": 5})),
        {"size": 9},
        {"size": 1},
        found={(K.TOLERATED, "v1", "spec.size")},
    ),
    _pair(
        "a field becomes required",
        _HOST,
        v1(struct(spec=struct(host=STRING, size=INTEGER) | {"required": ["host"]})),
        {"size": 9},
        found={(K.TOLERATED, "v1", "spec.host")},
    ),
    _pair(
        "the root requires the spec",
        v1(root(host=STRING)),
        v1(root(host=STRING) | {"required": ["spec", "status"]}),
        {"host": "a"},
        found={(K.STUCK, "v1", "status")},
    ),
    _pair(
        "a type changes",
        v1(root(size=STRING)),
        v1(root(size=INTEGER)),
        {"size": "9"},
        found={(K.TOLERATED, "v1", "spec.size"), (K.APPLIER, "v1", "")},
    ),
    _pair(
        "properties become a map",
        v1(root(values=struct(a=STRING, b=INTEGER, c=STRING))),
        v1(root(values=mapping(STRING | {"enum": ["1"]}))),
        {"values": {"a": "1", "b": 2}},
        {"values": {"a": "1", "c": "2"}},
        {"values": {"a": "1"}},
        found={(K.TOLERATED, "v1", "spec.values[]"), (K.APPLIER, "v1", "")},
    ),
    _pair(
        "unknown fields become values of a map",
        v1(root(values={"type": "object"} | ANY)),
        v1(root(values=mapping(STRING))),
        {"values": {"a": 1}},
        {"values": {"a": "1", "b": None}},
        found={(kind, "v1", "spec.values[]") for kind in (K.TOLERATED, K.APPLIER, K.PRUNED)} | {(K.APPLIER, "v1", "")},
    ),
    _pair(
        "an unknown field of an item is named",
        v1(root(list=several(struct(name=STRING)) | ANY)),
        v1(root(list=several(struct(name=STRING, size=INTEGER)) | ANY)),
        {"list": [{"name": "a", "size": "9"}]},
        found={(K.TOLERATED, "v1", "spec.list[].size"), (K.APPLIER, "v1", "")},
    ),
    _pair(
        "an enum and a pattern become narrower",
        v1(root(mode=STRING, host=STRING)),
        v1(root(mode=STRING | {"enum": ["a"]}, host=STRING | {"pattern": "^x", "maxLength": 2})),
        {"mode": "b", "host": "abc"},
        found={(K.TOLERATED, "v1", "spec.mode"), (K.TOLERATED, "v1", "spec.host")},
    ),
    _pair(
        "a rule of the spec is added",
        _HOST,
        v1(struct(spec=struct("self.size < 5", host=STRING, size=INTEGER))),
        {"host": "a", "size": 9},
        {"host": "a", "size": 1},
        found={(K.TOLERATED, "v1", "spec")},
    ),
    _pair(
        "a rule of the root is added",
        _HOST,
        v1(root("self.spec.size < 5", host=STRING, size=INTEGER)),
        {"size": 9},
        {"size": 1},
        found={(K.STUCK, "v1", "")},
    ),
    _pair(
        "a rule that no update satisfies is added",
        _HOST,
        v1(root(size=INTEGER | {"x-kubernetes-validations": [{"rule": "self > oldSelf"}]}, host=STRING)),
        {"size": 9},
        found={(K.STUCK, "v1", "spec.size")},
    ),
    _pair(
        "a rule wants the old value",
        _HOST,
        v1(
            root(
                size=INTEGER | {"x-kubernetes-validations": [{"rule": "oldSelf.hasValue() || self < 5", "optionalOldSelf": True}]},
                host=STRING,
            )
        ),
        {"size": 9},
        found={(K.TOLERATED, "v1", "spec.size")},
    ),
    _pair(
        "items become invalid",
        v1(root(atomic=several(_ITEM), keyed=several(_ITEM, **KEYED), map=mapping(INTEGER))),
        v1(root(atomic=several(_BAD_ITEM), keyed=several(_BAD_ITEM, **KEYED), map=mapping(INTEGER | {"maximum": 5}))),
        {"atomic": [{"name": "a", "size": 9}], "keyed": [{"name": "a", "size": 9}, {"name": "b"}], "map": {"k": 9, "l": 1}},
        found={(K.TOLERATED, "v1", path) for path in ("spec.atomic[].size", "spec.keyed[].size", "spec.map[]")},
    ),
    _pair(
        "a list becomes a set",
        v1(root(list=several(STRING))),
        v1(root(list=several(STRING, **{"x-kubernetes-list-type": "set"}))),
        {"list": ["a", "a", "b"]},
        {"list": ["a", "b"]},
        found={(K.TOLERATED, "v1", "spec.list[]"), (K.APPLIER, "v1", "")},
    ),
    _pair(
        "a field becomes a resource",
        v1(root(template={"type": "object"} | ANY)),
        v1(root(template={"type": "object", "x-kubernetes-embedded-resource": True} | ANY)),
        {"template": {"a": 1}},
        {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}},
        found={(K.STUCK, "v1", "spec.template.apiVersion"), (K.STUCK, "v1", "spec.template.kind")},
    ),
    _pair(
        "unknown fields are no longer preserved",
        v1(root(any={"type": "object"} | ANY)),
        v1(root(any=struct(a=INTEGER))),
        {"any": {"a": 1, "b": {"c": 2}}},
        found={(K.PRUNED, "v1", "spec.any.b"), (K.APPLIER, "v1", "")},
    ),
    _pair(
        "a value is no longer nullable",
        v1(root(size=INTEGER | {"nullable": True}, mode=STRING | {"nullable": True})),
        v1(root(size=INTEGER, mode=STRING | {"default": "x"})),
        {"size": None, "mode": None},
        found={(K.PRUNED, "v1", "spec.size"), (K.CHANGED, "v1", "spec.mode"), (K.APPLIER, "v1", "spec.size")},
    ),
    _pair(
        "a map becomes a struct",
        v1(root(labels=mapping(STRING))),
        v1(root(labels=struct(a=STRING))),
        {"labels": _LABELS},
        found={(K.PRUNED, "v1", "spec.labels.b"), (K.APPLIER, "v1", "")},
    ),
    _pair(
        "the status becomes invalid",
        v1(root(host=STRING), **STATUS),
        v1(root(host=STRING, status=struct(phase=STRING | {"enum": ["Ready"]}, count=INTEGER)), **STATUS),
        {"host": "a"},
        found={(K.TOLERATED, "v1", "status.phase")},
        status={"phase": "Odd", "count": 1},
    ),
    _pair(
        "a rule of the status is added",
        v1(root(host=STRING), **STATUS),
        v1(root(host=STRING, status=struct("self.count < 3", phase=STRING, count=INTEGER)), **STATUS),
        {"host": "a"},
        found={(K.TOLERATED, "v1", "status")},
        status={"count": 3},
    ),
    _pair(
        "a list of the status becomes a set",
        v1(root(host=STRING, status=struct(list=several(STRING))), **STATUS),
        v1(root(host=STRING, status=struct(list=several(STRING, **{"x-kubernetes-list-type": "set"}))), **STATUS),
        {"host": "a"},
        found={(K.TOLERATED, "v1", "status.list[]")},
        status={"list": ["a", "a"]},
    ),
    _pair(
        "a rule of the root compares spec and status",
        v1(root(size=INTEGER), **STATUS),
        v1(root("!has(self.status) || !has(self.status.count) || self.status.count < self.spec.size", size=INTEGER), **STATUS),
        {"size": 1},
        found={(K.STUCK, "v1", ""), (K.STUCK_STATUS, "v1", "")},
        status={"count": 3},
    ),
    _pair(
        "the status becomes a subresource",
        v1(root(host=STRING)),
        v1(root(host=STRING), **STATUS),
        {"host": "a"},
        found=set(),
    ),
    _pair(
        "the scale subresource finds a negative number",
        v1(root(size=INTEGER)),
        v1(root(size=INTEGER), subresources={"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.count"}}),
        {"size": -1},
        {"size": 1},
        found={(K.STUCK, "v1", ".spec.size")},
    ),
    DefinitionPair(
        "a version without a field is added",
        (_HOST,),
        (_HOST, version("v2", schema=root(size=INTEGER))),
        (AppliedObject(({"host": "a", "size": 1},)), AppliedObject(({"size": 1},))),
        frozenset({(K.LOST, "v2", "spec.host")}),
    ),
    DefinitionPair(
        "the storage moves to a version without a field",
        (_HOST, version("v2", schema=root(size=INTEGER))),
        (version("v1", schema=root(host=STRING, size=INTEGER)), version("v2", storage=True, schema=root(size=INTEGER))),
        (AppliedObject(({"host": "a", "size": 1},)),),
        frozenset({(K.LOST, "v1", "spec.host"), (K.LOST, "v2", "spec.host")}),
    ),
    DefinitionPair(
        "a version with another default is added",
        (_HOST,),
        (_HOST, version("v2", schema=root(host=STRING | {"default": "z"}, size=INTEGER))),
        (AppliedObject(({"size": 1},)),),
        frozenset({(K.GAINED, "v2", "spec.host")}),
    ),
    DefinitionPair(
        "the stored version is dropped",
        (_HOST, version("v2", schema=root(host=STRING))),
        (version("v2", storage=True, schema=root(host=STRING)),),
        (AppliedObject(({"host": "a"},)),),
        frozenset({(K.UNREADABLE, "v2", "")}),
    ),
    DefinitionPair(
        "a version is no longer served",
        (_HOST, version("v2", schema=root(host=STRING, size=INTEGER))),
        (_HOST | {"served": False}, version("v2", schema=root(host=STRING, size=INTEGER))),
        (AppliedObject(({"host": "a"},)), AppliedObject(({"host": "b"},), version="v2")),
        frozenset({(K.APPLIER, "v1", "")}),
    ),
    DefinitionPair(
        "a version of managers is dropped",
        (_HOST, version("v1beta1", schema=root(host=STRING, size=INTEGER))),
        (_HOST,),
        (AppliedObject(({"host": "a"},), version="v1beta1"), AppliedObject(({"host": "b"},))),
        frozenset({(K.MANAGER, "v1beta1", "")}),
    ),
    DefinitionPair(
        "a map of two managers becomes atomic",
        (v1(root(labels=mapping(STRING))),),
        (v1(root(labels=mapping(STRING) | {"x-kubernetes-map-type": "atomic"})),),
        (AppliedObject(({"labels": {"a": "x"}}, {"labels": {"b": "y"}})),),
        frozenset({(K.CONFLICT, "v1", "spec.labels")}),
    ),
    DefinitionPair(
        "a list becomes a map of items",
        (v1(root(list=several(_ITEM))),),
        (v1(root(list=several(_ITEM, **KEYED))),),
        (AppliedObject(({"list": [{"name": "a", "size": 1}]},)), AppliedObject(({"list": [{"name": "a"}, {"name": "a", "size": 1}]},))),
        frozenset({(K.TOLERATED, "v1", "spec.list[]"), (K.APPLIER, "v1", "")}),
    ),
)
