"""The server's own certificates as years go by."""

import datetime
import ssl
import threading
from pathlib import Path

import pytest

from apiext.cert import certificate
from apiext.server.tls.server_pki import KeyPair, Pki, ensure_pki, now

HOSTS = ["127.0.0.1", "localhost"]
DAY = datetime.timedelta(days=1)
START = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
LEAVES = {"apiext-admin.crt", "apiext-admin.key", "apiserver.crt", "apiserver.key"}


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix}


def _changed(folder: Path, days: float, hosts: list[str] = HOSTS) -> set[str]:
    """The names of the files that change when a server looks after some days."""
    before = _files(folder)
    ensure_pki(folder, hosts, START + days * DAY)
    return {name for name, data in _files(folder).items() if data != before[name]}


def _bundle(pki: Pki) -> list[str]:
    return certificate.certificates(pki.authority.cert.read_text())


def _trusts(authority: str, pair: KeyPair) -> bool:
    """Whether a client that trusts an authority takes the server for the one that it asked for, clocks aside."""
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
def test_leaves_after_most_of_their_life(tmp_path: Path, days: int, renewed: set[str]) -> None:
    """What the authority has issued is renewed after 80 % of its life."""
    ensure_pki(tmp_path, HOSTS, START)

    assert _changed(tmp_path, days) == renewed
    assert _changed(tmp_path, days) == set()


def test_authority_is_renewed_with_overlap(tmp_path: Path) -> None:
    """The next authority is published beside the old one, whose clients trust what it issues; the old one goes when it has ended."""
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


def test_no_certificate_outlives_its_authority(tmp_path: Path) -> None:
    """Whenever a server looks, everything is valid then, and ends before its authority does."""
    for days in range(0, 9000, 150):
        moment = START + days * DAY
        pki = ensure_pki(tmp_path, HOSTS, moment)

        end = certificate.end_of_validity(_bundle(pki)[0])
        for pair in (pki.serving, pki.admin):
            life = certificate.validity(pair.cert.read_text())
            assert life is not None
            assert end is not None
            assert life[0] <= moment < life[1] < end


def test_lost_key_of_the_authority(tmp_path: Path) -> None:
    """Without its key there is a new authority, which issues everything anew; certificates of the old one stay good for clients."""
    pki = ensure_pki(tmp_path, HOSTS, START)
    (old,) = _bundle(pki)
    pki.authority.key.unlink()

    pki = ensure_pki(tmp_path, HOSTS, START)

    new, kept = _bundle(pki)
    assert kept == old
    assert (_trusts(new, pki.serving), _trusts(old, pki.serving)) == (True, False)


@pytest.mark.parametrize("name", ["apiserver", "apiext-admin"])
def test_halves_that_do_not_belong_together(tmp_path: Path, name: str) -> None:
    """A certificate with another one's key, as a crash leaves it, is made anew."""
    pki = ensure_pki(tmp_path / "a", HOSTS, START)
    (tmp_path / "a" / f"{name}.key").write_bytes(pki.authority.key.read_bytes())

    assert _changed(tmp_path / "a", 0) == {f"{name}.crt", f"{name}.key"}
    assert pki.serving.is_sound()
    assert pki.admin.is_sound()


def test_servers_of_one_folder_do_not_fight(tmp_path: Path) -> None:
    """Servers with different hosts settle on a certificate that names all of them, also after it is renewed."""
    one, other = ["localhost", "10.0.0.1"], ["localhost", "10.0.0.2"]
    for days in (0, 293):
        ensure_pki(tmp_path, one, START + days * DAY)
        assert _changed(tmp_path, days, other) == {"apiserver.crt", "apiserver.key"}

        assert _changed(tmp_path, days, one) == set()
        assert _changed(tmp_path, days, other) == set()


def test_hosts_that_change_often(tmp_path: Path) -> None:
    """A machine that has another name at each start has the newest ones in its certificate, which does not grow for ever."""
    for number in range(4):
        ensure_pki(tmp_path, [f"host-{number}-{index}" for index in range(40)], START)

    text = (tmp_path / "apiserver.crt").read_text()
    assert [certificate.covers(text, [f"host-{number}-0"]) for number in range(4)] == [False, True, True, True]


def test_servers_that_renew_at_once(tmp_path: Path) -> None:
    """Of servers that look at the same moment one renews, and all find the same files."""
    ensure_pki(tmp_path, HOSTS, START)
    found: list[dict[str, bytes]] = []

    def look() -> None:
        ensure_pki(tmp_path, HOSTS, START + 300 * DAY)
        found.append(_files(tmp_path))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [found[0]] * 4


def test_the_clock_is_the_system_s(tmp_path: Path) -> None:
    """Without a clock of the caller's, certificates begin about now."""
    life = certificate.validity(ensure_pki(tmp_path, HOSTS).serving.cert.read_text())

    assert life is not None
    assert life[0] < now() < life[0] + DAY
