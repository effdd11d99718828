"""The EncryptionConfiguration of a file, and its errors."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from apiext.base.meta.configuration import ConfigurationError
from apiext.base.meta.gvk import GroupResource
from apiext.storage.value.configuration import IdentityProvider, KeyedProvider, KMSProvider, read_encryption_configuration

SECRET = base64.b64encode(bytes(range(32))).decode()
AESCBC = {"aescbc": {"keys": [{"name": "key1", "secret": SECRET}]}}
KMS = {"apiVersion": "v2", "name": "vault", "endpoint": "unix:///run/kms.sock"}


def document(*groups: tuple[list[str], list[Any]], **more: Any) -> bytes:
    """Return a file with resources and their providers."""
    found = [{"resources": resources, "providers": providers} for resources, providers in groups]
    return json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration", "resources": found} | more).encode()


def problem(tmp_path: Path, data: bytes, *, reload: bool = False) -> str:
    """Return the error of a file."""
    path = tmp_path / "encryption.yaml"
    path.write_bytes(data)
    with pytest.raises(ConfigurationError) as error:
        read_encryption_configuration(path, reload=reload)
    return str(error.value)


def test_reads_providers(tmp_path: Path) -> None:
    """Read resources with wildcards, and providers in order with their defaults."""
    path = tmp_path / "encryption.yaml"
    path.write_bytes(document((["secrets", "*.example.com"], [AESCBC, {"kms": dict(KMS)}, {"identity": {}}])))

    found = read_encryption_configuration(path)

    (group,) = found.resources
    assert group.resources == (GroupResource("", "secrets"), GroupResource("example.com", "*"))
    assert group.providers == (
        KeyedProvider("aescbc", (("key1", bytes(range(32))),)),
        KMSProvider("vault", "unix:///run/kms.sock", 3.0),
        IdentityProvider(),
    )
    assert found.digest.startswith("sha256:")
    assert SECRET not in repr(found)
    assert repr(bytes(range(32))) not in repr(found)


def test_reads_the_old_kind(tmp_path: Path) -> None:
    """The reference also accepts v1 EncryptionConfig."""
    path = tmp_path / "encryption.yaml"
    path.write_bytes(document((["secrets"], [AESCBC]), apiVersion="v1", kind="EncryptionConfig"))

    assert len(read_encryption_configuration(path).resources) == 1


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "the file is empty"),
        (b"{", "invalid YAML"),
        (document(extra=1), "Additional properties are not allowed ('extra' was unexpected)"),
        (
            document((["secrets"], [{"aescbc": {"keys": [{"name": 1}]}}])),
            "resources[0].providers[0].aescbc.keys[0].name: not of type string",
        ),
        (
            document((["secrets"], [AESCBC]), kind="Other"),
            "matches none of the alternatives (kind: 'EncryptionConfiguration' was expected, apiVersion: 'v1' was expected, ",
        ),
        (document((["secrets"], [AESCBC]), extra=1).replace(b'"extra": 1', f'"extra": !!int "{SECRET}"'.encode()), "invalid YAML: a value"),
        (document(), "resources: Required value: at least one resources is required"),
    ],
    ids=["empty", "yaml", "unknown", "type", "kind", "tag", "without resources"],
)
def test_malformed_files(tmp_path: Path, data: bytes, message: str) -> None:
    """The error has the path of what is wrong, and no secrets."""
    found = problem(tmp_path, data)

    assert message in found
    assert SECRET not in found


@pytest.mark.parametrize(
    "resources, message",
    [
        ([], "resources[0].resources: Required value: at least one resources[0].resources is required"),
        (["Secrets"], 'resources[0].resources[0]: Invalid value: "Secrets": resource name should not contain capital letters'),
        (["*"], "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"),
        (["apiserveripinfo"], "resources which do not have REST API/s cannot be encrypted"),
        (["*.events.k8s.io"], "'*.events.k8s.io' objects are stored using the 'events' API group in etcd"),
        (["*.extensions"], "'extensions' group has been removed"),
        (["secrets.*"], "encrypting the same resource across groups is not supported"),
        (["secrets", "secrets"], "the same resource cannot be specified multiple times"),
        (["secrets", "*."], "using overlapping resources such as 'secrets' and '*.'"),
        (["secrets", "*.*"], "using overlapping resources such as 'secrets' and '*.'"),
    ],
)
def test_resources(tmp_path: Path, resources: list[str], message: str) -> None:
    """Refuse names with the reference's words."""
    assert message in problem(tmp_path, document((resources, [AESCBC])))


def test_masked_resources(tmp_path: Path) -> None:
    """Refuse a resource that an earlier wildcard covers."""
    for wildcard, resource, shown in (
        ("*.*", "a.example.com", "*.*"),
        ("*.", "secrets", "*."),
        ("*.example.com", "a.example.com", "*.example.com"),
    ):
        found = problem(tmp_path, document(([wildcard], [AESCBC]), ([resource], [AESCBC])))

        assert found == f'resource "{resource}" is masked by earlier rule "{shown}"'


@pytest.mark.parametrize(
    "provider, message",
    [
        ({}, "providers[0]: Invalid value: provider does not contain any of the expected providers"),
        ({"identity": None}, "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"),
        ({**AESCBC, "identity": {}}, "more than one provider specified in a single element"),
        ({"aesgcm": {}}, "providers[0].aesgcm.keys: Required value: at least one keys is required"),
        ({"aesgcm": {"keys": [{"secret": SECRET}]}}, "keys[0].name: Required value: name is a mandatory field for a key"),
        ({"aesgcm": {"keys": [{"name": "a"}]}}, "keys[0].secret: Required value: secret is a mandatory field for a key"),
        ({"aesgcm": {"keys": [{"name": "a", "secret": "%"}]}}, 'secret: Invalid value: "REDACTED": secrets must be base64 encoded'),
        (
            {"secretbox": {"keys": [{"name": "a", "secret": "YWFh"}]}},
            'secret: Invalid value: "REDACTED": secret is not of the expected length, got 3, expected one of [32]',
        ),
        ({"aescbc": {"keys": [{"name": "a", "secret": "YWFh"}]}}, "got 3, expected one of [16 24 32]"),
        ({"kms": KMS | {"name": ""}}, "kms.name: Required value: name is a mandatory field for a provider"),
        ({"kms": KMS | {"name": "a:b"}}, "invalid KMS provider name a:b, must not contain ':'"),
        ({"kms": KMS | {"timeout": "0s"}}, "kms.timeout: Invalid value"),
        ({"kms": KMS | {"endpoint": ""}}, 'kms.endpoint: Invalid value: "": endpoint is a mandatory field for a kms'),
        ({"kms": KMS | {"endpoint": "tcp://a"}}, 'unsupported scheme "tcp" for KMS provider, only unix is supported'),
        ({"kms": KMS | {"cachesize": 5}}, "kms.cachesize: Invalid value: 5: cachesize is not supported in v2"),
        ({"kms": KMS | {"apiVersion": "v3"}}, "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported"),
        ({"kms": KMS | {"apiVersion": "v1"}}, "the KMS provider vault has apiVersion v1, which is deprecated"),
    ],
)
def test_providers(tmp_path: Path, provider: dict[str, Any], message: str) -> None:
    """Refuse providers with the reference's words, without their secrets."""
    found = problem(tmp_path, document((["secrets"], [provider])))

    assert message in found
    assert SECRET not in found


def test_names_of_plugins_are_unique(tmp_path: Path) -> None:
    """A name may not appear twice, in other resources either."""
    data = document((["secrets"], [{"kms": dict(KMS)}]), (["configmaps"], [{"kms": dict(KMS)}]))

    assert "duplicate KMS provider name vault, names must be unique" in problem(tmp_path, data)


def test_missing_file(tmp_path: Path) -> None:
    """A file that is not there has the system's reason."""
    with pytest.raises(ConfigurationError, match="No such file"):
        read_encryption_configuration(tmp_path / "none")
