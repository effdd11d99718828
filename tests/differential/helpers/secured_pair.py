"""Both servers with the same tokens, flags and RBAC."""

import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hack.lib.differential.pair import Pair, Step
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.tls_connection import client_context
from tests.differential.helpers import rbac
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.wire import Raw, ask, differing, request
from tests.support.builders.crds import widget, widget_crd

ROOT: Final = f"/apis/{rbac.GROUP}/v1"
BASE: Final = f"{ROOT}/namespaces/default/widgets"
_REVIEWS: Final = (
    *("--authorization-mode=Webhook", "--authorization-webhook-cache-authorized-ttl=1ms"),
    "--authorization-webhook-cache-unauthorized-ttl=1ms",
)
Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Guarded:
    """The servers, and how to reach them without a certificate."""

    pair: Pair
    contexts: tuple[ssl.SSLContext, ssl.SSLContext]

    def check(self, raws: Sequence[Raw]) -> None:
        """Assert that all steps get equal responses."""
        assert_none(differing(self.pair, raws, self.contexts))


@contextmanager
def guarded(folder: Path, *flags: str) -> Iterator[Guarded]:
    """Start both servers and wait until the granted roles hold."""
    tokens = folder / "tokens.csv"
    tokens.write_text(rbac.TOKENS)
    common = (f"--token-auth-file={tokens}", *flags)
    with ControlPlane(folder / "reference", durable=False, extra_args=common) as plane:
        own = (*common, *_REVIEWS, f"--authorization-kubeconfig={plane.kubeconfig}")
        with BareServer(folder, extra_args=own) as server:
            pair = Pair(plane, server)
            rbac.grant(pair.reference)
            with pair.served(widget_crd(group=rbac.GROUP)):
                for side in (pair.reference, pair.ours):
                    side.raw(Step("POST", BASE, widget(group=rbac.GROUP)))
                both = Guarded(pair, (client_context(plane.ca), server.ssl_context(credentials=False)))
                _wait_for_roles(both)
                yield both
            pair.close()


def _wait_for_roles(both: Guarded) -> None:
    """Wait until the reference applies all roles; apiext asks the reference."""
    probes = [by("ann", "GET", BASE), by("bob", "GET", BASE, user("ann")), by("carl", "GET", f"{BASE}/a", user("dave"))]
    for probe in probes:
        for side, context in zip((both.pair.reference, both.pair.ours), both.contexts, strict=True):
            for _ in range(500):
                if ask(side, probe, context)[1] == 200:
                    break
            else:
                raise AssertionError(probe.label)


def by(who: str, method: str, path: str, *headers: Header) -> Raw:
    """Return a request with a user's token, or without one."""
    token = [("Authorization", f"Bearer {who}-token")] if who else []
    return request(method, path, [*token, *headers], label=f"{who} {method} {path} {headers}")


def user(name: str) -> Header:
    """Return the header that impersonates a user."""
    return "Impersonate-User", name
