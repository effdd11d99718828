"""Validation of a webhook's URL or Service (apiserver pkg/util/webhook/validation.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.golang.url import parse_url

if TYPE_CHECKING:
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
