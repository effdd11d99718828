"""Exec plugins: programs that print an ExecCredential (client-go plugin/pkg/client/auth/exec/exec.go)."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import time
from apiext.base.webhook.clientcmd.credentials import Credential, CredentialError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

PLUGIN_TIMEOUT: Final = 60.0
"""Seconds that a plugin may run."""
_KILL_TIMEOUT: Final = 1.0
"""Seconds that a killed plugin's pipes may stay open."""
_VERSIONS: Final = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1"))
_CLUSTER_FIELDS: Final = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")
_EXTENSION: Final = "client.authentication.k8s.io/exec"


def exec_plugin(
    config: Mapping[str, Any], cluster: Mapping[str, Any], folder: Path, *, timeout: float = PLUGIN_TIMEOUT
) -> Callable[[], Awaitable[Credential]]:
    """Return a function that runs the plugin of a user's exec section; the kubeconfig has `cluster` and is in `folder`.

    Raises:
        ValueError: the section is incomplete, has an apiVersion that client-go does not support, or needs a terminal.
    """
    version = config.get("apiVersion")
    if version not in _VERSIONS:
        raise ValueError(f"the user's exec has apiVersion {version!r}, which is none of {', '.join(_VERSIONS)}")
    if config.get("interactiveMode") == "Always":
        raise ValueError("the user's exec has interactiveMode Always, and there is no terminal")
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": _spec(config, cluster, folder)}
    try:
        command, arguments = str(config["command"]), config.get("args") or ()
        given = {entry["name"]: entry["value"] for entry in config.get("env") or ()}
    except KeyError as error:
        raise ValueError(f"the user's exec: malformed request. missing key {error}") from error
    if "/" in command:
        command = str(folder / command)
    environment = {**os.environ, **given, "KUBERNETES_EXEC_INFO": json.dumps(info)}

    async def run() -> Credential:
        try:
            output = await run_command([command, *arguments], environment, timeout=timeout)
        except FileNotFoundError as error:
            hint = " ".join((config.get("installHint") or "").split())
            raise CredentialError(f"exec: executable {command} not found{f': {hint}' if hint else ''}") from error
        except OSError as error:
            raise CredentialError(f"exec: executable {command}: {error.strerror or error}") from error
        try:
            return _credential(json.loads(output), version)
        except (ValueError, TypeError, AttributeError) as error:
            raise CredentialError(f"exec: executable {command} printed no valid ExecCredential: {error}") from error

    return run


async def run_command(command: Sequence[str], environment: Mapping[str, str] | None = None, *, timeout: float = PLUGIN_TIMEOUT) -> bytes:  # noqa: ASYNC109 -- the program ends with it
    """Return a program's output on stdout. Kill its process group after `timeout` seconds or when the caller is cancelled.

    Raises:
        CredentialError: the program failed, with its stderr, or did not end in time.
        OSError: the program cannot be started.
    """
    deadline = asyncio.get_running_loop().time() + timeout
    process = await asyncio.create_subprocess_exec(
        *command,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout_at(deadline):
            output, errors = await process.communicate()
    except BaseException as error:
        await _kill(process)
        if isinstance(error, TimeoutError):
            raise CredentialError(f"exec: executable {command[0]} did not end within {timeout:g} s") from error
        raise
    if process.returncode:
        text = " ".join(errors.decode(errors="replace").split())
        raise CredentialError(f"exec: executable {command[0]} failed with exit code {process.returncode}{f': {text}' if text else ''}")
    return output


async def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill a program with its process group, and wait until it is gone and its pipes are closed."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # a child outside of the group may keep the pipes open
    with suppress(TimeoutError):
        async with asyncio.timeout(_KILL_TIMEOUT):
            await process.communicate()


def _spec(config: Mapping[str, Any], cluster: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the spec of the ExecCredential in KUBERNETES_EXEC_INFO."""
    spec: dict[str, Any] = {"interactive": False}
    if not config.get("provideClusterInfo"):
        return spec
    info = {name: cluster[name] for name in _CLUSTER_FIELDS if cluster.get(name)}
    authority = cluster.get("certificate-authority")
    if authority and "certificate-authority-data" not in info:
        info["certificate-authority-data"] = base64.b64encode((folder / authority).read_bytes()).decode()
    for extension in cluster.get("extensions") or ():
        if extension.get("name") == _EXTENSION:
            info["config"] = extension.get("extension")
    return spec | {"cluster": info}


def _credential(answer: dict[str, Any], version: str) -> Credential:
    """Return the credential of an ExecCredential. Raises ValueError, TypeError or AttributeError for an invalid one."""
    if answer.get("kind") != "ExecCredential" or answer.get("apiVersion") != version:
        raise ValueError(f"kind {answer.get('kind')!r} and apiVersion {answer.get('apiVersion')!r} instead of ExecCredential and {version}")
    status = answer.get("status") or {}
    token, certificate, key = (status.get(name) or "" for name in ("token", "clientCertificateData", "clientKeyData"))
    if bool(certificate) != bool(key):
        raise ValueError("it has only one of clientCertificateData and clientKeyData")
    if not token and not certificate:
        raise ValueError("it has neither a token nor a client certificate")
    return Credential(
        authorization=f"Bearer {token}" if token else "",
        certificate=f"{certificate}\n{key}".encode() if certificate else b"",
        expires=seconds_since_epoch(status.get("expirationTimestamp")),
    )


def seconds_since_epoch(timestamp: str | None) -> float:
    """Return an RFC 3339 timestamp as seconds since the epoch, infinity for a missing one.

    Raises:
        ValueError: the timestamp is invalid.
    """
    return time.parse(timestamp).timestamp() if timestamp else math.inf
