"""Which cluster the flags and the environment name."""

import json
from pathlib import Path

import pytest

from apiext.tools.releases.cluster_connection import ClusterAccess, resource_path
from apiext.tools.releases.interface import SourceError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty home folder and no kubeconfig of the environment."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def _kubeconfig(path: Path, *contexts: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    clusters = [{"name": name, "cluster": {"server": f"https://{name}"}} for name in contexts]
    entries = [{"name": name, "context": {"cluster": name}} for name in contexts]
    path.write_text(json.dumps({"kind": "Config", "clusters": clusters, "contexts": entries, "current-context": contexts[0]}))
    return path


def test_resolves_as_kubectl(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefer the flag to the files of KUBECONFIG, and these to the one in the home folder; a context may be in any file."""
    _kubeconfig(home / ".kube" / "config", "home")
    first, second = _kubeconfig(home / "first", "one"), _kubeconfig(home / "second", "two")
    assert ClusterAccess().connect().origin == "cluster home"
    monkeypatch.setenv("KUBECONFIG", f"{home}/missing:{first}:{second}")

    assert ClusterAccess().connect().origin == "cluster one"
    assert ClusterAccess(context="two").connect().origin == "cluster two"
    assert ClusterAccess(kubeconfig=str(second)).connect().origin == "cluster two"


def test_names_what_is_missing(home: Path) -> None:
    """Say which file or context does not exist."""
    with pytest.raises(SourceError, match=r"no cluster: .*/\.kube/config: No such file"):
        ClusterAccess().connect()
    _kubeconfig(home / ".kube" / "config", "home")
    with pytest.raises(SourceError, match="contexts has no 'x'"):
        ClusterAccess(context="x").connect()


def test_paths_are_quoted() -> None:
    """Return the path of a resource."""
    assert resource_path("example.com", "v1", "widgets") == "/apis/example.com/v1/widgets"
