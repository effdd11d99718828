"""The kubeconfig of the server's own admin, with everything inside the file."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from apiext.server.atomic_files import read_file, write_file

if TYPE_CHECKING:
    from pathlib import Path

    from apiext.server.tls.server_pki import KeyPair

_TEXT = """\
apiVersion: v1
kind: Config
clusters:
- name: apiext
  cluster:
    server: {url}
{authority}contexts:
- name: apiext
  context:
    cluster: apiext
    user: apiext-admin
current-context: apiext
users:
- name: apiext-admin
  user:
    client-certificate-data: {cert}
    client-key-data: {key}
"""


def write_kubeconfig(path: Path, *, url: str, authority: Path | None, admin: KeyPair) -> None:
    """Write it unless the file holds the same already. Raises OSError.

    Without an authority clients trust the server by the system's authorities.
    """
    trust = f"    certificate-authority-data: {_data(authority)}\n" if authority else ""
    text = _TEXT.format(url=url, authority=trust, cert=_data(admin.cert), key=_data(admin.key))
    if read_file(path) != text:
        write_file(path, text, mode=0o600)


def names_server(path: Path, url: str) -> bool:
    """Whether a kubeconfig that was written here leads to a server. Raises OSError."""
    return f"    server: {url}\n" in read_file(path)


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
