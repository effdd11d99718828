"""Scripted webhooks, and the sources of plug-ins that ask them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from apiext.api.admission.attributes import Attributes
from apiext.api.admission.metrics import AdmissionStats
from apiext.api.admission.object_interfaces import EquivalentResource
from apiext.api.admission.sources import (
    ALL_PHASES,
    AdmissionPhase,
    AdmissionSources,
    HookEntry,
    NotReadyError,
    ParamQuery,
    RequestPlace,
    ReviewAnswer,
    ReviewCall,
    Revision,
)
from apiext.api.authorization.authorizer import ALLOWED, Verdict
from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.base.meta.request import RequestInfo, UserInfo
from tests.unit.api.admission.creations import widget

Json = dict[str, Any]
Answer = Callable[..., Any]
"""Makes the answer to a request: a review, bytes, or the exception of a failed call."""
RULE: Final = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["*"]}
BETA: Final = EquivalentResource(
    GroupVersionResource("example.com", "v1beta1", "widgets"), GroupVersionKind("example.com", "v1beta1", "Widget")
)
OBJECT: Final = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}


def hook(name: str, **more: Any) -> Json:
    """Return a webhook with the defaults of the API."""
    defaults = {
        "name": name,
        "rules": [RULE],
        "clientConfig": {"url": "https://hook.example.com"},
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "admissionReviewVersions": ["v1"],
        "reinvocationPolicy": "Never",
    }
    return defaults | more


def allowing(request: Json, **response: Any) -> Json:
    """Return a review that allows a request."""
    found = {"uid": request["uid"], "allowed": True} | response
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": found}


def denying(request: Json, **status: Any) -> Json:
    """Return a review that denies a request."""
    return allowing(request, allowed=False, **({"status": status} if status else {}))


def patching(*operations: Mapping[str, Any]) -> Answer:
    """Return an answer with a JSON patch."""
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda request: allowing(request, patch=patch, patchType="JSONPatch")


def setting(path: str, value: Any) -> Answer:
    """Return an answer that sets a member."""
    return patching({"op": "add", "path": path, "value": value})


class Objects:
    """Widgets of v1 and v1beta1, where spec is the former's name of config."""

    def __init__(self) -> None:
        self.converted: list[str] = []

    def equivalents(self) -> Sequence[EquivalentResource]:
        """Return the other version."""
        return [BETA]

    async def convert(self, obj: Json, kind: GroupVersionKind) -> Json:
        """Rename a member."""
        if obj.get("broken"):
            raise ValueError("no conversion")
        if obj["apiVersion"] == kind.api_version:
            return obj
        self.converted.append(kind.version)
        old, new = ("config", "spec") if kind.version == "v1" else ("spec", "config")
        found = {new if name == old else name: value for name, value in obj.items()}
        return found | {"apiVersion": kind.api_version}

    async def complete(self, obj: Json, *, strict: bool = False) -> Json:
        """Add a default."""
        del strict
        if "kind" not in obj:
            raise ValueError("Object 'Kind' is missing")
        return obj | {"defaulted": True}

    async def apply_configuration(self, obj: Json, configuration: Json) -> Json:
        """Do nothing."""
        return obj


@dataclass
class Hooks:
    """Webhooks by phase, and what was asked. It is all sources of a plug-in."""

    hooks: Sequence[Json] = ()
    answers: dict[str, Answer] = field(default_factory=dict)
    calls: list[tuple[str, Json]] = field(default_factory=list)
    """Names of webhooks, and requests."""
    sent: list[ReviewCall] = field(default_factory=list)
    ready: bool = True
    seconds: dict[str, float] = field(default_factory=dict)
    stats: AdmissionStats = field(default_factory=AdmissionStats)
    entries: list[HookEntry] = field(default_factory=list)

    @property
    def sources(self) -> AdmissionSources:
        """Return the sources of a plug-in."""
        return AdmissionSources(self, self, self, self, self, self.stats)

    def phases(self, _place: RequestPlace) -> Collection[AdmissionPhase]:
        """Return all phases: the plug-ins look."""
        return ALL_PHASES

    def is_used(self, _phase: AdmissionPhase, *, webhooks: bool) -> bool:
        """Return that there are webhooks only."""
        return webhooks

    async def webhooks(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[HookEntry]:
        """Return all webhooks."""
        if not self.ready:
            raise NotReadyError
        if not self.entries:
            for number, one in enumerate(self.hooks):
                self.entries.append(HookEntry(Revision("u", "1"), "conf", f"conf/{one['name']}/0", one, number=number))
        return self.entries

    async def policies(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[Any]:
        """Return no policies."""
        return ()

    async def namespace(self, name: str) -> Json | None:
        """Return a namespace without labels."""
        return {"metadata": {"name": name}}

    async def is_namespaced(self, api_version: str, kind: str) -> bool | None:
        """Know no kind."""
        return None

    async def params(self, query: ParamQuery) -> Sequence[Any]:
        """Return no parameters."""
        return ()

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Allow all requests."""
        return ALLOWED

    async def review(self, calls: Sequence[ReviewCall]) -> Sequence[ReviewAnswer]:
        """Answer as the script says."""
        return [self._answer(call) for call in calls]

    def _answer(self, call: ReviewCall) -> ReviewAnswer:
        name, review = call.hook.hook["name"], json.loads(call.body)
        request = review["request"]
        self.sent.append(call)
        self.calls.append((name, request))
        answer = self.answers[name](request) if name in self.answers else allowing(request)
        seconds = self.seconds.get(name, 0.0)
        if isinstance(answer, Exception):
            return ReviewAnswer(call.uid, error=answer, seconds=seconds)
        return ReviewAnswer(call.uid, answer if isinstance(answer, bytes) else json.dumps(answer).encode(), seconds=seconds)

    @property
    def asked(self) -> list[str]:
        """Return the names of the webhooks that were asked."""
        return [name for name, _ in self.calls]


def write(**more: Any) -> Attributes:
    """Return the creation of a widget."""
    defaults: Json = {"objects": Objects(), "new": json.loads(json.dumps(OBJECT))}
    return replace(widget(), **(defaults | more))
