"""What a project installs in a cluster."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.admission_webhook import AdmissionAnswer, AdmissionCall
from tests.support.builders import admission

Json = dict[str, Any]
ClientConfig = Callable[[str], Json]
"""Returns the clientConfig of a webhook with a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project with a webhook server behind a Service."""

    service: str
    """NAMESPACE/NAME."""
    group: str
    """The group of its definitions, empty without any."""
    folder: str
    """The folder of its definitions among the real ones."""
    plurals: tuple[str, ...] = ()
    """Those definitions that tests need."""
    configurations: Callable[[ClientConfig], Sequence[Json]]
    """Returns the webhook configurations."""
    answers: Mapping[str, AdmissionAnswer]
    """The answers by path; any other request is allowed."""


def hook(name: str, config: Json, *rules: Json, **more: Any) -> Json:
    """Return a webhook that must be called, also for other versions than its rules name."""
    return admission.hook(name, *rules, clientConfig=config, failurePolicy="Fail", matchPolicy="Equivalent", **more)


def object_of(call: AdmissionCall) -> Json:
    """Return the new object in a review."""
    found: Json = call.request["object"]
    return found
