"""Renewal of the server's own certificates."""

import datetime
import ssl
import threading
from pathlib import Path

import pytest

from apiext.base.cert import certificate
from apiext.server.tls.server_pki import KeyPair, Pki, ensure_pki

HOSTS = ["127.0.0.1", "localhost"]
DAY = datetime.timedelta(days=1)
START = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
LEAVES = {"apiext-admin.crt", "apiext-admin.key", "apiserver.crt", "apiserver.key"}


def _files(folder: Path) -> dict[str, bytes]:
    """Return the keys and certificates, without files that a server is writing."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def _changed(folder: Path, days: float, hosts: list[str] = HOSTS) -> set[str]:
    """Return the names of the files that a check after some days changes."""
    before = _files(folder)
    ensure_pki(folder, hosts, START + days * DAY)
    return {name for name, data in _files(folder).items() if data != before[name]}


def _bundle(pki: Pki) -> list[str]:
    return certificate.certificates(pki.authority.cert.read_text())


def _trusts(authority: str, pair: KeyPair) -> bool:
    """Return whether a client with an authority completes a handshake with the server, whatever the time is."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cadata=authority)
    server.load_cert_chain(pair.cert, pair.key)
    client.verify_flags |= 0x200000  # X509_V_FLAG_NO_CHECK_TIME
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
    return True


@pytest.mark.parametrize("days, renewed", [(0, set()), (291, set()), (293, LEAVES), (400, LEAVES)])
def test_renews_leaves(tmp_path: Path, days: int, renewed: set[str]) -> None:
    """Renew leaf certificates after 80 % of their lifetime."""
    ensure_pki(tmp_path, HOSTS, START)

    assert _changed(tmp_path, days) == renewed
    assert _changed(tmp_path, days) == set()


def test_renews_the_authority_with_overlap(tmp_path: Path) -> None:
    """Publish a new authority beside the old one, which trusts its certificates, and drop the old one when it expires."""
    pki = ensure_pki(tmp_path, HOSTS, START)
    (old,) = _bundle(pki)
    ensure_pki(tmp_path, HOSTS, START + 3000 * DAY)

    assert _changed(tmp_path, 3249) == set()
    assert _changed(tmp_path, 3251) == {"apiext-ca.crt"}
    new, kept = _bundle(pki)
    assert kept == old
    assert _changed(tmp_path, 3400) == LEAVES
    assert [_trusts(authority, pki.serving) for authority in (old, new)] == [True, True]
    assert "apiext-ca.crt" in _changed(tmp_path, 3651)
    assert _bundle(pki) == [new]


def test_issues_within_the_authoritys_lifetime(tmp_path: Path) -> None:
    """Issue certificates that are valid at every check and end before their authority."""
    for days in range(0, 9000, 150):
        moment = START + days * DAY
        pki = ensure_pki(tmp_path, HOSTS, moment)

        end = certificate.end_of_validity(_bundle(pki)[0])
        for pair in (pki.serving, pki.admin):
            life = certificate.validity(pair.cert.read_text())
            assert life is not None
            assert end is not None
            assert life[0] <= moment < life[1] < end


def test_replaces_an_authority_without_key(tmp_path: Path) -> None:
    """Create a new authority and new certificates where the key is lost; keep the old authority in the bundle."""
    pki = ensure_pki(tmp_path, HOSTS, START)
    (old,) = _bundle(pki)
    pki.authority.key.unlink()

    pki = ensure_pki(tmp_path, HOSTS, START)

    new, kept = _bundle(pki)
    assert kept == old
    assert (_trusts(new, pki.serving), _trusts(old, pki.serving)) == (True, False)


@pytest.mark.parametrize("name", ["apiserver", "apiext-admin"])
def test_replaces_mismatched_pairs(tmp_path: Path, name: str) -> None:
    """Issue a certificate again whose key does not match, as after a crash."""
    pki = ensure_pki(tmp_path / "a", HOSTS, START)
    (tmp_path / "a" / f"{name}.key").write_bytes(pki.authority.key.read_bytes())

    assert _changed(tmp_path / "a", 0) == {f"{name}.crt", f"{name}.key"}
    assert pki.serving.is_valid()
    assert pki.admin.is_valid()


def test_servers_with_one_folder_agree(tmp_path: Path) -> None:
    """Keep the hosts of all servers in a shared certificate, also after its renewal."""
    one, other = ["localhost", "10.0.0.1"], ["localhost", "10.0.0.2"]
    for days in (0, 293):
        ensure_pki(tmp_path, one, START + days * DAY)
        assert _changed(tmp_path, days, other) == {"apiserver.crt", "apiserver.key"}

        assert _changed(tmp_path, days, one) == set()
        assert _changed(tmp_path, days, other) == set()


def test_limits_the_number_of_hosts(tmp_path: Path) -> None:
    """Keep the newest hosts, up to a maximum."""
    for number in range(4):
        ensure_pki(tmp_path, [f"host-{number}-{index}" for index in range(40)], START)

    text = (tmp_path / "apiserver.crt").read_text()
    assert [certificate.covers(text, [f"host-{number}-0"]) for number in range(4)] == [False, True, True, True]


def test_renews_once_in_parallel(tmp_path: Path) -> None:
    """Renew once where several servers check at the same time."""
    ensure_pki(tmp_path, HOSTS, START)
    found: list[dict[str, bytes]] = []

    def check() -> None:
        ensure_pki(tmp_path, HOSTS, START + 300 * DAY)
        found.append(_files(tmp_path))

    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [found[0]] * 4


def test_uses_the_system_clock(tmp_path: Path) -> None:
    """Issue certificates that start about now by default."""
    life = certificate.validity(ensure_pki(tmp_path, HOSTS).serving.cert.read_text())

    assert life is not None
    assert life[0] < datetime.datetime.now(datetime.UTC) < life[0] + DAY
