"""Objects in several versions: bad conversion webhooks, migrations, and reads and repairs of stored objects."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from hack.lib.servers.webhook_server import WebhookServer
from hack.lib.soak.attack import BROKEN, MERGE_PATCH, Attack
from hack.lib.soak.collection import CRDS, GROUP, definition, widget
from hack.lib.soak.webhook import LARGE, ODD, SLOW

_PLURAL: Final = "gadgets"
_KIND: Final = "Gadget"
_NAME: Final = f"{_PLURAL}.{GROUP}"
_NEW: Final = f"/apis/{GROUP}/v2/namespaces/attacked/{_PLURAL}"
_OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
_MIGRATIONS: Final = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"


@contextmanager
def _webhook() -> Iterator[WebhookServer]:
    with tempfile.TemporaryDirectory(prefix="apiext-webhook-") as folder, WebhookServer(Path(folder), "hack.lib.soak.webhook") as webhook:
        yield webhook


def _conversion(client_config: dict[str, Any]) -> dict[str, Any]:
    return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client_config}}


@contextmanager
def _versioned(attack: Attack, objects: int, client_config: dict[str, Any] | None = None, *, length: int = 100) -> Iterator[str]:
    """Serve a definition with two versions and objects of the first for the block; yield the path of their collection."""
    crd = definition(_PLURAL, _KIND, spec=_OPEN)
    (first,) = crd["spec"]["versions"]
    crd["spec"]["versions"] = [first, {**first, "name": "v2", "storage": False}]
    if client_config:
        crd["spec"]["conversion"] = _conversion(client_config)
    with attack.defined(crd) as path:
        attack.create(path, [widget(f"gadget-{number}", kind=_KIND, payload="x" * length) for number in range(objects)])
        yield path


def _read_and_write(attack: Attack, patience: int = 5, *, watches: bool = True) -> None:
    """Read and write objects in the version that needs conversion, all at the same time; requests end after some seconds."""
    timeout = f"timeout={patience}s"
    obj = {**widget("gadget-1", kind=_KIND), "apiVersion": f"{GROUP}/v2"}
    one, patch = f"{_NEW}/gadget-1?{timeout}", {"spec": {"a": 1}}
    calls: list[tuple[Any, ...]] = [
        ("GET", f"{_NEW}?{timeout}"),
        ("GET", f"{_NEW}?{timeout}&limit=10"),
        ("GET", f"{_NEW}?{timeout}&resourceVersion=0", None, _TABLE),
        ("GET", one),
        ("PATCH", one, patch, MERGE_PATCH),
        ("PUT", one, obj),
        ("POST", f"{_NEW}?{timeout}", {**obj, "metadata": {"name": "new"}}),
        ("DELETE", f"{_NEW}?{timeout}&labelSelector=a=b"),
    ]
    if watches:
        calls += [("GET", f"{path}?watch=true&timeoutSeconds=1") for path in (_NEW, f"/apis/{GROUP}/v2/{_PLURAL}")]
    attack.together([partial(attack.ask, *call) for call in calls], len(calls))


def _convert(attack: Attack, hows: tuple[str, ...], objects: int, patience: int = 5, *, watches: bool = True) -> None:
    with _webhook() as webhook:
        for how in attack.some(hows):
            with _versioned(attack, objects, webhook.client_config(f"/{how}")):
                _read_and_write(attack, patience, watches=watches)


def large_answers_of_webhooks(attack: Attack) -> None:
    """Convert by webhooks that answer with up to 16 MiB, or with far more in compressed form."""
    _convert(attack, LARGE, attack.size(600, 20), attack.size(5, 3))


def odd_answers_of_webhooks(attack: Attack) -> None:
    """Convert by webhooks that answer with deep JSON, syntax errors, other objects, or nothing."""
    _convert(attack, ODD, attack.size(600, 20))


def slow_webhooks(attack: Attack) -> None:
    """Convert by webhooks that never answer, or byte by byte."""
    _convert(attack, SLOW, attack.size(300, 20), attack.size(35, 1), watches=not attack.reduced)


def many_objects_through_a_webhook(attack: Attack) -> None:
    """List and watch many objects that a webhook converts, from several clients, while the objects change."""
    with _webhook() as webhook, _versioned(attack, attack.size(3_000, 100), webhook.client_config("/well"), length=1_000) as path:
        for _ in range(attack.size(3, 1)):
            attack.together(
                [partial(attack.ask, "PATCH", f"{path}/gadget-{number}", {"spec": {"a": 1}}, MERGE_PATCH) for number in range(20)]
            )
            _read_and_write(attack)


def changing_conversions(attack: Attack) -> None:
    """Change the conversion of a definition quickly, with unusable authorities and addresses, while objects are read."""
    with _webhook() as webhook, _versioned(attack, attack.size(300, 20)):
        good = webhook.client_config("/well")
        bundle = good["caBundle"]
        configs: list[dict[str, Any]] = [
            good,
            {**good, "caBundle": ""},
            {**good, "caBundle": bundle * attack.size(300, 20)},
            {**good, "caBundle": "eA=="},
            {**good, "caBundle": "LS0t" * 200_000},
            {**good, "url": "https://" + "x." * 100_000},
            {"service": {"name": "n" * 60, "namespace": "none", "path": "/" + "x" * 100_000}},
        ]
        for _ in range(attack.size(5, 1)):
            for config in configs:
                attack.ask("PATCH", f"{CRDS}/{_NAME}", {"spec": {"conversion": _conversion(config)}}, MERGE_PATCH)
                attack.together(
                    [partial(attack.ask, "GET", f"{_NEW}?timeout=3s"), partial(attack.ask, "GET", f"{_NEW}/gadget-1?timeout=3s")]
                )
                attack.ask("PATCH", f"{CRDS}/{_NAME}", {"spec": {"conversion": {"strategy": "None", "webhook": None}}}, MERGE_PATCH)


def documents_of_what_is_stored(attack: Attack) -> None:
    """Read the documents about stored objects with odd parameters from many clients, some of which disconnect."""
    count, length = attack.size(60, 10), attack.size(1_000_000, 100_000)
    with _versioned(attack, count, length=length):
        paths = [f"/stored/{what}/{_NAME}?limit=1000" for what in ("versions", "invalid", "unreadable", "objects")]
        paths += [f"/stored/objects/{_NAME}/attacked/gadget-1", "/stored/versions?limit=1000", "/stored/servers"]
        odd = ["limit=-1", "limit=" + "9" * 60_000, "continue=" + "x" * 60_000, "continue=%ff%00", "key=" + "y" * 60_000, "limit=1&limit=2"]
        ask = partial(attack.ask, access=attack.direct)
        attack.together([partial(ask, "GET", path) for path in paths * attack.size(10, 2)], attack.size(64, 8))
        attack.together([partial(ask, "GET", f"{path.partition('?')[0]}?{query}") for path in paths for query in odd])
        for path in ["/stored/" + "a/" * 20_000, "/stored//", f"/stored/objects/{_NAME}/a/b/c/d", "/stored/objects/%00/%ff"]:
            ask("GET", path)
        for path in paths * attack.size(10, 1):
            with suppress(*BROKEN), attack.connect() as connection:
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


def repairs_of_what_is_stored(attack: Attack) -> None:
    """Replace stored objects by bodies of up to 3 MB: objects, lists of numbers, deep, broken."""
    with _versioned(attack, 3):
        large = attack.size(3_000_000, 300_000)
        head = b'{"apiVersion":"%b/v1","kind":"%b","metadata":{"name":"gadget-1","namespace":"attacked"},"spec":' % (
            GROUP.encode(),
            _KIND.encode(),
        )
        bodies = [
            head + b'{"a":[' + b"{}," * (large // 3) + b"{}]}}",
            head + b'{"a":[' + b"0.1," * (large // 4) + b"1]}}",
            head + b'{"a":[' + b"1," * (large // 2),
            head + b"[" * large,
            b'{"a":' * (large // 5) + b"1",
            b"k8s:enc:" + b"x" * large,
            b"k8s\x00" + b"\xff" * large,
            b"\xd9\xd9\xf7" + b"\x81" * large,
            b"\xd9\xd9\xf7\x9b" + b"\xff" * 100,
            b"x" * (2 * large),
        ]
        for body in bodies:
            for query in ("resourceVersion=1", "resourceVersion=1&encode=true", "resourceVersion=" + "9" * 5_000):
                path = f"/stored/objects/{_NAME}/attacked/gadget-1?{query}"
                attack.ask("PUT", path, body, access=attack.direct)
        attack.ask("DELETE", f"/stored/objects/{_NAME}/attacked/gadget-1?resourceVersion=1", access=attack.direct)


def _migration(number: int, resource: str) -> dict[str, Any]:
    return {
        "apiVersion": "storagemigration.k8s.io/v1",
        "kind": "StorageVersionMigration",
        "metadata": {"name": f"hostile-{number}"},
        "spec": {"resource": {"group": GROUP, "resource": resource}},
    }


def migrations_by_the_hundred(attack: Attack) -> None:
    """Create many migrations: of resources that do not exist, and all of one resource; delete some in the middle, then all."""
    count = attack.size(500, 40)
    with _versioned(attack, attack.size(100, 10)):
        resources = [f"none{number}" if number % 2 else _PLURAL for number in range(count)]
        creations = [partial(attack.ask, "POST", _MIGRATIONS, _migration(*pair)) for pair in enumerate(resources)]
        attack.together(creations)
        attack.together([partial(attack.ask, "DELETE", f"{_MIGRATIONS}/hostile-{number}") for number in range(0, count, 3)])
        attack.ask("GET", _MIGRATIONS, headers=_TABLE)
        attack.ask("DELETE", _MIGRATIONS)


def migrations_of_many_objects(attack: Attack) -> None:
    """Migrate many objects, and delete the migration, then the definition, in the middle."""
    with _versioned(attack, attack.size(3_000, 100), length=1_000):
        patch = {"spec": {"versions": _flipped()}}
        attack.ask("PATCH", f"{CRDS}/{_NAME}", patch, MERGE_PATCH)
        for number in range(attack.size(5, 2)):
            attack.ask("POST", _MIGRATIONS, _migration(number, _PLURAL))
            attack.ask("GET", f"{_MIGRATIONS}?watch=true&timeoutSeconds=1")
            attack.ask("DELETE", f"{_MIGRATIONS}/hostile-{number}")
        attack.ask("POST", _MIGRATIONS, _migration(0, _PLURAL))
    attack.ask("DELETE", _MIGRATIONS)


def _flipped() -> list[dict[str, Any]]:
    """Return the two versions, of which the second is stored."""
    (first,) = definition(_PLURAL, _KIND, spec=_OPEN)["spec"]["versions"]
    return [{**first, "storage": False}, {**first, "name": "v2"}]


INPUTS: Final = (
    large_answers_of_webhooks,
    odd_answers_of_webhooks,
    slow_webhooks,
    many_objects_through_a_webhook,
    changing_conversions,
    documents_of_what_is_stored,
    repairs_of_what_is_stored,
    migrations_by_the_hundred,
    migrations_of_many_objects,
)
