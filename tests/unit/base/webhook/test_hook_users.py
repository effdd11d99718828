"""Users of a kubeconfig by the webhooks that they call, as in authentication_test.go."""

import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiext.base.webhook.clientcmd.kubeconfig import KubeconfigError
from apiext.base.webhook.hook_users import load_users


def _config(*names: str, current: str = "") -> dict[str, Any]:
    contexts = [{"name": "c", "context": {"user": current}}] if current else []
    users = [{"name": name, "user": {"token": name}} for name in names]
    return {"users": users, "contexts": contexts, "current-context": "c" if current else ""}


def _token(folder: Path, config: dict[str, Any], host: str, port: int) -> str | None:
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    user = load_users(path).user(host, port)
    return None if user is None else user.endpoint("https://x", ssl.create_default_context()).authorization.removeprefix("Bearer ")


@pytest.mark.parametrize(
    "names, host, port, found",
    [
        (["one.two.three.com"], "one.two.three.com", 443, "one.two.three.com"),
        (["one.two.three.com"], "one.two.three.com", 8443, None),
        (["one.two.three.com:8443", "*"], "one.two.three.com", 8443, "one.two.three.com:8443"),
        (["*.two.three.com", "*.three.com"], "one.two.three.com", 443, "*.two.three.com"),
        (["*.com:8443", "*.three.com"], "one.two.three.com", 8443, "*.com:8443"),
        (["*.com:443", "one.two.three.com"], "one.two.three.com", 443, "*.com:443"),
        (["*"], "svc.ns.svc", 443, "*"),
        (["other"], "svc.ns.svc", 443, None),
        (["[::1]:443"], "::1", 443, "[::1]:443"),
    ],
)
def test_users(tmp_path: Path, names: list[str], host: str, port: int, found: str | None) -> None:
    """The most specific name counts, those with a port before those without."""
    assert _token(tmp_path, _config(*names), host, port) == found


def test_current_user(tmp_path: Path) -> None:
    """The user of the current context is the last resort."""
    assert _token(tmp_path, _config("me", current="me"), "svc.ns.svc", 443) == "me"
    assert _token(tmp_path, _config("me", "*", current="me"), "svc.ns.svc", 443) == "*"


@pytest.mark.parametrize(
    "user, problem",
    [
        ({"auth-provider": {"name": "x"}}, "auth provider not supported"),
        ({"client-certificate": "missing", "client-key": "missing"}, "missing"),
        ({"as": "bob"}, "the user's as is not supported"),
    ],
)
def test_unusable_users(tmp_path: Path, user: dict[str, Any], problem: str) -> None:
    """Refuse credentials that cannot be used."""
    with pytest.raises(ValueError, match=problem):
        _token(tmp_path, {"users": [{"name": "*", "user": user}]}, "h", 443)


def test_unreadable_files(tmp_path: Path) -> None:
    """Say why a file cannot be read."""
    with pytest.raises(KubeconfigError, match="No such file"):
        load_users(tmp_path / "missing")
