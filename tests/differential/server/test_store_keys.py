"""Where the reference keeps its keys: nothing of it lies where apiext keeps records of its own."""

import base64

import pytest

from apiext.storage.replicas import server_keys
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import gateway
from hack.lib.waiting import until

pytestmark = pytest.mark.slow


def test_first_segments(control_plane: ControlPlane) -> None:
    """Use no first segment of kube-apiserver's keys for records, neither of its kinds nor of its own records."""
    # it stores the Service `kubernetes` some time after its start
    until(lambda: _segments(control_plane) >= {"ranges", "namespaces", "services"}, "the keys of a new kube-apiserver")

    assert not _segments(control_plane) & {server_keys.SEGMENT, server_keys.FORMER_SEGMENT}


def _segments(control_plane: ControlPlane) -> set[str]:
    found = gateway(control_plane.etcd_url, "kv/range", key=b"\0", range_end=b"\0", keys_only=True)
    keys = [base64.b64decode(pair["key"]).decode() for pair in found["kvs"]]
    return {key.removeprefix("/registry/").partition("/")[0] for key in keys}
