"""Builds the manifests with kubectl and reads objects in them."""

import json
import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from hack.lib.reference import binaries

MANIFESTS: Final = Path(__file__).resolve().parents[2] / "manifests"
BUILDS: Final = ("base", *sorted(f"overlays/{path.name}" for path in (MANIFESTS / "overlays").iterdir()))
CONVERSION_BUILDS: Final = tuple(f"conversion/{path.name}" for path in sorted((MANIFESTS / "conversion").iterdir()))
"""The builds of the conversion webhook, which needs no other build."""
NAMESPACE: Final = "apiext-system"

Document = dict[str, Any]


class KustomizeError(Exception):
    """kubectl does not build a kustomization; the message is its reason."""


@cache
def built(build: str = "base") -> list[Document]:
    """Return the documents of the base or of an overlay; callers do not modify them."""
    return build_of(MANIFESTS / build)


def build_of(folder: Path) -> list[Document]:
    """Return the documents of a kustomization.

    Raises:
        KustomizeError: it cannot be built, or kubectl warns of it.
    """
    return list(yaml.load_all(text_of(folder), yaml.CSafeLoader))


def text_of(folder: Path) -> str:
    """Return what kubectl prints for a kustomization.

    Raises:
        KustomizeError: it cannot be built, or kubectl warns of it.
    """
    command = [str(binaries.binary("kubectl")), "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": os.defpath}, check=False)
    if done.returncode or done.stderr:
        raise KustomizeError(done.stderr)
    return done.stdout


def build_with(components: Sequence[str], folder: Path, **more: Any) -> list[Document]:
    """Return the documents of the base with components, in their order, from a kustomization that is written into a folder.

    `more` has further fields of the kustomization.

    Raises:
        KustomizeError: it cannot be built, or kubectl warns of it.
    """
    write_kustomization(components, folder, **more)
    return build_of(folder)


def write_kustomization(components: Sequence[str], folder: Path, **more: Any) -> None:
    """Write a kustomization of the base with components into a folder. `more` has further fields."""
    base, *parts = (os.path.relpath(MANIFESTS / part, folder) for part in ("base", *(f"components/{name}" for name in components)))
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": [base], "components": parts}
    (folder / "kustomization.yaml").write_text(json.dumps(kustomization | more))


def in_no_order(documents: list[Document]) -> str:
    """Return documents as text that is the same for any order of flags, volumes, and items of other lists."""

    def ordered(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: ordered(part) for name, part in sorted(value.items())}
        return sorted(map(ordered, value), key=json.dumps) if isinstance(value, list) else value

    return json.dumps(ordered(documents), indent=1)


def one(documents: list[Document], kind: str, name: str, namespace: str = NAMESPACE) -> Document:
    """Return a document by kind and name; a cluster-scoped one has an empty namespace."""
    (found,) = [
        document
        for document in documents
        if (document["kind"], document["metadata"]["name"], document["metadata"].get("namespace", "")) == (kind, name, namespace)
    ]
    return found


def pod_template(document: Document) -> Document:
    """Return the template of the pods of a workload, an empty one for other kinds."""
    spec = document.get("spec", {})
    template: Document = spec.get("jobTemplate", {}).get("spec", spec).get("template", {})
    return template


def containers(document: Document) -> list[Document]:
    """Return the containers of the pods of a workload, none for other kinds."""
    spec = pod_template(document).get("spec", {})
    return [*spec.get("initContainers", ()), *spec.get("containers", ())]


def arguments(container: Document) -> list[str]:
    """Return the arguments of a container with the values of environment variables in place; a value from a Secret is `of-NAME`."""
    texts = []
    for argument in container["args"]:
        text = argument
        for variable in container.get("env", ()):
            text = text.replace(f"$({variable['name']})", variable.get("value", f"of-{variable['name']}"))
        texts.append(text)
    return texts


def rules(documents: list[Document], account: str) -> list[tuple[str, Document]]:
    """Return the rules of a service account of the namespace, each with its scope: a namespace, or empty for the cluster."""
    found = []
    for binding in documents:
        if binding["kind"] not in {"ClusterRoleBinding", "RoleBinding"} or binding["subjects"][0]["name"] != account:
            continue
        place = binding["metadata"].get("namespace", "")
        name, kind = binding["roleRef"]["name"], binding["roleRef"]["kind"]
        roles = [role for role in documents if (role["kind"], role["metadata"]["name"]) == (kind, name)]
        found += [(place, rule) for role in roles if role["metadata"].get("namespace", "") in {"", place} for rule in role.get("rules", ())]
    return found
