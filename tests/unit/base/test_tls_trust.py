"""Which certificates of servers clients accept."""

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apiext.base.tls_trust import trusting_context


@pytest.fixture
def made() -> tuple[bytes, bytes]:
    """Return an authority, and a certificate without an identifier of its key as kube-apiserver makes it, with the private key."""
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    authority, server = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("authority", "server")]
    now = datetime.now(UTC)
    pem = []
    for subject, key, is_authority in ((authority, keys[0], True), (server, keys[1], False)):
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(authority).public_key(key.public_key())
        builder = (
            builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
        )
        builder = builder.add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("server")]), critical=False)
        pem.append(builder.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    private = keys[1].private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    return pem[0], pem[1] + private


def test_accepts_what_go_accepts(made: tuple[bytes, bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Accept a certificate without an identifier of its authority's key on every Python, and check its name."""
    authority, server = made
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    file.write_bytes(server)
    accepting = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    accepting.load_cert_chain(file)

    assert _handshake(trusting_context(cadata=authority.decode()), accepting, "server")
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        _handshake(trusting_context(cadata=authority.decode()), accepting, "other")
    with pytest.raises(ssl.SSLCertVerificationError, match=r"self-signed|unable to get local issuer"):
        _handshake(trusting_context(), accepting, "server")


def _handshake(client: ssl.SSLContext, server: ssl.SSLContext, name: str) -> bool:
    """Let two ends shake hands in memory."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(back, there, server_hostname=name), server.wrap_bio(there, back, server_side=True)]
    while ends:
        for end in list(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            ends.remove(end)
    return True
