"""Checks of requests through the host: authentication of the front proxy, delegated reviews, and discovery of the group."""

from __future__ import annotations

import re
from typing import Final

from apiext.api.authentication.cluster_config import NAME, NAMESPACE
from apiext.api.authorization import conditional
from apiext.api.authorization.conditional import HEALTH_CHECK as CONDITIONS_CHECK
from apiext.api.authorization.front_proxy import HEALTH_CHECK
from apiext.operator.api_clients import API_SERVICES
from apiext.operator.checks.connections import Answer, NoAnswerError
from apiext.operator.checks.health import readiness_checks
from apiext.operator.checks.snapshot import Snapshot
from apiext.operator.checks.verdict import CheckVerdict, broken, ok, unknown
from apiext.operator.group_state import condition_of

_REVIEW: Final = re.compile(r"\b(?:subjectaccessreviews|tokenreviews)\b")
_USER: Final = re.compile(r'User "([^"]+)"')
_REJECTED: Final = re.compile(r"remote error: tls|bad status from \S+ 40[13]\b")
_AUTHORIZATION_REMEDY: Final = (
    "name only the host's own front proxy in its --requestheader-allowed-names (or those of apiext), or take FrontProxy from apiext's "
    "--authorization-mode"
)
_CONDITIONS_REMEDY: Final = "take FrontProxy from apiext's --authorization-mode, or the feature gate from the host"
_AUTHENTICATION_REMEDY: Final = (
    "let apiext read ConfigMap kube-system/extension-apiserver-authentication (Role extension-apiserver-authentication-reader), "
    "and start it with a --kubeconfig of this host and no --requestheader-client-ca-file of another"
)


_FRONT_PROXY_REMEDY: Final = (
    "the common name of kube-apiserver's --proxy-client-cert-file must be in --requestheader-allowed-names: of the host, whose ConfigMap "
    f"{NAMESPACE}/{NAME} apiext reads, or of apiext beside its own --requestheader-client-ca-file"
)


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


async def delegated(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that apiext authenticates the host's users, and may send reviews to the host."""
    try:
        answer = await snapshot.apiext(group, "/apis", stranger=True)
    except NoAnswerError as error:
        return _no_answer(error)
    if answer.code == 401:
        return broken("apiext does not know the credentials that the host knows (401)", _AUTHENTICATION_REMEDY)
    if _REVIEW.search(answer.text) and answer.code >= 400:
        user = _USER.search(answer.text)
        return broken(
            f"apiext may not ask the host what users may do: {answer.text}",
            f"kubectl create clusterrolebinding apiext-delegator --clusterrole=system:auth-delegator --user={user[1] if user else 'USER'}",
        )
    if answer.code == 403:
        return broken(f"users may not read discovery: {answer.text}", "bind ClusterRole system:discovery to group system:authenticated")
    if answer.code != 200:
        return broken(f"apiext answers /apis with {answer}", "see apiext's log")
    return ok("apiext asks the host what users may do")


async def trusted(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that apiext trusts the host's front proxy."""
    answer = await snapshot.host(f"/apis/{group}/{(await snapshot.versions(group))[0]}", stranger=True)
    if answer.code == 401:
        return broken("apiext does not know the host's front proxy (401)", _AUTHENTICATION_REMEDY)
    if answer.code == 503 and _REJECTED.search(said := await _unavailable(snapshot, group)):
        return broken(f"apiext does not know the host's front proxy ({said})", _AUTHENTICATION_REMEDY)
    if answer.code != 200:
        return unknown(f"a request through the host is answered with {answer}")
    return await _taken_for(snapshot, group)


async def _taken_for(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check by a request for objects, whose refusal names a user, that apiext takes requests through the host for those of their users.

    An accepted client certificate that is no front proxy's is that of a user, to whom discovery is open.
    """
    path = await snapshot.empty_list(group)
    if not path:
        return ok("apiext knows the host's front proxy")
    proxied, direct = await snapshot.host(path), await snapshot.apiext(group, path)
    user = _USER.search(proxied.text)
    if proxied.code != 403:
        return ok("apiext believes the host whom requests are from")
    if direct.code == 403 and direct.text == proxied.text:
        return unknown(f"the user of --kubeconfig may not list objects, so this is not seen: {proxied.text}")
    return broken(
        f"apiext takes what the host proxies for requests of {user[1] if user else 'another user'}: it answers {proxied}",
        _FRONT_PROXY_REMEDY,
    )


async def authorized(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that apiext, if it takes what front proxies send as authorized, has no other front proxy than the host."""
    checks = await readiness_checks(snapshot, group)
    check = checks.get(HEALTH_CHECK)
    if check is None:
        return ok("apiext asks for each request that the host proxies what its user may do")
    if found := await conditions_of(snapshot):
        return broken(f"apiext takes what the host proxies as authorized, without its conditions: {found}", _CONDITIONS_REMEDY)
    if CONDITIONS_CHECK in checks and (remark := checks[CONDITIONS_CHECK].remark):
        return unknown(f"apiext asks for each request that the host proxies what its user may do: {remark}")
    if check.remark:
        return broken(f"apiext takes what any front proxy sends as authorized: {check.remark}", _AUTHORIZATION_REMEDY)
    return ok("apiext takes what the host proxies as authorized, and has no other front proxy")


async def discovery(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that apiext's own discovery has the group's versions and resources."""
    for version in await snapshot.versions(group):
        try:
            answer = await snapshot.apiext(group, f"/apis/{group}/{version}")
        except NoAnswerError as error:
            return _no_answer(error)
        verdict = _discovery_problem(answer, f"{group}/{version}", await _resources(snapshot, group, version), "apiext")
        if verdict:
            return verdict
    return ok(f"apiext serves {', '.join(f'{group}/{version}' for version in await snapshot.versions(group))}")


async def through(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that discovery through the host has the group's versions and resources."""
    for version in await snapshot.versions(group):
        answer = await snapshot.host(f"/apis/{group}/{version}")
        if answer.code == 503:
            said = await _unavailable(snapshot, group)
            return broken(
                f"the host does not reach apiext{f': {said}' if said else ''}",
                "see the network between kube-apiserver and the Service; the host looks again within half a minute",
            )
        verdict = _discovery_problem(answer, f"{group}/{version}", await _resources(snapshot, group, version), "the host")
        if verdict:
            return verdict
    return ok("the host proxies to apiext")


def _no_answer(error: NoAnswerError) -> CheckVerdict:
    if error.remote:
        return broken(f"apiext does not know the authority of the credentials' certificate: {error}", _AUTHENTICATION_REMEDY)
    return broken(f"apiext does not answer: {error}", "see apiext's log")


def _discovery_problem(answer: Answer, version: str, expected: set[str], who: str) -> CheckVerdict | None:
    """Return the verdict of a wrong discovery document, None if it is right."""
    if answer.code != 200:
        return broken(f"{who} answers /apis/{version} with {answer}", f"see the log of {who}")
    missing = expected - {one["name"] for one in answer.object.get("resources") or ()}
    if missing:
        return broken(f"{who} does not know {', '.join(sorted(missing))} in {version}", f"wait a moment; see the log of {who}")
    return None


async def _resources(snapshot: Snapshot, group: str, version: str) -> set[str]:
    """Return the resources of a version by the host's definitions."""
    return {
        crd["spec"]["names"]["plural"]
        for crd in await snapshot.definitions(group)
        if any(one["name"] == version and one.get("served") for one in crd["spec"]["versions"])
    }


async def _unavailable(snapshot: Snapshot, group: str) -> str:
    """Return why the host reports the group as unavailable, empty if it does not."""
    for one in await snapshot.api_services(group):
        found = condition_of(one, "Available")
        if found.get("status") != "True":
            return str(found.get("message", ""))
    return ""
