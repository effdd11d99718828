"""Options of `apiext convert serve`."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from apiext.base.meta.flags import OptionsError
from apiext.operator.ca_bundle import read_ca_bundle
from apiext.operator.conversionserver.webhook_target import WebhookTarget
from apiext.operator.names import NamespacedName
from apiext.operator.options import ClusterFlagReader, LeaseTiming, read_timing
from apiext.server.tls.server_pki import KeyPair


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions:
    """The validated options."""

    kubeconfig: Path | None
    """None for the service account of the pod."""
    bind_address: str
    port: int
    target: WebhookTarget
    certificate: KeyPair | None
    """The files of the serving certificate, None if it is in `secret`."""
    secret: NamespacedName | None
    manage_secret: bool
    ca_file: Path | None
    """The CA bundle for the CRDs with a certificate of files; without it others write caBundle."""
    min_tls_version: str
    namespace: str
    leader_elect: bool
    timing: LeaseTiming
    shutdown_delay: float
    verbosity: int = 0


def read_options(flags: Mapping[str, Any]) -> ConvertOptions:
    """Return the options for the flags of the command line. Raises OptionsError with all problems."""
    reader = ClusterFlagReader(flags)
    options = ConvertOptions(
        kubeconfig=reader.file("kubeconfig"),
        bind_address=_address(reader),
        port=reader.number("secure_port", 9443, most=65535),
        target=WebhookTarget(
            service=reader.named("service") or NamespacedName("", ""),
            port=reader.number("service_port", 443, least=1, most=65535),
            url=_url(reader),
        ),
        certificate=_certificate(reader),
        secret=reader.named("serving_secret"),
        manage_secret=bool(reader.value("manage_serving_secret")),
        ca_file=reader.file("ca_file"),
        min_tls_version=reader.text("tls_min_version", "VersionTLS12"),
        namespace=reader.text("namespace"),
        leader_elect=bool(reader.value("leader_elect")),
        timing=read_timing(reader),
        shutdown_delay=reader.seconds("shutdown_delay_duration", 0.0),
        verbosity=reader.number("v", 0),
    )
    _check(reader, options)
    if reader.problems:
        raise OptionsError(reader.problems)
    return options


def _check(reader: ClusterFlagReader, options: ConvertOptions) -> None:
    reader.require_both("tls_cert_file", "tls_private_key_file")
    if not reader.value("service") and not reader.value("url"):
        reader.add_problem("service", "it must say where kube-apiserver finds this webhook, as NAMESPACE/NAME; or --url must")
    if bool(reader.value("tls_cert_file")) == bool(reader.value("serving_secret")):
        reader.add_problem("serving_secret", "give it or --tls-cert-file")
    if options.min_tls_version not in {"VersionTLS12", "VersionTLS13"}:
        reader.add_problem("tls_min_version", f"{options.min_tls_version!r} is neither VersionTLS12 nor VersionTLS13")
    if options.secret is not None and options.ca_file is not None:
        reader.add_problem("ca_file", "--serving-secret holds the CA")
    elif options.ca_file is not None and options.ca_file.is_file():
        try:
            read_ca_bundle(options.ca_file)
        except (OSError, ValueError) as error:
            reader.add_problem("ca_file", f"{options.ca_file}: {error}")


def _address(reader: ClusterFlagReader) -> str:
    text = reader.text("bind_address", "0.0.0.0")  # noqa: S104 -- kube-apiserver comes from outside of the pod
    try:
        ipaddress.ip_address(text)
    except ValueError:
        reader.add_problem("bind_address", f"{text!r} is not an IP address")
    return text


def _url(reader: ClusterFlagReader) -> str:
    text = reader.text("url")
    parts = urlsplit(text)
    # kube-apiserver refuses user names, queries and fragments in the URL of a webhook
    if text and (parts.scheme != "https" or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment):
        reader.add_problem("url", f"{text!r} is not an https:// URL without user, query and fragment")
    return text


def _certificate(reader: ClusterFlagReader) -> KeyPair | None:
    cert, key = reader.file("tls_cert_file"), reader.file("tls_private_key_file")
    return KeyPair(cert, key) if cert and key else None
