"""Builds the manifests with kubectl and reads objects in them."""

import os
import subprocess
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


@cache
def built(build: str = "base") -> list[Document]:
    """Return the documents of the base or of an overlay; callers do not modify them."""
    return build_of(MANIFESTS / build)


def build_of(folder: Path) -> list[Document]:
    """Return the documents of a kustomization."""
    command = [str(binaries.binary("kubectl")), "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": os.defpath}, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return list(yaml.safe_load_all(done.stdout))


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
