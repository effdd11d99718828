"""Tests of apiext.tools.testkit.kubeconfig_environment."""

import os
from pathlib import Path

import pytest
from kubernetes import config
from kubernetes.config import kube_config

from apiext.tools.testkit.kubeconfig_environment import kubeconfig_environment


@pytest.mark.parametrize("before", [None, "/other/config"])
def test_sets_and_restores(monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    """Point the variable and a client that is imported to the file, then back."""
    if before is None:
        monkeypatch.delenv("KUBECONFIG", raising=False)
    else:
        monkeypatch.setenv("KUBECONFIG", before)
    with kubeconfig_environment(Path("/test/config")):
        assert os.environ["KUBECONFIG"] == "/test/config"
        assert {kube_config.KUBE_CONFIG_DEFAULT_LOCATION, config.KUBE_CONFIG_DEFAULT_LOCATION} == {"/test/config"}

    assert os.environ.get("KUBECONFIG") == before
    assert (before or "~/.kube/config") == kube_config.KUBE_CONFIG_DEFAULT_LOCATION
