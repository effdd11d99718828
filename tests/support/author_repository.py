"""The repository of an author of CRDs, with the layout of kubebuilder, and the programs that its jobs find."""

import os
import shutil
import sys
from pathlib import Path
from typing import Final

from hack.lib.environments import ROOT
from tests.support.git import git

CRD: Final = "config/crd/bases/net.example.com_routes.yaml"
_PATCH: Final = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: routes.net.example.com
  annotations: {cert-manager.io/inject-ca-from: system/serving-cert}
"""
_SUITE: Final = """\
apiVersion: lab.apiext.dev/v1alpha1
kind: Suite
crdName: routes.net.example.com
crds: [../crd/bases]
tests:
  onCreate:
    - name: a route needs a host
      initial: |
        apiVersion: net.example.com/v1alpha1
        kind: Route
        spec: {}
      expectedError: "spec.host: Required value"
"""


def author_repository(folder: Path) -> Path:
    """Make a repository with a CRD, samples, suites and what kustomize needs, and a branch `change`; return its work tree.

    Its remote `origin` has the branch `main`.
    """
    tree = folder / "tree"
    for path, text in {
        CRD: (ROOT / "crds/releases/1/routes.yaml").read_text(),
        "config/crd/kustomization.yaml": "resources: [bases/net.example.com_routes.yaml]\npatches: [{path: patches/cainjection.yaml}]\n",
        "config/crd/kustomizeconfig.yaml": "nameReference: []\n",
        "config/crd/patches/cainjection.yaml": _PATCH,
        "config/samples/kustomization.yaml": "resources: [routes.yaml]\n",
        "config/samples/routes.yaml": (ROOT / "crds/releases/objects/routes.yaml").read_text(),
        "config/suites/routes.testsuite.yaml": _SUITE,
    }.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "Routes")
    git(folder, "clone", "-q", "--bare", str(tree), "origin.git")
    git(tree, "remote", "add", "origin", str(folder / "origin.git"))
    git(tree, "switch", "-qc", "change")
    return tree


def change(tree: Path, old: str, new: str) -> None:
    """Replace a text of the CRD in the work tree."""
    text = (tree / CRD).read_text()
    assert old in text
    (tree / CRD).write_text(text.replace(old, new))


def apiext_program(folder: Path) -> Path:
    """Write the command `apiext` of the checkout into a folder, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    program(folder / "apiext", f'PYTHONPATH={ROOT} exec {sys.executable} -m apiext "$@"')
    return folder


def program(path: Path, script: str) -> None:
    """Write a program of the shell."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def with_path(*folders: Path) -> dict[str, str]:
    """Return an environment with folders before those of the PATH, and an author of commits."""
    people = {f"GIT_{who}_{what}": text for who in ("AUTHOR", "COMMITTER") for what, text in (("NAME", "t"), ("EMAIL", "t@example.com"))}
    return {"PATH": os.pathsep.join([*map(str, folders), os.environ.get("PATH", os.defpath)]), **people}


def has(*programs: str) -> bool:
    """Return whether programs are installed."""
    return all(map(shutil.which, programs))
