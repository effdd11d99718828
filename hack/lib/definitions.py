"""CustomResourceDefinitions of the benchmark, the soak and the tests."""

from typing import Any, Final

from apiext.meta.host_annotations import SERVE_LABEL, SERVE_VALUE

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


def date_back(crd: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the JSON patch of a definition's status that dates back its condition Established.

    kube-apiserver delays creates in the two seconds after that time.
    """
    index = next(index for index, one in enumerate(crd["status"]["conditions"]) if one["type"] == "Established")
    place = f"/status/conditions/{index}"
    return [
        {"op": "test", "path": f"{place}/type", "value": "Established"},
        {"op": "replace", "path": f"{place}/lastTransitionTime", "value": _LONG_AGO},
    ]
