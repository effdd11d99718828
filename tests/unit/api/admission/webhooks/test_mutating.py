"""Mutating webhooks: their order, patches, versions, and second run."""

import asyncio
import json
import math
from contextlib import suppress
from typing import Any

import pytest

from apiext.api.admission.attributes import Attributes
from apiext.api.admission.chain import Chain
from apiext.api.admission.webhooks.mutating import MutatingWebhooks
from apiext.base.meta.errors import StatusError
from apiext.base.meta.request import AdmissionOperation
from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork
from apiext.base.webhook.hook_answers import HookError
from tests.support.garbage import collected
from tests.support.refusals import refusal
from tests.unit.api.admission.webhooks.hooks import RULE, Hooks, Json, allowing, denying, hook, patching, setting, write

FAILED = HookError("failed to call webhook: no answer")
CALLING = 'Internal error occurred: failed calling webhook "a": '
UNDECODABLE = "json: cannot unmarshal object into Go value of type jsonpatch.Patch"
BETA_RULE = RULE | {"apiVersions": ["v1beta1"]}


async def admit(hooks: Hooks, attributes: Attributes | None = None) -> Attributes:
    """Ask webhooks about a write, by a chain that may run twice."""
    attributes = attributes or write()
    await Chain([MutatingWebhooks(hooks.sources)]).admit(attributes)
    return attributes


async def test_webhooks_see_earlier_patches() -> None:
    """Each webhook gets the object as the earlier ones left it, with defaults."""
    hooks = Hooks([hook("a"), hook("b")], {"a": setting("/spec/size", 2), "b": setting("/spec/color", "red")})

    found = await admit(hooks)

    assert hooks.asked == ["a", "b"]
    assert [request["object"]["spec"] for _, request in hooks.calls] == [{"size": 1}, {"size": 2}]
    assert hooks.calls[1][1]["object"]["defaulted"] is True
    assert found.new is not None
    assert found.new["spec"] == {"size": 2, "color": "red"}


async def test_old_objects_stay() -> None:
    """A patch changes a copy: those that hold the object of the request do not notice."""
    attributes = write()
    before = attributes.new

    await admit(Hooks([hook("a")], {"a": setting("/spec/size", 2)}), attributes)

    assert before is not None
    assert before["spec"] == {"size": 1}


async def test_changes_of_another_version() -> None:
    """Changes stay in the version of a webhook until one needs another version; the write gets its own version back."""
    hooks = Hooks(
        [hook("a", rules=[BETA_RULE]), hook("b", rules=[BETA_RULE]), hook("c")],
        {"a": setting("/config/size", 2), "b": setting("/config/color", "red"), "c": setting("/spec/last", True)},
    )
    attributes = write(old={"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {}, "spec": {}})

    found = await admit(hooks, attributes)

    assert [request["kind"]["version"] for _, request in hooks.calls] == ["v1beta1", "v1beta1", "v1"]
    assert [request["resource"]["version"] for _, request in hooks.calls] == ["v1beta1", "v1beta1", "v1"]
    assert [request["requestKind"]["version"] for _, request in hooks.calls] == ["v1", "v1", "v1"]
    assert ["config" in request["oldObject"] for _, request in hooks.calls] == [True, True, False]
    assert hooks.calls[2][1]["object"]["spec"] == {"size": 2, "color": "red"}
    assert found.new is not None
    assert (found.new["apiVersion"], found.new["spec"]) == ("example.com/v1", {"size": 2, "color": "red", "last": True})


async def test_nothing_is_converted_back_without_a_change() -> None:
    """A webhook of another version that changes nothing leaves the object as it is."""
    attributes = write()
    before = attributes.new

    found = await admit(Hooks([hook("a", rules=[BETA_RULE])]), attributes)

    assert found.new is before


async def test_failed_conversions() -> None:
    """An object that cannot be converted rejects the write. The reference names it an internal error twice."""
    caught = await refusal(admit(Hooks([hook("a", rules=[BETA_RULE])]), write(new={"broken": True})))

    assert (caught.code, caught.message) == (500, "Internal error occurred: Internal error occurred: no conversion")


@pytest.mark.parametrize(
    "answer, code, message",
    [
        (
            setting("/x/y", 1),
            500,
            'Internal error occurred: add operation does not apply: doc is missing path: "/x/y": missing value',
        ),
        (patching({"op": "remove", "path": "/kind"}), 500, "Internal error occurred: Object 'Kind' is missing"),
        (
            lambda request: allowing(request, patch="e30=", patchType="JSONPatch"),
            500,
            f"{CALLING}received undecodable patch in webhook response: {UNDECODABLE}",
        ),
        (
            lambda request: allowing(request, patch="W3t9XQ==", patchType="MergePatch"),
            500,
            'Internal error occurred: failed calling webhook "a": unsupported patch type "MergePatch"',
        ),
    ],
)
async def test_bad_patches(answer: Any, code: int, message: str) -> None:
    """A patch that does not apply rejects the write; one that cannot be read is a failed call."""
    caught = await refusal(admit(Hooks([hook("a")], {"a": answer})))

    assert (caught.code, caught.message) == (code, message)


async def test_patches_of_deleted_objects() -> None:
    """A delete has no object to patch; an empty patch does no harm."""
    delete: Json = {"operation": AdmissionOperation.DELETE, "new": None, "old": {"metadata": {"name": "w"}}}
    await admit(Hooks([hook("a")], {"a": patching()}), write(**delete))

    caught = await refusal(admit(Hooks([hook("a")], {"a": setting("/spec", 1)}), write(**delete)))

    expected = 'admission webhook "a" attempted to modify the object, which is not supported for this operation'
    assert (caught.code, caught.message) == (500, f"Internal error occurred: {expected}")


@pytest.mark.parametrize(
    "first, second, asked",
    [
        ("Never", "Never", ["a", "b"]),
        ("IfNeeded", "Never", ["a", "b", "a"]),
        ("IfNeeded", "IfNeeded", ["a", "b", "a"]),
        ("Never", "IfNeeded", ["a", "b"]),
    ],
)
async def test_second_run(first: str, second: str, asked: list[str]) -> None:
    """A webhook is asked again if it wants to be and a later one has changed the object."""
    hooks = Hooks([hook("a", reinvocationPolicy=first), hook("b", reinvocationPolicy=second)], {"b": setting("/spec/size", 2)})

    await admit(hooks)

    assert hooks.asked == asked


async def test_changes_of_the_second_run() -> None:
    """A change in the second run asks the webhooks again that were asked before it, in the same run."""
    hooks = Hooks([hook("a", reinvocationPolicy="IfNeeded"), hook("b", reinvocationPolicy="IfNeeded")])

    def number(request: Json) -> Any:
        return setting("/spec/a", len(hooks.calls))(request)

    hooks.answers = {"a": number, "b": setting("/spec/b", 1)}

    await admit(hooks)

    assert hooks.asked == ["a", "b", "a", "b"]


async def test_webhooks_that_match_only_in_the_second_run() -> None:
    """A webhook that the first run did not ask is not asked in the second one."""
    hooks = Hooks(
        [
            hook("late", reinvocationPolicy="IfNeeded", objectSelector={"matchLabels": {"a": "b"}}),
            hook("first", reinvocationPolicy="IfNeeded"),
            hook("last"),
        ],
        {"last": setting("/metadata/labels", {"a": "b"})},
    )

    await admit(hooks)

    assert hooks.asked == ["first", "last", "first"]


async def test_changes_of_other_plugins() -> None:
    """A change by another plug-in between the runs asks the webhooks again."""
    hooks = Hooks([hook("a", reinvocationPolicy="IfNeeded")])
    attributes, plugin = write(), MutatingWebhooks(hooks.sources)
    await plugin.admit(attributes)
    attributes.reinvocation.runs_again = True
    await plugin.admit(attributes)
    assert hooks.asked == ["a"]

    assert attributes.new is not None
    attributes.new["spec"]["size"] = 5
    await plugin.admit(attributes)

    assert hooks.asked == ["a", "a"]


async def test_failing_open() -> None:
    """A webhook that cannot be asked is left out if its policy says so; the next one is asked."""
    hooks = Hooks([hook("a", failurePolicy="Ignore"), hook("b")], {"a": lambda _: FAILED})

    found = await admit(hooks)

    assert hooks.asked == ["a", "b"]
    assert found.annotations["failed-open.mutation.webhook.admission.k8s.io/round_0_index_0"] == "a"


async def test_failing_closed() -> None:
    """A webhook that cannot be asked rejects the write by default."""
    caught = await refusal(admit(Hooks([hook("a"), hook("b")], {"a": lambda _: FAILED})))

    assert caught.message == 'Internal error occurred: failed calling webhook "a": failed to call webhook: no answer'


_NO_TIME = "Timeout: request did not complete within requested timeout - context deadline exceeded"


@pytest.mark.parametrize("policy, ended", [("Ignore", True), ("Ignore", False), ("Fail", True)])
async def test_cancelled_while_asking(policy: str, ended: bool) -> None:  # noqa: FBT001
    """Note that a webhook failed open although the write is cancelled, at its deadline, while the webhook is asked."""

    def cancelled(_request: Any) -> Any:
        attributes.deadline = 0.0 if ended else math.inf
        raise asyncio.CancelledError

    hooks, attributes = Hooks([hook("a", failurePolicy=policy)], {"a": cancelled}), write()
    with pytest.raises(asyncio.CancelledError):
        await admit(hooks, attributes)

    key = "failed-open.mutation.webhook.admission.k8s.io/round_0_index_0"
    assert (attributes.annotations.get(key) == "a") is (ended and policy == "Ignore")


async def test_no_time_left() -> None:
    """A write without time ends after a call that failed, whatever its policy says."""
    hooks = Hooks([hook("a", failurePolicy="Ignore"), hook("b")], {"a": lambda _: FAILED})

    caught = await refusal(admit(hooks, write(deadline=0.0)))

    assert (caught.code, caught.message) == (504, _NO_TIME)
    assert hooks.asked == ["a"]


async def test_denials() -> None:
    """A denial ends the dispatch, whatever the failurePolicy."""
    hooks = Hooks([hook("a", failurePolicy="Ignore"), hook("b")], {"a": lambda request: denying(request, message="no")})

    caught = await refusal(admit(hooks))

    assert (caught.code, caught.message) == (400, 'admission webhook "a" denied the request: no')
    assert hooks.asked == ["a"]


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
@pytest.mark.parametrize("answer", [lambda _: FAILED, denying, lambda _: b"no"])
async def test_failures_leave_no_cycles(answer: Any, policy: str) -> None:
    """Free the memory of a write that a webhook denies, or does not answer, without the garbage collector."""
    hooks = Hooks([hook("a", failurePolicy=policy), hook("b", failurePolicy=policy)], {"a": answer, "b": answer})
    with collected(BaseException) as cyclic, suppress(StatusError):
        await admit(hooks)

    assert not cyclic


async def test_annotations_and_warnings() -> None:
    """Annotations get the webhook's name; each call has one that says whether it changed the object."""
    answer = {"auditAnnotations": {"k": "v"}, "warnings": ["careful"]}
    hooks = Hooks([hook("a"), hook("b")], {"a": lambda request: allowing(request, **answer), "b": setting("/spec/size", 2)})

    found = await admit(hooks)

    assert found.warnings == ["careful"]
    assert found.annotations.pop("a/k") == "v"
    assert {key: json.loads(value) for key, value in found.annotations.items()} == {
        "mutation.webhook.admission.k8s.io/round_0_index_0": {"configuration": "conf", "webhook": "a", "mutated": False},
        "mutation.webhook.admission.k8s.io/round_0_index_1": {"configuration": "conf", "webhook": "b", "mutated": True},
    }


async def test_large_answers_leave_the_event_loop() -> None:
    """A large answer, and a patch that copies much, make the write run in a worker process."""
    large = Hooks([hook("a")], {"a": lambda request: allowing(request, warnings=["x" * 40_000])})
    copies = Hooks([hook("a")], {"a": patching(*[{"op": "copy", "from": "/spec", "path": "/spec/x"}] * 2)})

    for hooks in (large, copies):
        with InlineWork(), pytest.raises(HeavyWorkError):
            await admit(hooks)


async def test_equal_calls_of_another_attempt() -> None:
    """The calls of an attempt differ by their keys; another attempt gives its calls the same keys, but new uids."""
    hooks = Hooks([hook("a", reinvocationPolicy="IfNeeded"), hook("b")], {"b": setting("/spec/size", 2)})

    await admit(hooks)
    first, hooks.sent = hooks.sent, []
    await admit(hooks)

    keys = [call.key for call in first]
    assert len(set(keys)) == 3
    assert keys == [call.key for call in hooks.sent]
    assert {call.uid for call in first}.isdisjoint(call.uid for call in hooks.sent)


async def test_not_ready() -> None:
    """Writes are forbidden until the configurations are known."""
    caught = await refusal(admit(Hooks(ready=False)))

    assert (caught.code, caught.message) == (403, 'widgets.example.com "w" is forbidden: not yet ready to handle request')
