"""Both servers with the same tokens and flags, and the same RBAC: what is asked of them with tokens."""

import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from tests.differential.helpers import rbac
from tests.differential.helpers.pair import Pair, Step
from tests.differential.helpers.wire import Raw, ask, differing, request
from tests.support.servers.in_process import definition

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
        """All are answered alike."""
        found = differing(self.pair, raws, self.contexts)

        assert not found, f"{len(found)} differences:\n" + "\n".join(found)


@contextmanager
def guarded(folder: Path, *flags: str) -> Iterator[Guarded]:
    """Start both; granted roles work."""
    tokens = folder / "tokens.csv"
    tokens.write_text(rbac.TOKENS)
    common = (f"--token-auth-file={tokens}", *flags)
    with ControlPlane(folder / "reference", durable=False, extra_args=common) as plane:
        own = (*common, *_REVIEWS, f"--authorization-kubeconfig={plane.kubeconfig}")
        with ApiextServer(folder, extra_args=own) as server:
            pair = Pair(plane, server)
            rbac.grant(pair.reference)
            with pair.served(definition(group=rbac.GROUP)):
                widget = {"apiVersion": f"{rbac.GROUP}/v1", "kind": "Widget", "metadata": {"name": "a"}}
                for side in (pair.reference, pair.ours):
                    side.raw(Step("POST", BASE, widget))
                both = Guarded(pair, (ssl.create_default_context(cafile=plane.ca), server.ssl_context(credentials=False)))
                _settle(both)
                yield both
            pair.close()


def _settle(both: Guarded) -> None:
    """Wait until the reference knows all roles; also those who ask it do not know them earlier."""
    probes = [by("ann", "GET", BASE), by("bob", "GET", BASE, user("ann")), by("carl", "GET", f"{BASE}/a", user("dave"))]
    for probe in probes:
        for side, context in zip((both.pair.reference, both.pair.ours), both.contexts, strict=True):
            for _ in range(500):
                if ask(side, probe, context)[1] == 200:
                    break
            else:
                raise AssertionError(probe.label)


def by(who: str, method: str, path: str, *headers: Header) -> Raw:
    """A request with somebody's token, or with none."""
    token = [("Authorization", f"Bearer {who}-token")] if who else []
    return request(method, path, [*token, *headers], label=f"{who} {method} {path} {headers}")


def user(name: str) -> Header:
    """The header for whom one acts as."""
    return "Impersonate-User", name
