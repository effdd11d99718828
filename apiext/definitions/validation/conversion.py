"""Validation of a definition's conversion strategy and webhook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.definitions.validation.ca_bundle import ca_bundle_errors
from apiext.definitions.validation.review_versions import REVIEW_VERSIONS, has_known_review_version
from apiext.meta import field, names
from apiext.meta.golang.url import parse_url

if TYPE_CHECKING:
    from apiext.definitions.validation.options import ValidationOptions
    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.field import FieldError, Path

_STRATEGIES: Final = ("None", "Webhook")
_FORMAT_HINT: Final = "; desired format: https://host[/path]"


def conversion_errors(conversion: Object, path: Path, options: ValidationOptions) -> list[FieldError]:
    """Return the errors of a CustomResourceConversion in v1beta1 form."""
    errors: list[FieldError] = []
    strategy, client = conversion["strategy"], conversion.get("webhookClientConfig")
    versions: list[str] = conversion.get("conversionReviewVersions") or []
    if not strategy:
        errors.append(field.required(path.child("strategy")))
    elif strategy not in _STRATEGIES:
        errors.append(field.not_supported(path.child("strategy"), strategy, _STRATEGIES))
    if strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        if client is not None:
            errors.append(field.forbidden(path.child("webhookClientConfig"), detail))
        if versions:
            errors.append(field.forbidden(path.child("conversionReviewVersions"), detail))
        return errors
    if client is None:
        errors.append(field.required(path.child("webhookClientConfig"), "required when strategy is set to Webhook"))
    else:
        errors += _client_errors(client, path.child("webhookClientConfig"), options)
    return errors + _review_version_errors(versions, path.child("conversionReviewVersions"), options)


def _client_errors(client: Object, path: Path, options: ValidationOptions) -> list[FieldError]:
    url, service = client.get("url"), client.get("service")
    if url is not None and service is None:
        errors = url_errors(url, path.child("url"))
    elif service is not None and url is None:
        errors = _service_errors(service, path.child("service"))
    else:
        errors = [field.required(path, "exactly one of url or service is required")]
    if options.ca_bundle and client.get("caBundle"):
        errors += ca_bundle_errors(client["caBundle"], path.child("caBundle"))
    return errors


def _review_version_errors(versions: list[str], path: Path, options: ValidationOptions) -> list[FieldError]:
    if not versions:
        return [field.required(path)]
    errors: list[FieldError] = []
    known: set[str] = set()
    for index, version in enumerate(versions):
        problems = ["duplicate version"] if version in known else names.dns1035_label(version)
        errors += [field.invalid(path.index(index), version, problem) for problem in problems]
        known.add(version)
    if options.recognized_review_version and not has_known_review_version(versions):
        errors.append(field.invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}"))
    return errors


def url_errors(url: str, path: Path) -> list[FieldError]:
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
