"""What a plan must know of conversion webhooks: when one has to be deployed first, and which accidents it may cause."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from apiext.tools.plan import stages

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

_INJECTED: Final = "cert-manager.io/inject-ca-from"
"""Begin of the annotations with which cert-manager sets the caBundle."""


def target_of(spec: Object) -> str:
    """Return the webhook in words: "Service NAMESPACE/NAME" or its URL; "" without one."""
    client = _client(spec)
    service = client.get("service")
    if service:
        return f"Service {service.get('namespace', '')}/{service.get('name', '')}"
    return str(client.get("url", ""))


def check_of(spec: Object) -> str:
    """Return a shell command that succeeds when the webhook is up: its Service has a ready endpoint, or its URL answers."""
    client = _client(spec)
    service = client.get("service")
    if not service:
        return f"curl --silent --insecure --output /dev/null {shlex.quote(str(client.get('url', '')))}"
    namespace, name = shlex.quote(service.get("namespace", "")), shlex.quote(service.get("name", ""))
    ready = "{.items[*].endpoints[?(@.conditions.ready==true)].addresses[0]}"
    return f"test -n \"$(kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name={name} -o jsonpath='{ready}')\""


def deployment_reason(old: Object | None, new: Object) -> str:
    """Return why the webhook of a spec must be deployed before the spec; "" if the webhook of the old one does."""
    if not stages.has_webhook(new):
        return ""
    if old is None or len({*stages.names_of(old), *stages.names_of(new)}) == 1:
        # the first objects are written after the definition, and a single version needs no conversion: nothing depends on the order
        return ""
    if not stages.has_webhook(old):
        return "without it, requests that need a conversion fail from the moment of the update"
    if target_of(old) != target_of(new):
        return f"the definition has used {target_of(old)} so far"
    added = [name for name in stages.names_of(new) if name not in stages.names_of(old)]
    return f"the deployed one may not know {', '.join(added)}" if added else ""


def cautions(old: Object | None, new: Object, annotations: Object, stored: list[str]) -> list[str]:
    """Return the accidents that a new webhook may cause. `stored` are the versions in which objects are stored when it is first called."""
    if not stages.has_webhook(new):
        return []
    found, client, target = [], _client(new), target_of(new)
    is_known = old is not None and stages.has_webhook(old) and target_of(old) == target
    others = [name for name in stored if name != stages.storage_of(new)]
    if "service" in client and others and not is_known:
        found.append(
            f"if {target} runs in the operator that watches these objects, both may wait for each other: the operator's first list at "
            f"{stages.storage_of(new)} needs the webhook for objects stored in {', '.join(others)}, and the Service has no endpoint until "
            "the operator is ready. Deploy the webhook by itself, or let the operator be ready before its caches are filled"
        )
    if not client.get("caBundle") and not any(name.startswith(_INJECTED) for name in annotations) and not is_known:
        found.append(
            f"the webhook has no caBundle, and no annotation {_INJECTED} that sets one: kube-apiserver then trusts public CAs only"
        )
    return found


def _client(spec: Object) -> Object:
    webhook = spec["conversion"].get("webhook") or {}
    found: Object = webhook.get("clientConfig") or {}
    return found
