"""Applies that compare or prune in another version, and cannot: the errors begin with the step, as in the reference."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import assert_none, compared
from tests.support.builders.crds import crd, version
from tests.support.conversion_webhook import Answer, Call, ConversionWebhook, Json, Reply, conversion_webhook, converting, failing

pytestmark = pytest.mark.slow

GROUP: Final = "applies.probe.example.com"
APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
_TEXT: Final = {"type": "string"}
_ITEM: Final = {"type": "object", "required": ["name"], "properties": {"name": _TEXT, "x": _TEXT}}
_ITEMS: Final = {"type": "array", "items": _ITEM, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
_SPEC: Final = {"type": "object", "properties": {"a": _TEXT, "b": _TEXT, "items": _ITEMS}}
SCHEMA: Final = {"type": "object", "properties": {"spec": _SPEC}}
NAMED: Final = 'k:{"name":"i"}'

Breaks = Callable[[Json, str, str], bool]
"""Whether a conversion fails, by the spec and both versions."""


def _path(number: str) -> str:
    return f"/apis/{GROUP}/{number}/namespaces/default/things/x"


def _thing(number: str, spec: Json) -> Json:
    return {"apiVersion": f"{GROUP}/{number}", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec}


def _applied(manager: str, number: str, spec: Json, *more: str) -> Step:
    return Step("PATCH", f"{_path(number)}?{'&'.join((f'fieldManager={manager}', *more))}", _thing(number, spec), APPLY)


def _to(number: str, name: str, value: str | None) -> Breaks:
    """Break conversions to a version of objects with a value in a field of the spec."""
    return lambda spec, _source, target: target == number and spec.get(name) == value


def _answer(breaks: Breaks) -> Answer:
    def answer(call: Call) -> Reply | Json:
        target = call.review["request"]["desiredAPIVersion"].rpartition("/")[2]
        for obj in call.objects:
            if breaks(obj.get("spec") or {}, obj["apiVersion"].rpartition("/")[2], target):
                return failing(f"no way to {target}")(call)
        return converting()(call)

    return answer


@dataclass(frozen=True)
class Case:
    """An apply in v1 after other applies, each in a version of its own."""

    breaks: Breaks
    config: Json
    mine: tuple[str, Json] | None = None
    other: tuple[str, Json] | None = None
    expected: str = field(default="", kw_only=True)
    """The beginning of the message, "" if the apply succeeds."""


ONE: Final = {"a": "1"}
TWO: Final = {"b": "2"}
OTHER: Final = ("v3", {"b": "1"})
_PRUNE: Final = "failed to prune fields: failed"
CASES: Final = {
    "live object": Case(_to("v3", "b", "1"), ONE, None, OTHER, expected="conversion webhook for"),
    "new object": Case(_to("v3", "a", "2"), {"a": "2"}, None, OTHER, expected="failed to convert new object: conv"),
    "merged, to the last version": Case(
        _to("v2", "b", "2"), TWO, ("v2", ONE), expected=f"{_PRUNE} to convert merged object to last applied version: conv"
    ),
    "merged, to another version": Case(
        _to("v3", "b", "2"),
        TWO,
        ("v2", ONE),
        OTHER,
        expected=f"{_PRUNE} add back owned items: failed to convert merged object at version {GROUP}/v3: conv",
    ),
    "merged, all applied again": Case(
        _to("v3", "a", "2"),
        {"a": "2"},
        ("v1", ONE),
        OTHER,
        expected=f"{_PRUNE} add back owned items: failed to convert merged object at version {GROUP}/v3: conv",
    ),
    "merged, back": Case(
        lambda spec, source, target: (source, target, "a" in spec) == ("v2", "v1", True),
        TWO,
        ("v2", ONE),
        expected=f"{_PRUNE} add back owned items: failed to convert merged object at version {GROUP}/v1: conv",
    ),
    "pruned, to another version": Case(
        _to("v3", "a", None),
        {},
        ("v1", ONE),
        OTHER,
        expected=f"{_PRUNE} add back owned items: failed to convert pruned object at version {GROUP}/v3: conv",
    ),
    "pruned, back": Case(
        lambda spec, source, target: (source, target, "a" in spec) == ("v2", "v1", False),
        TWO,
        ("v2", ONE),
        expected=f"{_PRUNE} add back owned items: failed to convert pruned object at version {GROUP}/v1: conv",
    ),
    "pruned, to the last version": Case(
        _to("v2", "a", None),
        TWO,
        ("v2", ONE),
        expected=f"{_PRUNE} add back dangling items: failed to convert pruned object to last applied version: conv",
    ),
    "by way of the version of the apply": Case(lambda _spec, source, target: (source, target) == ("v2", "v3"), TWO, ("v2", ONE), OTHER),
}


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConversionWebhook]:
    """Run a webhook that changes nothing but the version."""
    with conversion_webhook(tmp_path_factory.mktemp("webhook")) as running:
        yield running


@pytest.fixture(scope="module")
def served(pair: Pair, webhook: ConversionWebhook) -> Iterator[Pair]:
    """Serve a definition of three versions."""
    versions = [version(name, storage=name == "v1", schema=SCHEMA) for name in ("v1", "v2", "v3")]
    with pair.served(crd("things", *versions, kind="Thing", group=GROUP, conversion=webhook.conversion())):
        yield pair


@pytest.fixture
def emptied(served: Pair, webhook: ConversionWebhook) -> Iterator[Pair]:
    """Delete the object of a test."""
    yield served
    webhook.answer = converting()
    served.differences(Step("DELETE", _path("v1")))


def _answers(pair: Pair, step: Step, expected: str) -> None:
    """Compare the answers: an error whose message begins as expected, or success."""
    assert_none(pair.differences(step))
    answer = pair.ours.ask(step)
    assert answer.code == (500 if expected else 200)
    assert answer.body.get("message", "").startswith(expected)


@pytest.mark.parametrize("name", CASES)
def test_failures(emptied: Pair, webhook: ConversionWebhook, name: str) -> None:
    """Name the step in which the webhook fails."""
    case = CASES[name]
    before = [("other", case.other), ("me", case.mine)]
    compared(emptied, [Step("POST", _path("v1").removesuffix("/x"), _thing("v1", {}))])
    compared(emptied, [_applied(manager, *config) for manager, config in before if config is not None])
    webhook.answer = _answer(case.breaks)
    _answers(emptied, _applied("me", "v1", case.config, "force=true"), case.expected)


@pytest.mark.parametrize(
    "manager, step",
    [
        ("other", "failed to convert new object"),
        ("me", "failed to prune fields: failed to convert merged object to last applied version"),
    ],
)
def test_undeclared_fields(emptied: Pair, webhook: ConversionWebhook, manager: str, step: str) -> None:
    """Name the step in which a converted object has a field that its version does not declare."""

    def change(obj: Json, api_version: str) -> None:
        if api_version.endswith("v2") and obj["spec"].get("a") == "2":
            obj["spec"]["old"] = "x"

    compared(emptied, [_applied(manager, "v2", {"b": "1"})])
    webhook.answer = converting(change)
    _answers(emptied, _applied("me", "v1", {"a": "2"}), f"{step}: .spec.old: field not declared in schema")


def _owning(*names: str) -> Json:
    fields: Json = {}
    for name in names:
        fields |= {NAMED: {**fields.get(NAMED, {}), name: {}}} if name != NAMED else {NAMED: {".": {}, **fields.get(NAMED, {})}}
    return {"f:spec": {"f:items": fields}}


def _entry(manager: str, operation: str, fields: Any) -> Json:
    time = "2020-01-01T00:00:00Z"
    entry = {"manager": manager, "operation": operation, "apiVersion": f"{GROUP}/v1", "time": time, "fieldsType": "FieldsV1"}
    return entry | {"fieldsV1": fields}


KEPT: Final[Json] = {"f:spec": {"f:items": {'k:{"name":"kept"}': {".": {}, "f:name": {}}}}}
SENT: Final = {
    "the key alone": [_entry("me", "Apply", _owning("f:name")), _entry("other", "Update", KEPT)],
    "the item of another": [_entry("me", "Apply", _owning(NAMED, "f:name")), _entry("other", "Update", _owning(NAMED))],
    "the field of another": [_entry("me", "Apply", _owning(NAMED, "f:name")), _entry("other", "Update", _owning("f:x"))],
    "the item with a field of another": [_entry("me", "Apply", _owning(NAMED, "f:name")), _entry("other", "Update", _owning(NAMED, "f:x"))],
    "a field beside the item of another": [_entry("me", "Apply", _owning("f:x")), _entry("other", "Update", _owning(NAMED))],
}


@pytest.mark.parametrize("name", SENT)
def test_items_that_lose_their_keys(emptied: Pair, name: str) -> None:
    """Prune items whose fields have other owners than their keys, as a client may record them."""
    items = {"items": [{"name": "i", "x": "1"}, {"name": "kept"}]}
    compared(
        emptied,
        [
            Step("POST", _path("v1").removesuffix("/x"), _thing("v1", items)),
            Step("PATCH", f"{_path('v1')}?fieldManager=recorder", {"metadata": {"managedFields": SENT[name]}}),
            _applied("me", "v1", {"b": "1"}, "force=true"),
            Step("GET", _path("v1")),
        ],
    )
