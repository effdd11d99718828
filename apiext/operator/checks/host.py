"""Checks of the host itself: its response, and the setup of its aggregation layer."""

from __future__ import annotations

from typing import Final

from apiext.api.authentication.cluster_config import NAME, NAMESPACE
from apiext.api.authorization import conditional
from apiext.operator.api_clients import API_SERVICES
from apiext.operator.checks.connections import NoAnswerError
from apiext.operator.checks.snapshot import Snapshot
from apiext.operator.checks.verdict import CheckVerdict, broken, ok, unknown

_CONFIG_MAP: Final = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}"
_PROXY_CA: Final = "requestheader-client-ca-file"


async def reachable(snapshot: Snapshot, _group: str = "") -> CheckVerdict:
    """Check that the host responds, and authenticates the user."""
    try:
        version = await snapshot.host("/version")
        registered = await snapshot.host(API_SERVICES)
    except NoAnswerError as error:
        return broken(f"the host does not answer: {error}", "check the server, the authority and the credentials of --kubeconfig")
    if registered.code == 401:
        return broken("the host does not know the credentials (401)", "renew the user of --kubeconfig")
    if registered.code == 403:
        return broken(
            f"the user may not read APIServices: {registered.text}", "use another user, or give this one the operator's ClusterRole"
        )
    if registered.code == 404:
        return broken("the server has no APIServices: it is no kube-apiserver", "name the host's kube-apiserver in --kubeconfig")
    if registered.code != 200:
        return broken(f"the host answers with {registered}", "see the host's /readyz?verbose and its log")
    return ok(f"it answers, and knows the credentials ({version.object.get('gitVersion', 'version unknown')})")


async def aggregation(snapshot: Snapshot, _group: str = "") -> CheckVerdict:
    """Check that the host publishes the authority of its front proxy."""
    answer = await snapshot.host(_CONFIG_MAP)
    if answer.code == 403:
        return unknown(f"the user may not read ConfigMap {NAMESPACE}/{NAME}")
    data = answer.object.get("data") or {}
    if answer.code == 200 and "BEGIN CERTIFICATE" in str(data.get(_PROXY_CA) or ""):
        return ok(f"ConfigMap {NAMESPACE}/{NAME} names the front proxy's authority")
    found = f"has no {_PROXY_CA}" if answer.code == 200 else f"cannot be read: {answer}"
    return broken(
        f"ConfigMap {NAMESPACE}/{NAME} {found}: the host's aggregation layer is not set up",
        "start kube-apiserver with --requestheader-client-ca-file, --proxy-client-cert-file and --proxy-client-key-file",
    )


async def conditions(snapshot: Snapshot, _group: str = "") -> CheckVerdict:
    """Tell whether the host authorizes with conditions, which apiext may not skip."""
    if found := await conditions_of(snapshot):
        return unknown(f"{found}: apiext does not start with FrontProxy in --authorization-mode")
    return ok("it authorizes without conditions")


async def conditions_of(snapshot: Snapshot) -> str:
    """Return how the host shows that it authorizes with conditions, empty if it does not. Raises NoAnswerError."""
    answer = await snapshot.host(conditional.DISCOVERY)
    if answer.code == 200 and conditional.serves_reviews(answer.object):
        return conditional.SERVES_REVIEWS
    metrics = await snapshot.host(conditional.METRICS)
    if metrics.code == 200 and any(map(conditional.gate_of, metrics.content.splitlines())):
        return conditional.HAS_GATE
    return ""
