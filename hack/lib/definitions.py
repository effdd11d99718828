"""The CustomResourceDefinitions of the benchmark and of the soak."""

from typing import Any

from apiext.meta.host_annotations import SERVE_LABEL, SERVE_VALUE


def definition(group: str, plural: str, kind: str, version: dict[str, Any]) -> dict[str, Any]:
    """Return a namespaced definition with one version, labelled so that apiext serves it behind a cluster."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "labels": {SERVE_LABEL: SERVE_VALUE}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [version],
        },
    }
