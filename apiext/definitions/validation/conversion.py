"""Validation of a definition's conversion strategy and webhook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.definitions.validation.ca_bundle import ca_bundle_errors
from apiext.definitions.validation.client_config import client_config_errors
from apiext.definitions.validation.review_versions import review_version_errors
from apiext.meta import field

if TYPE_CHECKING:
    from apiext.definitions.validation.options import ValidationOptions
    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.field import FieldError, Path

_STRATEGIES: Final = ("None", "Webhook")


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
    versions_path = path.child("conversionReviewVersions")
    if not versions:
        return [*errors, field.required(versions_path)]
    return errors + review_version_errors(versions, versions_path, recognized=options.recognized_review_version)


def _client_errors(client: Object, path: Path, options: ValidationOptions) -> list[FieldError]:
    errors = client_config_errors(client, path)
    if options.ca_bundle and client.get("caBundle"):
        errors += ca_bundle_errors(client["caBundle"], path.child("caBundle"))
    return errors
