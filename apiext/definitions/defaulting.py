"""What an omitted field of a CustomResourceDefinition means (apiextensions-apiserver pkg/apis/apiextensions/v1/defaults.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.definitions import types

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object

_WEBHOOK_PORT: Final = 443


def set_defaults(crd: Object) -> None:
    """Fill in a canonical definition, in place."""
    spec, status = crd["spec"], crd["status"]
    names = spec["names"]
    if not names.get("singular") and names["kind"]:
        names["singular"] = names["kind"].lower()
    if not names.get("listKind") and names["kind"]:
        names["listKind"] = names["kind"] + "List"
    spec["names"] = types.NAMES.order(names)
    conversion = spec.get("conversion")
    if conversion is None:
        spec["conversion"] = {"strategy": "None"}
        crd["spec"] = types.SPEC.order(spec)
    else:
        _conversion(conversion)
    if not status["storedVersions"]:
        stored = [version["name"] for version in spec["versions"] or () if version["storage"]]
        if stored:
            status["storedVersions"] = stored[:1]


def _conversion(conversion: Object) -> None:
    webhook = conversion.get("webhook")
    if webhook is None:
        return
    client = webhook.get("clientConfig")
    if client is None and webhook["conversionReviewVersions"] is None:
        # What is stored has no place for a webhook without anything in it.
        del conversion["webhook"]
    elif client is not None and "service" in client:
        client["service"].setdefault("port", _WEBHOOK_PORT)
        client["service"] = types.SERVICE.order(client["service"])
