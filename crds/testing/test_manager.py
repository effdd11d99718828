"""A manager of controller-runtime, from the creation of a Website over a release to its rollback."""

import os
import subprocess
from contextlib import contextmanager

import pytest

from apiext.testkit import eventually


@pytest.mark.crds("crds/testing/websites/1")
def test_release_and_rollback(advance, dynamic_client, namespace, kubeconfig, conversion_webhook):
    @contextmanager
    def manager(version):
        webhook = [f"--webhook-port={conversion_webhook.port}", f"--webhook-cert-dir={conversion_webhook.cert_dir}"]
        with subprocess.Popen([os.environ["MANAGER"], f"--kubeconfig={kubeconfig}", f"--version={version}", *webhook]) as process:
            try:
                yield
            finally:
                process.terminate()

    def create(version, name, **spec):
        kind = {"apiVersion": f"web.example.com/{version}", "kind": "Website"}
        sites = dynamic_client.resources.get(api_version=kind["apiVersion"], kind="Website")
        sites.create(namespace=namespace, body=kind | {"metadata": {"name": name}, "spec": spec})
        eventually(lambda: sites.get(name=name, namespace=namespace).status.hosts)
        return dynamic_client.resources.get(api_version="v1", kind="ConfigMap").get(name=name, namespace=namespace).data.hosts

    with manager("v1alpha1"):
        assert create("v1alpha1", "one", host="a.example") == "a.example"
        # safe in the order of its steps: first the webhook, which runs already
        assert advance("crds/testing/websites/2").verdict == "steps"
    with manager("v1"):
        assert create("v1", "two", hosts=["b.example", "c.example"]) == "b.example,c.example"
        assert advance("crds/testing/websites/2", migrate=True).stored_versions["websites.web.example.com"] == ["v1"]
    with manager("v1alpha1"):
        assert advance("crds/testing/websites/1").stored_objects["websites.web.example.com"] == {"v1alpha1": 2}
        assert create("v1alpha1", "three", host="d.example") == "d.example"
