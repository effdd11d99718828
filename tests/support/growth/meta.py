"""Inputs of rules and patches for all kinds."""

import contextlib
from typing import Any, Final

from multidict import CIMultiDict

from apiext.api.authentication.request_header import RequestHeaders, extra_fields
from apiext.api.endpoints.handlers.strategic_merge import OBJECT_META_KEYS, strategic_merge
from apiext.base.meta import errors, names, quantity, time
from apiext.base.meta.encoding.json_values import identity
from apiext.base.meta.gvk import GroupKind
from apiext.base.meta.objectmeta import validation
from apiext.base.meta.patch import json_patch, merge_patch
from tests.support.growth.measure import Case

_KIND: Final = GroupKind("example.com", "Widget")
_PROXY: Final = RequestHeaders(("X-Remote-User",), ("X-Remote-Uid",), ("X-Remote-Group",), ("X-Remote-Extra-",))


def _owners(count: int) -> list[dict[str, Any]]:
    return [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": str(index), "controller": True} for index in range(count)]


def _owned(count: int) -> dict[str, Any]:
    return {"ownerReferences": _owners(count)}


def _metadata(name: str, member: Any, *, start: int = 64) -> Case:
    def run(metadata: dict[str, Any]) -> None:
        errors.invalid(_KIND, "a", validation.validate(metadata, namespaced=False, name_rule=names.name_is_dns_subdomain))

    return Case(f"metadata {name}", lambda n: {"name": "a", **member(n)}, run, start)


def _read(parse: Any) -> Any:
    def run(text: str) -> None:
        with contextlib.suppress(ValueError):
            parse(text)

    return run


def _strategic(document: Any, patch: Any) -> Any:
    return lambda n: (document(n), patch(n))


def _merge(pair: tuple[Any, Any]) -> Any:
    return strategic_merge(pair[0], pair[1], OBJECT_META_KEYS, "metadata")


CASES: Final = (
    _metadata("name", lambda n: {"name": "a." * n + "!"}),
    _metadata("labels", lambda n: {"labels": {f"!{index}": "!" for index in range(n)}}),
    _metadata("annotations", lambda n: {"annotations": {f"!{index}": "!" for index in range(n)}}),
    _metadata("finalizers", lambda n: {"finalizers": [f"!{index}" for index in range(n)]}),
    _metadata("owners", lambda n: {"ownerReferences": _owners(n)}),
    _metadata("managers", lambda n: {"managedFields": [{"manager": "\0", "fieldsType": str(index)} for index in range(n)]}),
    _metadata("manager", lambda n: {"managedFields": [{"manager": "\0" * n}]}, start=1 << 13),
    Case("quantity", lambda n: "1" * n + "!", _read(quantity.parse)),
    Case("time", lambda n: "2026-01-01T00:00:00." + "0" * n + "!", _read(time.canonical)),
    Case("Go duration", lambda n: "1h" * n + "!", _read(time.parse_duration)),
    Case("keys of values", lambda n: [[{"a": [index]}] for index in range(n)], lambda value: {identity(value)}),
    Case("merge patch", lambda n: {str(index): {"a": None} for index in range(n)}, lambda patch: merge_patch({"0": {}}, patch)),
    Case(
        "JSON patch",
        lambda n: [{"op": "add", "path": "/a/-", "value": index} for index in range(n)],
        lambda operations: json_patch({"a": []}, operations),
    ),
    Case(
        "strategic merge of owners",
        _strategic(lambda n: {"ownerReferences": _owners(n)}, lambda n: {"ownerReferences": _owners(n)}),
        _merge,
    ),
    Case(
        "strategic deletion of owners",
        _strategic(
            lambda n: {"ownerReferences": _owners(n)}, lambda n: {"ownerReferences": [one | {"$patch": "delete"} for one in _owners(n)]}
        ),
        _merge,
    ),
    Case(
        "strategic merge of finalizers",
        _strategic(lambda n: {"finalizers": list(map(str, range(n)))}, lambda n: {"finalizers": list(map(str, range(n, 2 * n)))}),
        _merge,
    ),
    Case(
        "strategic deletion of finalizers",
        _strategic(
            lambda n: {"finalizers": list(map(str, range(n)))},
            lambda n: {"$deleteFromPrimitiveList/finalizers": list(map(str, range(n, 2 * n))), "$retainKeys": list(map(str, range(n)))},
        ),
        _merge,
    ),
    Case("groups of a front proxy", lambda n: CIMultiDict([("X-Remote-User", "a"), *[("X-Remote-Group", "g")] * n]), _PROXY.user),
    Case("names of extra fields", lambda n: {"X-Remote-User": "a"} | {f"X-Remote-Extra-{i}": "a" for i in range(n)}, _PROXY.user),
    Case("extra headers", lambda n: {"X-Remote-Extra-" + "%41" * n: "a"}, lambda headers: extra_fields(headers, ("x-remote-extra-",))),
)
