"""spec.conversion as the webhook writes it."""

from typing import Any

import pytest

from apiext.operator.conversionserver.webhook_target import WebhookTarget, changed_conversion
from tests.unit.operator.conversionserver.parts import NOBODY, TARGET, Json, ca_bundle, crd, webhook_conversion

SERVICE = {"namespace": "apiext-system", "name": "apiext-conversions", "path": "/convert", "port": 443}
OURS = webhook_conversion({"service": SERVICE, "caBundle": ca_bundle("new")})
OLD = webhook_conversion({"service": SERVICE, "caBundle": ca_bundle("old")})
OTHERS = webhook_conversion({"url": "https://other/", "caBundle": ca_bundle("theirs")})
SET = webhook_conversion({"url": None, "service": SERVICE, "caBundle": ca_bundle("new")})
BUNDLE_ONLY = {"webhook": {"clientConfig": {"caBundle": ca_bundle("new")}}}
NOTHING = {"strategy": "None"}

CASES: dict[str, tuple[str | None, Json, bool, Json | None]] = {
    "set in place of another": ("webhook", OTHERS, True, SET),
    "set": ("webhook", NOTHING, True, SET),
    "not before the rules can be used": ("webhook", NOTHING, False, None),
    "not restored while the rules cannot be used": ("webhook", OTHERS, False, None),
    "as it should be": ("webhook", OURS, True, None),
    "stays when the rules become invalid": ("webhook", OURS, False, None),
    "review versions": ("webhook", webhook_conversion({"service": SERVICE, "caBundle": ca_bundle("new")}, versions=("v1",)), True, SET),
    "new authority": ("webhook", OLD, True, BUNDLE_ONLY),
    "new authority with invalid rules": ("webhook", OLD, False, BUNDLE_ONLY),
    "new authority without a wish": (None, OLD, True, BUNDLE_ONLY),
    "no wish": (None, NOTHING, True, None),
    "no wish and another": (None, OTHERS, True, None),
    "unknown wish": ("maybe", NOTHING, True, None),
    "given back": ("none", OLD, True, {"strategy": "None", "webhook": None}),
    "another's is not given back": ("none", OTHERS, True, None),
    "nothing to give back": ("none", NOTHING, True, None),
}


@pytest.mark.parametrize("wish, present, usable, patch", CASES.values(), ids=CASES)
def test_changes_what_differs(wish: str | None, present: Json, usable: bool, patch: Json | None) -> None:  # noqa: FBT001 -- a parameter
    """Return the patch that makes spec.conversion what the CRD asks for."""
    assert changed_conversion(crd(wish, conversion=present), TARGET, "new", usable=usable) == patch


def test_leaves_the_ca_bundle_to_others() -> None:
    """Write no caBundle without one, and keep the one that is there."""
    written = changed_conversion(crd("webhook"), TARGET, "", usable=True)

    assert written == webhook_conversion({"url": None, "service": SERVICE})
    assert changed_conversion(crd("webhook", conversion=OLD), TARGET, "", usable=True) is None


def test_a_url_replaces_the_service() -> None:
    """Write the URL and remove the Service; the certificate is for the URL's host."""
    target = WebhookTarget(service=NOBODY, url="https://hooks.example.com:9443/convert")
    written: Any = changed_conversion(crd("webhook", conversion=OURS), target, "new", usable=True)

    assert written["webhook"]["clientConfig"] == {"service": None, "url": target.url, "caBundle": ca_bundle("new")}
    assert (target.hosts(), str(target)) == (["hooks.example.com"], target.url)
    assert not target.is_called_by(OURS)


def test_names_of_the_service() -> None:
    """Have the names of the Service in the certificate, the one that kube-apiserver uses first."""
    assert TARGET.hosts()[0] == "apiext-conversions.apiext-system.svc"
    assert str(TARGET) == "Service apiext-system/apiext-conversions, port 443"
