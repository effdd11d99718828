"""Definitions as suites install them."""

import base64
from pathlib import Path
from typing import Any

import pytest

from apiext.tools.suites.installed_definition import DefinitionError, as_sent, patched_spec, single_version, with_webhook
from apiext.tools.suites.model import SuiteError
from tests.support.builders.crds import crd, version

TWO: dict[str, Any] = crd(versions=[version("v1", storage=True), version("v2") | {"served": False}])


def test_one_version_alone() -> None:
    """A definition gets the version of the suite alone, served and stored."""
    (only,) = single_version(TWO, "v2")["spec"]["versions"]

    assert (only["name"], only["served"], only["storage"]) == ("v2", True, True)
    assert single_version(crd(versions=[version("v1", storage=True)]), "")["spec"]["versions"][0]["name"] == "v1"


@pytest.mark.parametrize("name,message", [("", "too many versions"), ("v3", "could not find CRD version matching version v3")])
def test_versions_that_are_not_clear(name: str, message: str) -> None:
    """Several versions need a name, which must exist."""
    with pytest.raises(SuiteError, match=message):
        single_version(TWO, name)


def test_patches() -> None:
    """A JSON patch of the manifest makes another spec; one that does not apply is an error."""
    assert patched_spec(TWO, [{"op": "replace", "path": "/spec/scope", "value": "Cluster"}])["scope"] == "Cluster"
    assert TWO["spec"]["scope"] == "Namespaced"
    with pytest.raises(DefinitionError, match="could not apply patch"):
        patched_spec(TWO, [{"op": "remove", "path": "/spec/none"}])


def test_webhook_of_a_suite(tmp_path: Path) -> None:
    """The webhook of the suite replaces that of a definition with strategy Webhook, and nothing else."""
    webhook = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {}}}}
    (tmp_path / "ca").write_bytes(b"ca")
    given = {"webhookURL": "https://h/c", "caFile": str(tmp_path / "ca")}

    found = with_webhook(crd(conversion=webhook), given)["spec"]["conversion"]["webhook"]

    assert found["clientConfig"] == {"url": "https://h/c", "caBundle": base64.b64encode(b"ca").decode()}
    assert with_webhook(TWO, given) == TWO
    with pytest.raises(SuiteError, match="No such file"):
        with_webhook(crd(conversion=webhook), given | {"caFile": str(tmp_path / "none")})


def test_manifests_are_sent_without_status() -> None:
    """What servers set is left out."""
    sent = as_sent(TWO | {"metadata": {"name": "a", "annotations": {"b": "c"}, "creationTimestamp": None}, "status": {}})

    assert sent["metadata"] == {"name": "a", "annotations": {"b": "c"}}
    assert "status" not in sent
