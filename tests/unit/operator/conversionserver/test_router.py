"""The paths of the webhook."""

import datetime
from collections.abc import AsyncIterator

import pytest

from apiext.api.authentication.client_certificate import CertificateAuthorities, PeerIdentification
from apiext.base.cert.issuing import issue_serving, new_authority
from apiext.operator.conversionserver.router import ConversionRouter
from apiext.resources.conversion.metrics import ConversionOutcome, ConversionStats
from apiext.server.tls.context import CertKey
from apiext.server.tls.dynamic_tls import DynamicTLS
from tests.support.servers.handler_server import Client, client_of
from tests.unit.operator.conversionserver.parts import NAME, Followed, conversion, crd, encoded, review, widget

NOW = datetime.datetime.now(datetime.UTC)
STATS = ConversionStats()
NOBODY = PeerIdentification(clients=CertificateAuthorities(b""))


def _tls(moment: datetime.datetime = NOW) -> DynamicTLS:
    pair = issue_serving(new_authority("ca", moment), ["localhost"], moment)
    return DynamicTLS([CertKey(pair.cert.encode(), pair.key.encode(), "memory")], NOBODY, min_version="VersionTLS12")


@pytest.fixture
def followed() -> Followed:
    """Provide a cluster that is not listed yet."""
    return Followed()


@pytest.fixture
def router(followed: Followed) -> ConversionRouter:
    """Provide the router of a webhook for the cluster."""
    return ConversionRouter(followed.conversions, [("crds", followed.crds), ("conversions", followed.objects)], STATS, _tls())


@pytest.fixture
async def client(router: ConversionRouter) -> AsyncIterator[Client]:
    """Provide a client of the router."""
    async with client_of(router) as opened:
        yield opened


async def _get(client: Client, path: str) -> tuple[int, str]:
    answer = await client.get(path)
    return answer.status, (await answer.text()).strip()


async def test_readiness(client: Client, followed: Followed, router: ConversionRouter) -> None:
    """Become ready when the cluster is listed and all rules are compiled, and unready at the end."""
    assert (await _get(client, "/healthz"))[0] == (await _get(client, "/livez"))[0] == 200
    assert await _get(client, "/readyz/informer-sync") == (500, "internal server error: not listed yet: crds, conversions")
    followed.full[NAME] = crd()
    followed.crds.replaced([crd()])
    followed.objects.replaced([conversion()])
    assert await _get(client, "/readyz/rules") == (500, f"internal server error: 1 not compiled yet, such as {NAME}")
    await followed.sync()
    assert (await _get(client, "/readyz"))[0] == 200
    router.shutting_down = True
    assert (await _get(client, "/readyz"))[0] == 500
    assert (await _get(client, "/healthz"))[0] == 200


async def test_an_expired_certificate_is_not_ready(followed: Followed) -> None:
    """Fail readiness when kube-apiserver cannot accept the certificate."""
    tls = _tls(NOW - datetime.timedelta(days=366))
    async with client_of(ConversionRouter(followed.conversions, [], STATS, tls)) as client:
        assert await _get(client, "/readyz/certificate") == (500, "internal server error: the serving certificate has expired")


async def test_routes(client: Client, followed: Followed) -> None:
    """Answer reviews at their path, and no other path."""
    await followed.put(crd(), conversion())

    answer = await client.post("/convert", data=encoded(review([widget()])), headers={"Content-Type": "application/json"})

    assert (await answer.json())["response"]["result"]["status"] == "Success"
    assert await _get(client, "/") == (404, "404 page not found")


async def test_metrics(client: Client, followed: Followed) -> None:
    """Count reviews by CRD and versions, and say which rules can be used."""
    await followed.put(crd(), conversion())
    STATS.observe(ConversionOutcome(NAME, ["v1"], "v2", "", 0.5))

    code, text = await _get(client, "/metrics")

    labels = f'crd_name="{NAME}",from_version="v1",succeeded="true",to_version="v2"'
    assert code == 200
    assert f"apiext_conversion_review_duration_seconds_count{{{labels}}}" in text
    assert f'apiext_conversion_rules_usable{{crd_name="{NAME}"}} 1.0' in text
    assert "process_cpu_seconds_total" in text
