"""Transformers of values: layouts, errors, and the choice by prefix."""

import pytest

from apiext.base.meta.gvk import GroupResource
from apiext.storage.value.aes import CBCTransformer, GCMTransformer
from apiext.storage.value.configuration import EncryptedResources, EncryptionConfiguration, IdentityProvider, KeyedProvider, Provider
from apiext.storage.value.encryption import IdentityTransformer, Providers
from apiext.storage.value.secretbox import SecretboxTransformer
from apiext.storage.value.transformer import TransformationStats, Transformer, TransformError

KEY = bytes(range(32))
WIDGETS = GroupResource("example.com", "widgets")
CONTEXT = b"/registry/example.com/widgets/default/one"
TRANSFORMERS: dict[str, Transformer] = {
    "aescbc": CBCTransformer(KEY),
    "aesgcm": GCMTransformer(KEY),
    "secretbox": SecretboxTransformer(KEY),
}


def keyed(type_: str, *names: str) -> KeyedProvider:
    """Return a provider whose keys differ by name."""
    return KeyedProvider(type_, [(name, name.encode().ljust(32, b"\0")) for name in names])


def transformer(*providers: Provider, stats: TransformationStats | None = None) -> Transformer:
    """Return the transformer of widgets with some providers."""
    configuration = EncryptionConfiguration([EncryptedResources([WIDGETS], providers)], "")
    found = Providers(configuration, stats or TransformationStats()).transformer(WIDGETS)
    assert found is not None
    return found


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 2000])
@pytest.mark.parametrize("type_", TRANSFORMERS)
def test_round_trip(type_: str, size: int) -> None:
    """A value of any size is restored, and two values of one object differ."""
    one, data = TRANSFORMERS[type_], bytes(size)

    stored = one.to_storage(data, CONTEXT)

    assert one.from_storage(stored, CONTEXT) == (data, False)
    assert stored != one.to_storage(data, CONTEXT)


@pytest.mark.parametrize(
    "type_, overhead", [("aescbc", 16 + 16), ("aesgcm", 12 + 16), ("secretbox", 24 + 16)], ids=["aescbc", "aesgcm", "secretbox"]
)
def test_layout(type_: str, overhead: int) -> None:
    """The nonce comes first; padding or tag make the value longer as in the reference."""
    assert len(TRANSFORMERS[type_].to_storage(bytes(32), CONTEXT)) == 32 + overhead


@pytest.mark.parametrize(
    "type_, data, message",
    [
        ("aescbc", bytes(15), "the stored data was shorter than the required size"),
        ("aescbc", bytes(17), "the stored data is not a multiple of the block size"),
        ("aescbc", bytes(16), "invalid PKCS7 data (empty or not padded)"),
        ("aesgcm", bytes(11), "the stored data was shorter than the required size"),
        ("aesgcm", bytes(12), "cipher: message authentication failed"),
        ("aesgcm", bytes(64), "cipher: message authentication failed"),
        ("secretbox", bytes(39), "the stored data was shorter than the required size"),
        ("secretbox", bytes(40), "output array was not large enough for encryption"),
    ],
)
def test_refuses_malformed_values(type_: str, data: bytes, message: str) -> None:
    """The error has the reference's words."""
    with pytest.raises(TransformError) as error:
        TRANSFORMERS[type_].from_storage(data, CONTEXT)

    assert str(error.value) == message


def test_refuses_wrong_padding() -> None:
    """AES-CBC reports padding whose bytes differ, and padding that is impossible."""
    whole = CBCTransformer(KEY).to_storage(b"a" * 14, CONTEXT)
    flipped = bytearray(whole)
    # of the two padding bytes of value 2, the vector changes the first or the last one
    flipped[14] ^= 1
    with pytest.raises(TransformError, match="invalid padding on input"):
        CBCTransformer(KEY).from_storage(bytes(flipped), CONTEXT)
    flipped = bytearray(whole)
    flipped[15] ^= 2
    with pytest.raises(TransformError, match="invalid PKCS7 data"):
        CBCTransformer(KEY).from_storage(bytes(flipped), CONTEXT)


def test_gcm_authenticates_the_key_in_the_store() -> None:
    """A value that is copied to another object cannot be read."""
    stored = GCMTransformer(KEY).to_storage(b"secret", CONTEXT)

    with pytest.raises(TransformError, match="message authentication failed"):
        GCMTransformer(KEY).from_storage(stored, CONTEXT + b"2")


@pytest.mark.parametrize("type_", TRANSFORMERS)
def test_prefix(type_: str) -> None:
    """The prefix names provider, version and key."""
    one = transformer(keyed(type_, "key1"))

    stored = one.to_storage(b"{}", CONTEXT)

    assert stored.startswith(f"k8s:enc:{type_}:v1:key1:".encode())
    assert one.from_storage(stored, CONTEXT) == (b"{}", False)


def test_first_provider_and_key_write() -> None:
    """Values of other keys and providers can be read, and are stale."""
    old = transformer(keyed("aescbc", "old")).to_storage(b"{}", CONTEXT)
    second = transformer(keyed("aescbc", "new", "old"))
    third = transformer(keyed("secretbox", "new"), keyed("aescbc", "old"), IdentityProvider())

    assert second.to_storage(b"{}", CONTEXT).startswith(b"k8s:enc:aescbc:v1:new:")
    assert second.from_storage(old, CONTEXT) == (b"{}", True)
    assert third.from_storage(old, CONTEXT) == (b"{}", True)
    assert third.from_storage(b"{}", CONTEXT) == (b"{}", True)


def test_identity_first_reads_encrypted_values() -> None:
    """Identity as the first provider writes plain values, and leaves encrypted ones to the others."""
    one = transformer(IdentityProvider(), keyed("aesgcm", "key1"))
    encrypted = transformer(keyed("aesgcm", "key1")).to_storage(b"{}", CONTEXT)

    assert one.to_storage(b"{}", CONTEXT) == b"{}"
    assert one.from_storage(b"{}", CONTEXT) == (b"{}", False)
    assert one.from_storage(encrypted, CONTEXT) == (b"{}", True)


def test_providers_with_one_prefix() -> None:
    """A failure of one provider does not prevent another one with the same prefix; several failures are all reported."""
    stored = transformer(keyed("aesgcm", "b")).to_storage(b"{}", CONTEXT)

    assert transformer(keyed("aesgcm", "a"), keyed("aesgcm", "b")).from_storage(stored, CONTEXT) == (b"{}", True)
    wrong = KeyedProvider("aesgcm", [("b", bytes(16))])
    with pytest.raises(TransformError) as error:
        transformer(keyed("aesgcm", "a"), wrong).from_storage(stored, CONTEXT)
    assert str(error.value) == ("[no matching key was found for the provided AES transformer, cipher: message authentication failed]")


def test_unknown_values() -> None:
    """A value of no provider has the reference's error."""
    with pytest.raises(TransformError, match="no matching prefix found"):
        transformer(keyed("aesgcm", "a")).from_storage(b"{}", CONTEXT)
    with pytest.raises(TransformError, match="no matching prefix found"):
        transformer(IdentityProvider()).from_storage(b"k8s:enc:aescbc:v1:a:", CONTEXT)
    with pytest.raises(TransformError, match="identity transformer tried to read encrypted data"):
        IdentityTransformer().from_storage(b"k8s:enc:aescbc:v1:a:", CONTEXT)


def test_wildcards() -> None:
    """A resource has the rule of its name, else of its group, else of all."""
    configuration = EncryptionConfiguration(
        [
            EncryptedResources([WIDGETS], [keyed("aesgcm", "name")]),
            EncryptedResources([GroupResource("example.com", "*")], [keyed("aesgcm", "group")]),
            EncryptedResources([GroupResource("*", "*")], [keyed("aesgcm", "all")]),
        ],
        "",
    )
    providers = Providers(configuration, TransformationStats())

    def key(group: str, resource: str) -> bytes:
        found = providers.transformer(GroupResource(group, resource))
        assert found is not None
        return found.to_storage(b"{}", CONTEXT).split(b":")[4]

    assert key("example.com", "widgets") == b"name"
    assert key("example.com", "gadgets") == b"group"
    assert key("", "secrets") == b"all"


def test_counts() -> None:
    """Transformations are counted by resource, direction, prefix and result, for the provider and for its key."""
    stats = TransformationStats()
    one = transformer(keyed("aesgcm", "a"), IdentityProvider(), stats=stats)
    one.from_storage(one.to_storage(b"{}", CONTEXT), CONTEXT)
    one.from_storage(b"{}", CONTEXT)
    with pytest.raises(TransformError):
        one.from_storage(b"k8s:enc:aesgcm:v1:a:short", CONTEXT)

    assert stats.operations == {
        ("widgets.example.com", "to_storage", "a:", "OK"): 1,
        ("widgets.example.com", "to_storage", "k8s:enc:aesgcm:v1:", "OK"): 1,
        ("widgets.example.com", "from_storage", "a:", "OK"): 1,
        ("widgets.example.com", "from_storage", "k8s:enc:aesgcm:v1:", "OK"): 1,
        ("widgets.example.com", "from_storage", "identity", "OK"): 1,
        ("widgets.example.com", "from_storage", "a:", "unknown-non-grpc"): 1,
        ("widgets.example.com", "from_storage", "k8s:enc:aesgcm:v1:", "unknown-non-grpc"): 1,
    }
    assert {(*what, durations.count) for what, durations in stats.durations.items()} == {
        ("to_storage", "a:", 1),
        ("to_storage", "k8s:enc:aesgcm:v1:", 1),
        ("from_storage", "a:", 1),
        ("from_storage", "k8s:enc:aesgcm:v1:", 1),
        ("from_storage", "identity", 1),
    }
