"""Tests that OpenAPI of real definitions equals the reference's except for the descriptions of built-in types."""

from typing import Any, Final

import pytest

from hack.lib.real_crds import NO_REAL, REAL
from hack.lib.waiting import until
from tests.integration.published.conftest import Reference
from tests.support.clients.published import READ_ONLY, Published, with_shared_parameters, without_texts

_GVK: Final = "x-kubernetes-group-version-kind"
_EVERYWHERE: Final = frozenset(f"io.k8s.apimachinery.pkg.apis.meta.v1.{kind}" for kind in ("DeleteOptions", "WatchEvent"))

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not REAL.is_dir(), reason=NO_REAL)]


@pytest.fixture(scope="module")
def published(reference: Reference) -> Published:
    """Return what apiext publishes for the definitions of the reference."""
    return Published(reference.definitions)


@pytest.fixture(scope="module")
def reference_v2(reference: Reference, published: Published) -> dict[str, Any]:
    """Return the v2 document of the reference after it has all definitions."""
    wanted = set(published.v2()["definitions"])
    document: dict[str, Any] = {}

    def is_there() -> bool:
        document.clear()
        document.update(reference.get("/openapi/v2"))
        return wanted <= set(document["definitions"])

    until(is_there, "the documents", patience=90)
    return document


def test_v3(reference: Reference, published: Published) -> None:
    """Return equal paths and schemas for each group and version; DeleteOptions of the reference lists more groups."""
    for path, ours in published.v3.items():
        theirs = reference.get(f"/openapi/v3/{path}")

        assert _comparable(ours) == _comparable(theirs), path


def test_v3_descriptions(reference: Reference, published: Published) -> None:
    """Publish the descriptions of fields word for word."""
    for path, ours in published.v3.items():
        theirs = reference.get(f"/openapi/v3/{path}")["components"]["schemas"]

        for name, schema in ours["components"]["schemas"].items():
            for field in ("spec", "status"):
                if not name.startswith("io.k8s.ap") and field in schema.get("properties", {}):
                    assert _own_texts(schema["properties"][field]) == _own_texts(theirs[name]["properties"][field])


def test_builtin_types(reference: Reference, published: Published) -> None:
    """Publish the reference's fields of built-in types."""
    for path, ours in published.builtin_v3.items():
        schemas = without_texts(ours["components"]["schemas"])
        theirs = without_texts(reference.get(f"/openapi/v3/{path}")["components"]["schemas"])

        for name, schema in schemas.items():
            assert _unnamed(name, schema) == _unnamed(name, theirs[name]), name


def test_v2_definitions(published: Published, reference_v2: dict[str, Any]) -> None:
    """Return equal definitions in v2."""
    for name, schema in without_texts(published.v2()["definitions"]).items():
        theirs = without_texts(reference_v2["definitions"][name])

        assert _unnamed(name, schema) == _unnamed(name, theirs), name


def test_v2_paths(published: Published, reference_v2: dict[str, Any]) -> None:
    """Return equal paths of custom resources in v2."""
    ours = published.v2()
    other = ("/apis/apiextensions.k8s.io/", f"/apis/{READ_ONLY}/v1/")
    paths = [path for path in ours["paths"] if path.startswith("/apis/") and not path.startswith(other)]

    assert without_texts(with_shared_parameters(ours, paths)) == without_texts(with_shared_parameters(reference_v2, paths))


def _comparable(document: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = without_texts(document)
    schemas = plain["components"]["schemas"]
    plain["components"]["schemas"] = {name: _unnamed(name, schema) for name, schema in schemas.items()}
    return plain


def _unnamed(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without its group-version-kinds if the reference has the schema in all of its groups."""
    return {key: member for key, member in schema.items() if key != _GVK or name not in _EVERYWHERE}


def _own_texts(schema: Any) -> Any:
    """Return a schema without apiext's own descriptions of embedded objects."""
    if isinstance(schema, dict) and schema.get("x-kubernetes-embedded-resource"):
        return "embedded"
    if isinstance(schema, dict):
        return {key: _own_texts(member) for key, member in schema.items()}
    return schema
