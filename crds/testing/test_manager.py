"""A manager of controller-runtime, from the creation of a Website over a release to its rollback."""

import os
import subprocess
from contextlib import contextmanager

import pytest

from apiext.testkit.eventually import eventually

WEBSITES = "websites.web.example.com"


@contextmanager
def manager(kubeconfig, *flags):
    with subprocess.Popen([os.environ["MANAGER"], f"--kubeconfig={kubeconfig}", *flags]) as process:
        yield
        process.terminate()


@pytest.mark.crds("crds/testing/websites/1")
def test_release_and_rollback(advance, dynamic_client, namespace, kubeconfig, conversion_webhook):
    def create(version, name, **spec):
        kind = {"apiVersion": f"web.example.com/{version}", "kind": "Website"}
        sites = dynamic_client.resources.get(api_version=kind["apiVersion"], kind="Website")
        sites.create(namespace=namespace, body=kind | {"metadata": {"name": name}, "spec": spec})
        eventually(lambda: sites.get(name=name, namespace=namespace).status.hosts)
        return dynamic_client.resources.get(api_version="v1", kind="ConfigMap").get(name=name, namespace=namespace).data.hosts

    with manager(kubeconfig, "--version=v1alpha1"):
        assert create("v1alpha1", "one", host="a.example.com") == "a.example.com"
    webhook = [f"--webhook-port={conversion_webhook.port}", f"--webhook-cert-dir={conversion_webhook.cert_dir}"]
    with manager(kubeconfig, "--version=v1", *webhook):
        ...
