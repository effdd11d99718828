"""Every key that servers write, with all features on that write records of their own."""

import base64
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.base.meta.builtin_resources import BUILTINS, INTERNAL_V1ALPHA1
from apiext.base.meta.generated.resources import further_resources
from apiext.base.meta.gvk import GroupResource
from apiext.storage import keys
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd, gateway
from hack.lib.waiting import until
from tests.support.builders.converted_widgets import NAME, conversion, old_widget, widgets_crd
from tests.support.builders.encryption import keyed, write_configuration
from tests.support.clients.client import Client

FLAGS: Final = (
    *("--builtin-kinds", "--migrate=auto", "--guard-stored-versions", "--event-ttl=20s"),
    "--feature-gates=StorageVersionAPI=true",
)
CRD: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{NAME}"
EVENT: Final[Any] = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
MERGE: Final = {"Content-Type": "application/merge-patch+json"}
RECORDS: Final = {
    "sqlite": ("event-expiry", "conversion-rules-in-use", "migration"),
    "etcd": ("event-expiry", "conversion-rules-in-use", "replicas/call", f"companions/{NAME}"),
}
"""Records that a server without a host writes. Locks in etcd are gone when the work is done."""


def _object_places() -> tuple[str, ...]:
    """Return where objects are, below the prefix of all keys."""
    usual = (*BUILTINS, INTERNAL_V1ALPHA1)
    builtin = (one.stored_resource for group in (*usual, *further_resources(usual)) for one in group.resources)
    return tuple(keys.resource_prefix("/registry", resource) for resource in (*builtin, GroupResource("example.com", "widgets")))


def _in_file(path: Path) -> set[str]:
    """Return all keys that were ever written."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return {key for (key,) in connection.execute("SELECT DISTINCT key FROM log")}


def _in_etcd(etcd: Etcd) -> set[str]:
    found = gateway(etcd.url, "kv/range", key=b"\0", range_end=b"\0", keys_only=True)
    return {base64.b64decode(pair["key"]).decode() for pair in found["kvs"]}


def _use(server: ApiextServer, written: Callable[[], set[str]], records: tuple[str, ...]) -> set[str]:
    """Convert, migrate and expire objects, so that the server writes its records. Return the keys that it wrote."""
    found: set[str] = set()

    def are_written() -> bool:
        found.update(written())
        return found.issuperset(f"/registry/apiext/{record}" for record in records)

    with Client(server) as client:
        client.must("POST", "/apis/example.com/v1/namespaces/default/widgets", old_widget(size=1))
        client.must("POST", "/api/v1/namespaces/default/events", EVENT)
        assert client.ask("PATCH", CRD, {"spec": widgets_crd(storage="v1")["spec"]}, MERGE).status == 200
        until(lambda: client.must("GET", CRD)["status"]["storedVersions"] == ["v1"], "the migration")
        until(are_written, "the records")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite", "etcd"])
def test_every_key_of_a_server(store: str, tmp_path: Path) -> None:
    """Write objects, and records below `<prefix>/apiext/`, where no object can be; nothing below `apiext.dev`."""
    (crds := tmp_path / "crds").mkdir()
    (crds / "rules.json").write_text(json.dumps(conversion()))
    encryption = write_configuration(tmp_path / "encryption.json", (["*.*"], [keyed("aesgcm", "key1")]))
    flags = [*FLAGS, f"--encryption-provider-config={encryption}"]
    with Etcd(tmp_path / "etcd", durable=False) as etcd:
        server = ApiextServer(tmp_path / "server", etcd_url=etcd.url if store == "etcd" else None, crd_dir=crds, extra_args=flags)
        with server:
            with Client(server) as client:
                client.define(widgets_crd())
            file = server.data_dir / "apiext.db"
            found = _use(server, lambda: _in_etcd(etcd) if store == "etcd" else _in_file(file), RECORDS[store])
        found |= _in_etcd(etcd) if store == "etcd" else _in_file(file)
    own = {key for key in found if not key.startswith(_object_places())} - {"compact_rev_key"}

    assert not [key for key in own if not key.startswith("/registry/apiext/")]
    assert own.issuperset(f"/registry/apiext/{record}" for record in RECORDS[store])
