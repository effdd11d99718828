"""Clients of other servers."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from apiext.server.host.clients import HostClients, open_authorizer
from apiext.server.options.options import AuthorizationOptions, KubeconfigSource
from apiext.server.start_error import StartError
from tests.support.builders.kubeconfigs import write_kubeconfig

SERVER = "http://127.0.0.1:1"


async def test_shares_the_client_of_a_kubeconfig(tmp_path: Path) -> None:
    """Return the same client for the same kubeconfig, whatever flag and path names it."""
    one, other = write_kubeconfig(tmp_path / "one", SERVER), write_kubeconfig(tmp_path / "other", SERVER)
    (tmp_path / "link").symlink_to(one)
    async with AsyncExitStack() as stack:
        clients = HostClients(stack)
        found = [clients.client(KubeconfigSource(f"--{number}", path)) for number, path in enumerate((one, tmp_path / "link", other))]

    assert [client is found[0] for client in found] == [True, True, False]


async def test_rejects_an_invalid_kubeconfig(tmp_path: Path) -> None:
    """Name the flag and the reason."""
    (tmp_path / "kubeconfig").write_text("[]")
    async with AsyncExitStack() as stack:
        with pytest.raises(StartError, match=r"--authorization-kubeconfig: .*/kubeconfig: not of type object"):
            HostClients(stack).client(KubeconfigSource("--authorization-kubeconfig", tmp_path / "kubeconfig"))


async def test_opens_reviews_with_mode_webhook(tmp_path: Path) -> None:
    """Review requests only with authorization mode Webhook."""
    delegate = KubeconfigSource("--kubeconfig", write_kubeconfig(tmp_path / "one", SERVER))
    async with AsyncExitStack() as stack:
        clients = HostClients(stack)

        assert open_authorizer(AuthorizationOptions(modes=("AlwaysAllow",), delegate=delegate), clients) is None
        assert open_authorizer(AuthorizationOptions(modes=("Webhook",), delegate=delegate), clients) is not None
