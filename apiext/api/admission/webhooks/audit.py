"""Annotations of audit events about webhooks (apiserver plugin/webhook/mutating and validating, dispatcher.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.admission.webhooks.patching import parse_patch
from apiext.api.admission.webhooks.review_response import JSON_PATCH
from apiext.base.meta.encoding import json_codec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.api.admission.attributes import Attributes
    from apiext.api.admission.webhooks.invocation import CompiledHook

_PATCH: Final = "patch.webhook.admission.k8s.io/"
_MUTATION: Final = "mutation.webhook.admission.k8s.io/"
_VALIDATION: Final = "validating.webhook.admission.k8s.io/"
_FAILED_OPEN: Final = "failed-open."


def annotate_answer(attributes: Attributes, hook: CompiledHook, annotations: Mapping[str, str]) -> None:
    """Add the annotations of a webhook's answer under its name."""
    for key, value in annotations.items():
        attributes.annotations.setdefault(f"{hook.name}/{key}", value)


def annotate_mutation(attributes: Attributes, hook: CompiledHook, *, mutated: bool) -> None:
    """Note whether a mutating webhook has changed the object."""
    value = {"configuration": hook.entry.configuration, "webhook": hook.name, "mutated": mutated}
    attributes.annotations.setdefault(f"{_MUTATION}{_place(attributes, hook.entry.number)}", _text(value))


def annotate_patch(attributes: Attributes, hook: CompiledHook, patch: bytes) -> None:
    """Note the JSON patch of a mutating webhook, if the event includes the objects of requests."""
    if attributes.shows_patches:
        operations = parse_patch(patch)
        value = {"configuration": hook.entry.configuration, "webhook": hook.name, "patch": operations, "patchType": JSON_PATCH}
        attributes.annotations.setdefault(f"{_PATCH}{_place(attributes, hook.entry.number)}", _text(value))


def annotate_failure(attributes: Attributes, hook: CompiledHook, number: int, *, mutating: bool) -> None:
    """Note that a webhook could not be asked, and the write continues.

    `number` is that of a mutating webhook among all, and that of a validating one among those that the write concerns.
    """
    prefix = _MUTATION if mutating else _VALIDATION
    attributes.annotations.setdefault(f"{_FAILED_OPEN}{prefix}{_place(attributes, number)}", hook.name)


def _text(value: Mapping[str, object]) -> str:
    return json_codec.dumps(value, sort_keys=False).decode()


def _place(attributes: Attributes, number: int) -> str:
    return f"round_{int(attributes.reinvocation.runs_again)}_index_{number}"
