"""Requests on their whole way: does apiext know the host's front proxy, may it ask the host back, and is the group told of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from apiext.operator.checks.connections import NoAnswerError
from apiext.operator.checks.verdict import broken, ok, untold
from apiext.operator.group_state import condition_of

if TYPE_CHECKING:
    from apiext.operator.checks.connections import Answer
    from apiext.operator.checks.snapshot import Look
    from apiext.operator.checks.verdict import Verdict

_REVIEW: Final = re.compile(r"\b(?:subjectaccessreviews|tokenreviews)\b")
_USER: Final = re.compile(r'User "([^"]+)"')
_DISTRUST: Final = re.compile(r"remote error: tls|bad status from \S+ 40[13]\b")
_KNOWING: Final = (
    "let apiext read ConfigMap kube-system/extension-apiserver-authentication (Role extension-apiserver-authentication-reader), "
    "and start it with a --kubeconfig of this host and no --requestheader-client-ca-file of another"
)


async def delegated(look: Look, group: str) -> Verdict:
    """Apiext knows the host's users, and may ask the host what they may do."""
    try:
        answer = await look.apiext_for_stranger(group, "/apis")
    except NoAnswerError as error:
        return _unknown(error)
    if answer.code == 401:
        return broken("apiext does not know the credentials that the host knows (401)", _KNOWING)
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


async def trusted(look: Look, group: str) -> Verdict:
    """Apiext believes the host's front proxy whom a request is from."""
    answer = await look.host_for_stranger(f"/apis/{group}/{(await look.versions(group))[0]}")
    if answer.code == 401:
        return broken("apiext does not know the host's front proxy (401)", _KNOWING)
    if answer.code == 503 and _DISTRUST.search(said := await _unavailable(look, group)):
        return broken(f"apiext does not know the host's front proxy ({said})", _KNOWING)
    if answer.code != 200:
        return untold(f"a request through the host is answered with {answer}")
    return ok("apiext believes the host whom requests are from")


async def discovery(look: Look, group: str) -> Verdict:
    """Apiext itself tells of the group's versions and resources."""
    for version in await look.versions(group):
        try:
            answer = await look.apiext(group, f"/apis/{group}/{version}")
        except NoAnswerError as error:
            return _unknown(error)
        verdict = _unlike(answer, f"{group}/{version}", await _resources(look, group, version), "apiext")
        if verdict:
            return verdict
    return ok(f"apiext serves {', '.join(f'{group}/{version}' for version in await look.versions(group))}")


async def through(look: Look, group: str) -> Verdict:
    """The host proxies to apiext: discovery through it is apiext's."""
    for version in await look.versions(group):
        answer = await look.host(f"/apis/{group}/{version}")
        if answer.code == 503:
            said = await _unavailable(look, group)
            return broken(
                f"the host does not reach apiext{f': {said}' if said else ''}",
                "see the network between kube-apiserver and the Service; the host looks again within half a minute",
            )
        verdict = _unlike(answer, f"{group}/{version}", await _resources(look, group, version), "the host")
        if verdict:
            return verdict
    return ok("the host proxies to apiext")


def _unknown(error: NoAnswerError) -> Verdict:
    if error.remote:
        return broken(f"apiext does not know the authority of the credentials' certificate: {error}", _KNOWING)
    return broken(f"apiext does not answer: {error}", "see apiext's log")


def _unlike(answer: Answer, version: str, expected: set[str], who: str) -> Verdict | None:
    """What is wrong with a discovery document."""
    if answer.code != 200:
        return broken(f"{who} answers /apis/{version} with {answer}", f"see the log of {who}")
    missing = expected - {one["name"] for one in answer.object.get("resources") or ()}
    if missing:
        return broken(f"{who} does not know {', '.join(sorted(missing))} in {version}", f"wait a moment; see the log of {who}")
    return None


async def _resources(look: Look, group: str, version: str) -> set[str]:
    """The resources that a version must have, as far as the host knows."""
    return {
        crd["spec"]["names"]["plural"]
        for crd in await look.definitions(group)
        if any(one["name"] == version and one.get("served") for one in crd["spec"]["versions"])
    }


async def _unavailable(look: Look, group: str) -> str:
    """Why the host finds the group unavailable, as it says itself."""
    for one in await look.api_services(group):
        found = condition_of(one, "Available")
        if found.get("status") != "True":
            return str(found.get("message", ""))
    return ""
