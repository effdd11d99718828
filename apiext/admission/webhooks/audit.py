"""Annotations of audit events about webhooks (apiserver plugin/webhook/mutating and validating, dispatcher.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta.encoding import json_codec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.admission.attributes import Attributes
    from apiext.admission.webhooks.invocation import CompiledHook

_MUTATION: Final = "mutation.webhook.admission.k8s.io/"
_VALIDATION: Final = "validating.webhook.admission.k8s.io/"
_FAILED_OPEN: Final = "failed-open."


def annotate_answer(attributes: Attributes, hook: CompiledHook, annotations: Mapping[str, str]) -> None:
    """Add the annotations of a webhook's answer under its name."""
    for key, value in annotations.items():
        attributes.annotations.setdefault(f"{hook.name}/{key}", value)


def annotate_mutation(attributes: Attributes, hook: CompiledHook, number: int, *, mutated: bool) -> None:
    """Note whether a mutating webhook has changed the object. `number` is the webhook's in this run."""
    value = {"configuration": hook.entry.configuration, "webhook": hook.name, "mutated": mutated}
    attributes.annotations.setdefault(f"{_MUTATION}{_place(attributes, number)}", json_codec.dumps(value).decode())


def annotate_failure(attributes: Attributes, hook: CompiledHook, number: int, *, mutating: bool) -> None:
    """Note that a webhook could not be asked, and the write continues."""
    prefix = _MUTATION if mutating else _VALIDATION
    attributes.annotations.setdefault(f"{_FAILED_OPEN}{prefix}{_place(attributes, number)}", hook.name)


def _place(attributes: Attributes, number: int) -> str:
    return f"round_{int(attributes.reinvocation.runs_again)}_index_{number}"
