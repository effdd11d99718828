"""Both servers with RBAC, and the same tokens."""

import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from hack.lib.differential.pair import Pair, Side, Step
from hack.lib.differential.rbac_cases import API, GROUP, NAMESPACES, REVIEWS
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.tls_connection import client_context
from hack.lib.waiting import until
from tests.differential.helpers.differences import assert_none

ISSUER: Final = "https://kubernetes.default.svc"


@dataclass(frozen=True, slots=True)
class RBACPair:
    """The servers, and requests by users without rights of their own."""

    pair: Pair
    contexts: tuple[ssl.SSLContext, ssl.SSLContext]
    """Those of clients without credentials."""
    kubeconfigs: tuple[Path, Path]

    def check(self, steps: Sequence[Step]) -> None:
        """Assert that all steps get equal responses."""
        assert_none([line for step in steps for line in self.pair.differences(step)])

    def settle(self) -> None:
        """Wait until the reference decides by all roles and bindings that exist: those created last apply."""
        sides = (self.pair.reference, self.pair.ours)
        for side in sides:
            for step in _sentinels():
                side.raw(step)
        for side in sides:
            for namespace in ("", NAMESPACES[0]):
                attributes = {"verb": "get", "group": "sentinel.io", "resource": "things", "namespace": namespace}
                step = Step("POST", REVIEWS, {"spec": {"user": "sentinel" + namespace, "resourceAttributes": attributes}})
                until(lambda side=side, step=step: side.ask(step).body["status"]["allowed"])  # type: ignore[misc]


def _sentinels() -> Iterator[Step]:
    rule = {"verbs": ["get"], "apiGroups": ["sentinel.io"], "resources": ["things"]}
    for namespace in ("", NAMESPACES[0]):
        base = f"{API}/namespaces/{namespace}/" if namespace else f"{API}/cluster"
        kind = "Role" if namespace else "ClusterRole"
        name = {"metadata": {"name": "sentinel"}}
        yield Step("POST", f"{base}roles", {**name, "rules": [rule]})
        subject = {"apiGroup": GROUP, "kind": "User", "name": "sentinel" + namespace}
        reference = {"apiGroup": GROUP, "kind": kind, "name": "sentinel"}
        yield Step("POST", f"{base}rolebindings", {**name, "roleRef": reference, "subjects": [subject]})


def as_user(step: Step, name: str, *groups: str) -> Step:
    """Return a request of a user whom the administrator impersonates."""
    headers: Mapping[str, str] = {"Impersonate-User": name} | ({"Impersonate-Group": groups[0]} if groups else {})
    return replace(step, headers={**step.headers, **headers})


@contextmanager
def rbac_pair(folder: Path) -> Iterator[RBACPair]:
    """Start both servers with RBAC and two namespaces."""
    with ControlPlane(folder / "reference", durable=False) as plane:
        key = f"--service-account-signing-key-file={plane.service_account_key}"
        flags = ("--authorization-mode=RBAC", f"--service-account-issuer={ISSUER}", key)
        with BareServer(folder, extra_args=flags) as server:
            pair = Pair(plane, server)
            for side in (pair.reference, pair.ours):
                for name in NAMESPACES:
                    must(side, Step("POST", "/api/v1/namespaces", {"metadata": {"name": name}}))
            contexts = client_context(plane.ca), server.ssl_context(credentials=False)
            yield RBACPair(pair, contexts, (plane.kubeconfig, server.kubeconfig))
            pair.close()


def must(side: Side, step: Step) -> Any:
    """Send a request that must succeed; return the body of the response."""
    answer = side.ask(step)
    assert answer.code < 300, (step, answer)
    return answer.body
