"""CustomResourceDefinitions of the benchmark, the soak and the tests."""

from collections.abc import Callable
from typing import Any, Final

from apiext.base.meta.host_annotations import SERVE_LABEL, SERVE_VALUE
from hack.lib.waiting import until

_LONG_AGO: Final = "2020-01-01T00:00:00Z"


def definition(group: str, plural: str, kind: str, *versions: dict[str, Any]) -> dict[str, Any]:
    """Return a namespaced definition with its versions, labelled so that apiext serves it behind a cluster."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "labels": {SERVE_LABEL: SERVE_VALUE}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": list(versions),
        },
    }


def is_established(crd: dict[str, Any]) -> bool:
    """Return whether the definition's condition Established is true."""
    conditions = crd.get("status", {}).get("conditions") or []
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def date_back(read: Callable[[], dict[str, Any]]) -> list[dict[str, Any]]:
    """Wait until a definition is established; return the JSON patch of its status that dates back this condition.

    kube-apiserver serves a definition a moment earlier, as soon as its names are accepted, and delays creates
    in the two seconds after it.

    Args:
        read: Returns the definition from the server.

    Raises:
        AssertionError: the definition is not established in time.
    """
    until(lambda: is_established(read()), "the definition's condition Established")
    crd = read()
    index = next(index for index, one in enumerate(crd["status"]["conditions"]) if one["type"] == "Established")
    place = f"/status/conditions/{index}"
    return [
        {"op": "test", "path": f"{place}/type", "value": "Established"},
        {"op": "replace", "path": f"{place}/lastTransitionTime", "value": _LONG_AGO},
    ]
