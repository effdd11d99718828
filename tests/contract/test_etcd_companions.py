"""Writes that depend on definitions compare small companion keys in etcd."""

import uuid
from collections.abc import AsyncIterator

import pytest

from apiext.storage.backend import Guard, WriteResult
from apiext.storage.etcd.backend import EtcdBackend
from apiext.storage.etcd.config import EtcdConfig
from apiext.storage.replicas import server_keys
from hack.lib.servers.etcd import Etcd

DEFINITIONS = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
COMPANIONS = "/registry/apiext/companions/"
FORMER = "/registry/apiext.dev/companions/"


@pytest.fixture
async def ours(etcd: Etcd) -> AsyncIterator[EtcdBackend]:
    """Yield the backend under test."""
    backend = await EtcdBackend.connect(EtcdConfig(servers=(etcd.url,)))
    yield backend
    await backend.close()


@pytest.fixture
async def stranger(etcd: Etcd) -> AsyncIterator[EtcdBackend]:
    """Yield a program on the same etcd that knows no companions of these definitions, as kube-apiserver."""
    backend = await EtcdBackend.connect(EtcdConfig(servers=(etcd.url,), prefix="/others"))
    yield backend
    await backend.close()


@pytest.fixture
async def former(etcd: Etcd, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EtcdBackend]:
    """Yield a server of an earlier release, which keeps companions elsewhere."""
    with monkeypatch.context() as patched:
        patched.setattr(server_keys, "root", server_keys.former_root)
        patched.setattr(server_keys, "former_root", lambda _: f"/nowhere/{uuid.uuid4().hex}/")
        backend = await EtcdBackend.connect(EtcdConfig(servers=(etcd.url,)))
    yield backend
    await backend.close()


@pytest.fixture
def name() -> str:
    """Return the name of a definition that no other test uses."""
    return uuid.uuid4().hex


def guard(name: str, written: WriteResult) -> Guard:
    """Return the condition on a large definition as it was written."""
    return Guard(DEFINITIONS + name, written.revision, is_large=True)


async def _write(backend: EtcdBackend, name: str, condition: Guard) -> WriteResult:
    return await backend.create(f"/registry/{name}/{uuid.uuid4().hex}", b"1", guard=condition)


async def test_companions_have_the_revisions_of_their_definitions(ours: EtcdBackend, name: str) -> None:
    """Create, update and delete a companion with its definition, at the same revision."""
    revisions = []
    created = await ours.create(DEFINITIONS + name, b"1")
    for value in (b"2", b"3"):
        companion, _ = await ours.get(COMPANIONS + name)
        revisions.append(companion and companion.revision)
        updated = await ours.update(DEFINITIONS + name, value, expected=created.revision)
        created = updated
    definition, _ = await ours.get(DEFINITIONS + name)
    companion, _ = await ours.get(COMPANIONS + name)
    await ours.delete(DEFINITIONS + name, expected=created.revision)

    assert definition
    assert companion
    assert (definition.value, companion.value, companion.revision) == (b"3", b"", definition.revision)
    assert revisions == [definition.revision - 2, definition.revision - 1]
    assert (await ours.get(COMPANIONS + name))[0] is None


async def test_a_refused_write_leaves_the_companion(ours: EtcdBackend, name: str) -> None:
    """Write no companion with a definition that is not written."""
    created = await ours.create(DEFINITIONS + name, b"1")
    refused = [await ours.create(DEFINITIONS + name, b"2"), await ours.update(DEFINITIONS + name, b"2", expected=created.revision - 1)]
    companion, _ = await ours.get(COMPANIONS + name)

    assert [one.succeeded for one in refused] == [False, False]
    assert companion
    assert companion.revision == created.revision


async def test_guarded_writes_follow_the_definition(ours: EtcdBackend, name: str) -> None:
    """Write while the definition has its revision, and not after its change or deletion."""
    created = await ours.create(DEFINITIONS + name, b"1")
    holds = await _write(ours, name, guard(name, created))
    updated = await ours.update(DEFINITIONS + name, b"2", expected=created.revision)
    changed = await _write(ours, name, guard(name, created))
    await ours.delete(DEFINITIONS + name, expected=updated.revision)
    gone = await _write(ours, name, guard(name, updated))

    assert [(one.succeeded, one.guard_failed) for one in (holds, changed, gone)] == [(True, False), (False, True), (False, True)]


@pytest.mark.parametrize("companion", ["stale", "missing"])
async def test_definitions_of_other_programs_decide_themselves(ours: EtcdBackend, stranger: EtcdBackend, name: str, companion: str) -> None:
    """Write under a definition whose companion is missing or stale, until the definition changes."""
    written = await (ours if companion == "stale" else stranger).create(DEFINITIONS + name, b"1")
    written = await stranger.update(DEFINITIONS + name, b"2", expected=written.revision)
    held = [await _write(ours, name, guard(name, written)) for _ in range(2)]
    own = await ours.update(DEFINITIONS + name, b"3", expected=written.revision)
    refused = await _write(ours, name, guard(name, written))
    after = await _write(ours, name, guard(name, own))

    assert [one.succeeded for one in (*held, refused, after)] == [True, True, False, True]
    assert refused.guard_failed


async def test_absent_definitions_decide_themselves(ours: EtcdBackend, stranger: EtcdBackend, name: str) -> None:
    """Refuse a write that requires that a definition is absent, though it only lacks a companion."""
    await stranger.create(DEFINITIONS + name, b"1")

    refused = await _write(ours, name, Guard(DEFINITIONS + name, 0, is_large=True))

    assert (refused.succeeded, refused.guard_failed) == (False, True)


async def test_small_definitions_decide_themselves(ours: EtcdBackend, stranger: EtcdBackend, name: str) -> None:
    """Refuse a write under a former state of a small definition, also if another program has changed it."""
    created = await ours.create(DEFINITIONS + name, b"1")
    await stranger.update(DEFINITIONS + name, b"2", expected=created.revision)

    refused = await _write(ours, name, Guard(DEFINITIONS + name, created.revision))

    assert (refused.succeeded, refused.guard_failed) == (False, True)


async def test_earlier_releases_notice_changes(ours: EtcdBackend, former: EtcdBackend, name: str) -> None:
    """Refuse a write of an earlier release under a state of the definition that this one has changed or deleted, and vice versa."""
    states = [await former.create(DEFINITIONS + name, b"1")]
    held = [await _write(former, name, guard(name, states[0])), await _write(ours, name, guard(name, states[0]))]
    for writer, value in ((ours, b"2"), (former, b"3"), (ours, b"4")):
        states.append(await writer.update(DEFINITIONS + name, value, expected=states[-1].revision))
    overtaken = [await _write(writer, name, guard(name, state)) for writer in (ours, former) for state in states[:-1]]
    held += [await _write(writer, name, guard(name, states[-1])) for writer in (ours, former)]
    left, _ = await ours.get(FORMER + name)
    await ours.delete(DEFINITIONS + name, expected=states[-1].revision)
    gone = await _write(former, name, guard(name, states[-1]))

    assert [one.succeeded for one in held] == [True] * 4
    assert [(one.succeeded, one.guard_failed) for one in (*overtaken, gone)] == [(False, True)] * 7
    assert left is None
