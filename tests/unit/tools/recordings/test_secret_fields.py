"""Fields and texts that hold secrets."""

import pytest

from apiext.tools.recordings.redaction import has_secret_form, is_reference_name, is_secret_name


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "dbPassword",
        "DB_PASSWORD",
        "token",
        "apiToken2",
        "secretAccessKey",
        "privateKey",
        "apikey",
        "API_KEY",
        "secret",
        "tokens",
        "connectionString",
        "example.com/auth-token",
        "kubeConfig",
        "HTTPPassword",
    ],
)
def test_names_of_secrets(name: str) -> None:
    """Recognize names in camel case and of environment variables by their last words."""
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "secretName",
        "passwordSecretRef",
        "secretKeyRef",
        "tokenExpirationSeconds",
        "passwordPolicy",
        "key",
        "name",
        "broken",
        "compass",
        "secretTemplate",
        "passwordFile",
        "tokenReview",
        "bypassed",
        "1",
    ],
)
def test_other_names(name: str) -> None:
    """Leave names of references, settings and parts of words."""
    assert not is_secret_name(name)


def test_references() -> None:
    """Recognize members that say where a secret is."""
    assert all(map(is_reference_name, ("name", "secretName", "key", "namespace", "serviceAccountRef", "mountPath")))
    assert not any(map(is_reference_name, ("value", "data", "monkey")))


def test_forms() -> None:
    """Recognize private keys, signed tokens and passwords in URLs."""
    key = "-----BEGIN RSA PRIVATE KEY-----\nx"
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlCg"

    assert all(map(has_secret_form, (key, f"Bearer {token}", "postgres://u:p@host/db", "ghp_0123456789abcdef")))
    assert not any(map(has_secret_form, ("https://host:80/path@x", "-----BEGIN CERTIFICATE-----", "user@host", "a.b.c")))
