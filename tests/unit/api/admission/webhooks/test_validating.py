"""Validating webhooks: whom they reject, and what they get."""

import asyncio
import math
from contextlib import suppress
from typing import Any

import pytest

from apiext.api.admission.attributes import Attributes
from apiext.api.admission.webhooks.validating import ValidatingWebhooks
from apiext.base.meta.errors import StatusError
from apiext.base.meta.request import AdmissionOperation, UserInfo
from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork
from apiext.base.webhook.hook_answers import HookError
from tests.support.garbage import collected
from tests.support.refusals import refusal
from tests.unit.api.admission.webhooks.hooks import OBJECT, RULE, Hooks, Json, allowing, denying, hook, write

FAILED = HookError("failed to call webhook: no answer", code=418)


async def validate(hooks: Hooks, attributes: Attributes | None = None) -> Attributes:
    """Ask webhooks about a write."""
    attributes = attributes or write()
    await ValidatingWebhooks(hooks.sources).validate(attributes)
    return attributes


async def test_request() -> None:
    """Send what the reference sends. Empty members are left out, except those of the versions."""
    hooks = Hooks([hook("a")])
    user = UserInfo("bob", ("devs",), uid="7", extra={"team": ("x", "y")})
    options = {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"}

    await validate(hooks, write(user=user, options=lambda: options, dry_run=True))

    ((_, request),) = hooks.calls
    assert request.pop("uid") == hooks.sent[0].uid
    kind = {"group": "example.com", "version": "v1", "kind": "Widget"}
    resource = {"group": "example.com", "version": "v1", "resource": "widgets"}
    assert request == {
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": "w",
        "namespace": "n",
        "operation": "CREATE",
        "userInfo": {"username": "bob", "uid": "7", "groups": ["devs"], "extra": {"team": ["x", "y"]}},
        "object": OBJECT,
        "oldObject": None,
        "dryRun": True,
        "options": options,
    }


async def test_request_of_a_subresource() -> None:
    """Name the subresource twice. A user without a group has only a name."""
    hooks = Hooks([hook("a", rules=[RULE | {"resources": ["*/*"]}])])

    await validate(hooks, write(subresource="status", name="", namespace=""))

    request = hooks.calls[0][1]
    assert (request["subResource"], request["requestSubResource"], request["userInfo"]) == ("status", "status", {"username": "me"})
    assert not {"name", "namespace"} & request.keys()


@pytest.mark.parametrize("versions, sent", [(["v1beta1", "v1"], "v1beta1"), (["v9", "v1"], "v1")])
async def test_review_versions(versions: list[str], sent: str) -> None:
    """Send the first known version that the webhook accepts; v1beta1 answers need no uid."""
    hooks = Hooks([hook("a", admissionReviewVersions=versions)])
    hooks.answers["a"] = lambda _: {"apiVersion": f"admission.k8s.io/{sent}", "kind": "AdmissionReview", "response": {"allowed": True}}
    if sent == "v1":
        del hooks.answers["a"]

    await validate(hooks)

    assert f'"apiVersion":"admission.k8s.io/{sent}"'.encode() in hooks.sent[0].body


@pytest.mark.parametrize(
    "status, code, reason, message",
    [
        ({}, 400, "", "without explanation"),
        ({"message": "no"}, 400, "", ": no"),
        ({"reason": "NotFound"}, 400, "NotFound", ": NotFound"),
        ({"message": "no", "reason": "Forbidden", "code": 403}, 403, "Forbidden", ": no"),
        ({"code": 200, "message": "no"}, 400, "", ": no"),
        ({"status": "Success", "message": "no"}, 400, "", ": no"),
    ],
)
async def test_denials(status: Json, code: int, reason: str, message: str) -> None:
    """Answer with the webhook's code, reason and message."""
    caught = await refusal(validate(Hooks([hook("a")], {"a": lambda request: denying(request, **status)})))

    separator = "" if message.startswith(":") else " "
    assert (caught.code, caught.reason) == (code, reason)
    assert caught.message == f'admission webhook "a" denied the request{separator}{message}'
    assert caught.status()["status"] == "Failure"


async def test_status_of_a_denial() -> None:
    """Answer with the details, metadata and status of the webhook's Status, without unknown fields."""
    details = {"name": "x", "causes": [{"message": "m", "field": "f", "more": 1}], "retryAfterSeconds": 3, "more": 1}
    status = {"status": "Odd", "metadata": {"continue": "c", "more": 1}, "details": details, "code": 409, "more": 1}

    caught = await refusal(validate(Hooks([hook("a")], {"a": lambda request: denying(request, **status)})))

    assert caught.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {"continue": "c"},
        "status": "Odd",
        "message": 'admission webhook "a" denied the request without explanation',
        "details": {"name": "x", "causes": [{"message": "m", "field": "f"}], "retryAfterSeconds": 3},
        "code": 409,
    }
    assert caught.retry_after == 3


async def test_the_first_error_decides() -> None:
    """All webhooks are asked; the answer that came first decides, and all warnings count."""
    hooks = Hooks([hook("a"), hook("b")], {name: lambda request: denying(request, message="no") for name in "ab"})
    hooks.seconds = {"a": 2.0, "b": 1.0}
    attributes = write()

    caught = await refusal(validate(hooks, attributes))

    assert caught.message == 'admission webhook "b" denied the request: no'
    assert hooks.asked == ["a", "b"]


async def test_failure_policies() -> None:
    """A webhook that cannot be asked rejects the write, unless its policy says Ignore."""
    closed, opened = hook("a"), hook("a", failurePolicy="Ignore")
    answers: dict[str, Any] = {"a": lambda _: FAILED}

    caught = await refusal(validate(Hooks([closed], answers)))
    hooks = Hooks([opened], answers)
    found = await validate(hooks)

    assert (caught.code, caught.reason) == (500, "InternalError")
    assert caught.message == 'Internal error occurred: failed calling webhook "a": failed to call webhook: no answer'
    assert found.annotations == {"failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "a"}
    assert hooks.stats.fail_open["a", "validating"] == 1


@pytest.mark.parametrize("side_effects, allowed", [("None", True), ("NoneOnDryRun", True), ("Some", False), ("Unknown", False)])
async def test_dry_runs(side_effects: str, *, allowed: bool) -> None:
    """A dry run fails if a webhook has side effects; it is not asked, whatever its failurePolicy."""
    hooks = Hooks([hook("a", sideEffects=side_effects, failurePolicy="Ignore")])

    if allowed:
        await validate(hooks, write(dry_run=True))
    else:
        caught = await refusal(validate(hooks, write(dry_run=True)))
        assert (caught.code, caught.message) == (400, 'admission webhook "a" does not support dry run')

    assert hooks.asked == (["a"] if allowed else [])


async def test_unknown_review_versions() -> None:
    """A webhook that accepts no known version cannot be asked."""
    caught = await refusal(validate(Hooks([hook("a", admissionReviewVersions=["v9"])])))

    reason = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"
    assert caught.message == f'Internal error occurred: failed calling webhook "a": {reason}'


_NO_TIME = "Timeout: request did not complete within requested timeout - context deadline exceeded"


@pytest.mark.parametrize("policy, ended", [("Ignore", True), ("Ignore", False), ("Fail", True)])
async def test_cancelled_while_asking(policy: str, ended: bool) -> None:  # noqa: FBT001
    """Note that a webhook failed open although the write is cancelled, at its deadline, while the webhook is asked."""

    def cancelled(_request: Any) -> Any:
        attributes.deadline = 0.0 if ended else math.inf
        raise asyncio.CancelledError

    hooks, attributes = Hooks([hook("a", failurePolicy=policy)], {"a": cancelled}), write()
    with pytest.raises(asyncio.CancelledError):
        await validate(hooks, attributes)

    key = "failed-open.validating.webhook.admission.k8s.io/round_0_index_0"
    assert (attributes.annotations.get(key) == "a") is (ended and policy == "Ignore")


async def test_no_time_left() -> None:
    """A write without time asks no webhook."""
    hooks = Hooks([hook("a", failurePolicy="Ignore")])

    caught = await refusal(validate(hooks, write(deadline=0.0)))

    assert (caught.code, caught.message, hooks.asked) == (504, _NO_TIME, [])


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_large_reviews(policy: str) -> None:
    """A review beyond the limit is not sent; the failurePolicy decides."""
    hooks = Hooks([hook("a", failurePolicy=policy)])
    attributes = write(new=OBJECT | {"spec": "x" * (3 << 20)}, old=OBJECT | {"spec": "x" * (1 << 20)})

    if policy == "Ignore":
        await validate(hooks, attributes)
    else:
        caught = await refusal(validate(hooks, attributes))
        assert "failed to call webhook: the AdmissionReview of 4194" in caught.message

    assert hooks.asked == []


@pytest.mark.parametrize(
    "conditions, asked",
    [
        (["object.spec.size == 1", "request.operation == 'CREATE'"], True),
        (["object.spec.size == 1", "false"], False),
        (["authorizer.requestResource.check('fly').allowed()"], True),
        (["oldObject == null && request.resource.version == 'v1'"], True),
    ],
)
async def test_match_conditions(conditions: list[str], *, asked: bool) -> None:
    """A webhook is asked if all its conditions are true."""
    expressions = [{"name": f"c{number}", "expression": text} for number, text in enumerate(conditions)]
    hooks = Hooks([hook("a", matchConditions=expressions)])

    await validate(hooks)

    assert bool(hooks.asked) is asked
    assert sum(hooks.stats.condition_exclusions.values()) == (not asked)


async def test_failing_match_conditions() -> None:
    """Conditions that fail forbid the write, or exclude the webhook if its policy says Ignore."""
    conditions = [{"name": "c", "expression": "object.nope == 1"}]
    hooks = Hooks([hook("a", matchConditions=conditions, failurePolicy="Ignore")])
    await validate(hooks)
    assert hooks.asked == []

    caught = await refusal(validate(Hooks([hook("a", matchConditions=conditions)])))

    problem = "expression 'object.nope == 1' resulted in error: no such key: nope"
    assert (caught.code, caught.message) == (403, f'widgets.example.com "w" is forbidden: {problem}')


async def test_counts() -> None:
    """Count calls by outcome as the reference does."""
    answers = {"deny": lambda request: denying(request, code=700), "fail": lambda _: FAILED, "open": lambda _: FAILED}
    hooks = Hooks([hook("ok"), hook("deny"), hook("fail"), hook("open", failurePolicy="Ignore"), hook("dry", sideEffects="Some")], answers)

    await refusal(validate(hooks, write(dry_run=True)))

    assert sorted(hooks.stats.webhook_requests) == [
        ("deny", "validating", "CREATE", "600", "true"),
        ("dry", "validating", "CREATE", "0", "true"),
        ("fail", "validating", "CREATE", "418", "true"),
        ("ok", "validating", "CREATE", "200", "false"),
        ("open", "validating", "CREATE", "418", "false"),
    ]
    assert sorted(hooks.stats.webhook_rejections) == [
        ("deny", "validating", "CREATE", "no_error", "600"),
        ("dry", "validating", "CREATE", "apiserver_internal_error", "0"),
        ("fail", "validating", "CREATE", "calling_webhook_error", "418"),
    ]


async def test_deletions() -> None:
    """A delete has only an old object."""
    hooks = Hooks([hook("a")])

    await validate(hooks, write(operation=AdmissionOperation.DELETE, new=None, old=OBJECT))

    request = hooks.calls[0][1]
    assert (request["object"], request["oldObject"], request["operation"]) == (None, OBJECT, "DELETE")


async def test_large_answers_leave_the_event_loop() -> None:
    """A large answer makes the write run in a worker process; nothing is counted before."""
    hooks = Hooks([hook("a")], {"a": lambda request: allowing(request, warnings=["x" * 40_000])})
    attributes = write()

    with InlineWork(), pytest.raises(HeavyWorkError):
        await validate(hooks, attributes)

    assert (attributes.warnings, hooks.stats.webhook_requests) == ([], {})


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
@pytest.mark.parametrize("answer", [lambda _: FAILED, denying, lambda _: b"no"])
async def test_failures_leave_no_cycles(answer: Any, policy: str) -> None:
    """Free the memory of a write that a webhook denies, or does not answer, without the garbage collector."""
    hooks = Hooks([hook("a", failurePolicy=policy), hook("b", failurePolicy=policy)], {"a": answer, "b": answer})
    with collected(BaseException) as cyclic, suppress(StatusError):
        await validate(hooks)

    assert not cyclic
