"""Where the commands about stored objects ask."""

from pathlib import Path

import click
import pytest

from apiext.cli.stored_source import SOURCE_FLAGS, endpoint_of, storage_of
from tests.support.builders.kubeconfigs import write_kubeconfig


@pytest.fixture
def flags(tmp_path: Path) -> dict[str, object]:
    """Return the flags of a kubeconfig, without others."""
    path = write_kubeconfig(tmp_path / "kubeconfig", "https://h")
    return {str(option.name): None for option in SOURCE_FLAGS} | {"kubeconfig": str(path), "etcd_servers": ()}


def test_asks_the_server_of_the_kubeconfig(flags: dict[str, object]) -> None:
    """Ask the kubeconfig's server, or with its credentials that of --server."""
    assert endpoint_of(flags).url == "https://h"
    own = endpoint_of(flags | {"server": "https://pod:1/", "tls_server_name": "apiext.svc"})

    assert (own.url, own.server_name, own.context is not None) == ("https://pod:1", "apiext.svc", True)


@pytest.mark.parametrize(
    "given,problem",
    [
        ({"server": "pod:1"}, "--server: 'pod:1' does not begin with https://"),
        ({"ca_file": "ca.crt"}, "--ca-file needs --server too"),
        ({"tls_server_name": "x"}, "--tls-server-name needs --server too"),
        ({"server": "https://pod", "ca_file": "/nowhere"}, "--ca-file: /nowhere: No such file or directory"),
        ({"kubeconfig": "/nowhere"}, "--kubeconfig: /nowhere: No such file or directory"),
    ],
)
def test_refuses_flags_of_a_server(flags: dict[str, object], given: dict[str, object], problem: str) -> None:
    """Name the flag that is wrong."""
    with pytest.raises(click.UsageError, match=problem):
        endpoint_of(flags | given)


def test_reads_a_store(flags: dict[str, object]) -> None:
    """Read the store that the flags name, but not two of them."""
    assert storage_of(flags | {"data_dir": "/data"}).data_dir == Path("/data")
    etcd = storage_of(flags | {"etcd_servers": ("http://h:1",), "etcd_prefix": "/x"}).etcd

    assert (etcd and etcd.servers, etcd and etcd.prefix) == (("http://h:1",), "/x")
    with pytest.raises(click.UsageError, match="not both"):
        storage_of(flags | {"data_dir": "/data", "etcd_servers": ("http://h:1",)})
    with pytest.raises(click.UsageError, match="is not a URL"):
        storage_of(flags | {"etcd_servers": ("h",)})
