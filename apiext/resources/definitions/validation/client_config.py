"""Validation of a webhook's URL or Service (apiserver pkg/util/webhook/validation.go).

Ca bundle: client-go transport.TLSConfigFor.
"""

from __future__ import annotations

import base64
import re
import ssl
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.golang.url import parse_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path

_FORMAT_HINT: Final = "; desired format: https://host[/path]"


def client_config_errors(client: Object, path: Path) -> list[FieldError]:
    """Return the errors of the URL or Service of a webhook: it has one of them."""
    url, service = client.get("url"), client.get("service")
    if url is not None and service is None:
        return _url_errors(url, path.child("url"))
    if service is not None and url is None:
        return _service_errors(service, path.child("service"))
    return [field.required(path, "exactly one of url or service is required")]


def _url_errors(url: str, path: Path) -> list[FieldError]:
    """Return the errors of a webhook's URL (apiserver pkg/util/webhook ValidateWebhookURL)."""
    try:
        parts = parse_url(url)
    except ValueError as error:
        return [field.required(path, f"url must be a valid URL: {error}{_FORMAT_HINT}")]
    errors = []
    if parts.scheme != "https":
        errors.append(field.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORMAT_HINT}"))
    if not parts.host:
        errors.append(field.invalid(path, parts.host, f"host must be specified{_FORMAT_HINT}"))
    for part, problem in (
        (parts.user, "user information is not permitted in the URL"),
        (parts.fragment, "fragments are not permitted in the URL"),
        (parts.raw_query, "query parameters are not permitted in the URL"),
    ):
        if part:
            errors.append(field.invalid(path, part, problem))
    return errors


def _service_errors(service: Object, path: Path) -> list[FieldError]:
    """Return the errors of a webhook's Service (apiserver pkg/util/webhook ValidateWebhookService)."""
    errors: list[FieldError] = []
    # The reference swaps name and namespace: a missing one is reported under the other's path.
    if not service["namespace"]:
        errors.append(field.required(path.child("name")))
    if not service["name"]:
        errors.append(field.required(path.child("namespace")))
    port = service.get("port")
    if not isinstance(port, int) or not 1 <= port <= 65535:
        detail = "port is not valid: must be between 1 and 65535, inclusive"
        errors.append(field.invalid(path.child("port"), port, detail))
    return errors + _service_path_errors(service.get("path"), path.child("path"))


def _service_path_errors(url_path: str | None, path: Path) -> list[FieldError]:
    if url_path in (None, "", "/"):
        return []
    problems = [] if url_path.startswith("/") else ["must start with a '/'"]
    for index, segment in enumerate(url_path[1:].removesuffix("/").split("/")):
        if segment:
            problems += [f"segment[{index}]: {problem}" for problem in names.dns1123_subdomain(segment)]
        else:
            problems.append(f"segment[{index}] may not be empty")
    return [field.invalid(path, url_path, problem) for problem in problems]


_BLOCK: Final = re.compile(
    r"^-----BEGIN (?P<type>[^\n-]+)-----[ \t]*\r?\n(?P<body>[^-]*)^-----END (?P=type)-----[ \t]*(?:\r?\n|\Z)", re.MULTILINE
)


def ca_bundle_errors(bundle: str, path: Path) -> list[FieldError]:
    """Return the errors of a base64-encoded PEM bundle: none if it is empty or at least one certificate can be parsed."""
    text = base64.b64decode(bundle).decode("latin-1")
    if not text:
        return []
    certificates = [block["body"] for block in _BLOCK.finditer(text) if block["type"] == "CERTIFICATE" and ":" not in block["body"]]
    if any(map(_is_certificate, certificates)):
        return []
    if certificates:
        reason = "failed to parse certificate: x509: malformed certificate"
    elif _BLOCK.sub("", text):
        reason = "unable to parse bytes as PEM block"
    else:
        reason = "no valid certificate authority data seen"
    return [field.invalid(path, bundle, f"unable to load root certificates: {reason}")]


def _is_certificate(body: str) -> bool:
    try:
        der = base64.b64decode("".join(body.split()), validate=True)
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=der)
    except (ssl.SSLError, ValueError):
        return False
    return True


REVIEW_VERSIONS: Final = ("v1", "v1beta1")


def has_known_review_version(versions: Sequence[str]) -> bool:
    """Report whether a webhook accepts a known version of the review, or declares none."""
    return not versions or any(version in REVIEW_VERSIONS for version in versions)


def review_version_errors(versions: Sequence[str], path: Path, *, recognized: bool) -> list[FieldError]:
    """Return the errors of a list of versions, which is not empty. `recognized`: one of them must be known."""
    errors: list[FieldError] = []
    found: set[str] = set()
    for index, version in enumerate(versions):
        problems = ["duplicate version"] if version in found else names.dns1035_label(version)
        errors += [field.invalid(path.index(index), version, problem) for problem in problems]
        found.add(version)
    if recognized and not has_known_review_version(versions):
        errors.append(field.invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}"))
    return errors
