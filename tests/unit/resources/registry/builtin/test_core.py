"""Strategies and defaults of ConfigMaps and Secrets."""

from typing import Any

import pytest

from apiext.resources.registry.builtin.core import CONFIG_MAP_KIND, MAX_BYTES, SECRET_KIND
from apiext.resources.registry.builtin.kind import BuiltinKind
from apiext.resources.registry.request_context import RequestContext

CONTEXT = RequestContext()


def _decoded(kind: BuiltinKind, **members: Any) -> dict[str, Any]:
    obj = {"metadata": {"name": "a", "namespace": "n"}} | members
    kind.codec().decode_body(obj, False)
    return obj


def test_moves_plain_texts() -> None:
    """Merge stringData into data, in the order of keys; the default type is Opaque."""
    secret = _decoded(SECRET_KIND, data={"b": "Yg==", "a": "YQ=="}, stringData={"a": "x", "c": ""})

    assert secret == {"metadata": {"name": "a", "namespace": "n"}, "data": {"a": "eA==", "b": "Yg==", "c": ""}, "type": "Opaque"}
    assert list(secret["data"]) == ["a", "b", "c"]
    assert SECRET_KIND.codec().fields(secret) == {"metadata.name": "a", "metadata.namespace": "n", "type": "Opaque"}


@pytest.mark.parametrize(
    "secret_type, texts, fields",
    [
        ("example.com/own", {}, []),
        ("kubernetes.io/service-account-token", {}, ["metadata.annotations[kubernetes.io/service-account.name]"]),
        ("kubernetes.io/basic-auth", {}, ["data[username]", "data[password]"]),
        ("kubernetes.io/basic-auth", {"password": ""}, []),
        ("kubernetes.io/ssh-auth", {"ssh-privatekey": ""}, ["data[ssh-privatekey]"]),
        ("kubernetes.io/tls", {"tls.key": ""}, ["data[tls.crt]"]),
        ("kubernetes.io/dockercfg", {}, ["data[.dockercfg]"]),
        ("kubernetes.io/dockercfg", {".dockercfg": "null"}, []),
        ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "[]"}, ["data[.dockerconfigjson]"]),
        ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "{"}, ["data[.dockerconfigjson]"]),
    ],
)
def test_types_need_keys(secret_type: str, texts: dict[str, str], fields: list[str]) -> None:
    """Require the keys of a type."""
    secret = _decoded(SECRET_KIND, type=secret_type, stringData=texts)

    assert [error.field for error in SECRET_KIND.strategy.validate(CONTEXT, secret)] == fields


@pytest.mark.parametrize("more, fields", [("", []), ("é", ["[]"])])
def test_limits_the_size(more: str, fields: list[str]) -> None:
    """Limit the bytes of all entries of a ConfigMap; the error names the whole object as the reference does."""
    config = _decoded(CONFIG_MAP_KIND, data={"a": "x" * (MAX_BYTES - 1), "b": more}, binaryData={"c": "eA=="})

    assert [error.field for error in CONFIG_MAP_KIND.strategy.validate(CONTEXT, config)] == fields


def test_rejects_a_key_in_both_maps() -> None:
    """Reject a key of data that binaryData has too."""
    config = _decoded(CONFIG_MAP_KIND, data={"a": "x"}, binaryData={"a": "eA=="})

    (error,) = CONFIG_MAP_KIND.strategy.validate(CONTEXT, config)
    assert str(error) == 'data[a]: Invalid value: "a": duplicate of key present in binaryData'


def test_immutable_objects() -> None:
    """Reject changes of entries, and that the object becomes mutable; accept changes of metadata."""
    old = _decoded(CONFIG_MAP_KIND, data={"a": "x"}, immutable=True)
    strategy = CONFIG_MAP_KIND.strategy
    other = _decoded(CONFIG_MAP_KIND, data={"a": "y"}, binaryData={"b": ""})

    assert [error.field for error in strategy.validate_update(CONTEXT, other, old, [])] == ["immutable", "data", "binaryData"]
    assert strategy.validate_update(CONTEXT, old, old, []) == []


def test_the_type_is_immutable() -> None:
    """Reject another type."""
    (error,) = SECRET_KIND.strategy.validate_update(CONTEXT, _decoded(SECRET_KIND, type="a/b"), _decoded(SECRET_KIND), [])

    assert str(error) == 'type: Invalid value: "a/b": field is immutable'


def test_fills_missing_bytes() -> None:
    """Store null as empty bytes."""
    secret = _decoded(SECRET_KIND, data={"a": None})
    SECRET_KIND.strategy.canonicalize(secret)

    assert secret["data"] == {"a": ""}
