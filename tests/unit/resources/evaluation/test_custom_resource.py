"""The public door for authors: objects of a CRD without a server."""

import asyncio
import json
from pathlib import Path
from typing import Any, Final

import pytest

import apiext.evaluation
from apiext.evaluation import ApplyRefusedError, CustomResource, InvalidSourceError, load
from tests.support.builders.crds import crd, version

SPEC: Final = {
    "type": "object",
    "x-kubernetes-validations": [{"rule": "self.low <= self.high", "message": "low above high"}],
    "properties": {"low": {"type": "integer", "default": 1}, "high": {"type": "integer", "default": 5}, "name": {"type": "string"}},
}
SCHEMA: Final = {"type": "object", "properties": {"spec": SPEC, "status": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
RENAMED: Final = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"low": {"type": "integer"}, "title": {"type": "string"}}}},
}
WIDGETS: Final = crd("widgets", version("v1", storage=True, schema=SCHEMA, subresources={"status": {}}), version("v2", schema=RENAMED))
RULES: Final = {
    "apiVersion": "conversions.apiext.dev/v1alpha1",
    "kind": "Conversion",
    "metadata": {"name": WIDGETS["metadata"]["name"]},
    "spec": {"hub": "v2", "spokes": [{"version": "v1", "rules": [{"move": {"from": "spec.name", "to": "spec.title"}}]}]},
}


def _widget(**spec: Any) -> dict[str, Any]:
    group = WIDGETS["spec"]["group"]
    metadata = {"name": "w", "namespace": "default"}
    return {"apiVersion": f"{group}/v1", "kind": WIDGETS["spec"]["names"]["kind"], "metadata": metadata, "spec": spec}


@pytest.fixture
def widgets() -> CustomResource:
    """Return the custom resource of the CRD."""
    return load(WIDGETS)


def test_all_names_are_documented() -> None:
    """Export what the module promises, and nothing else."""
    assert all(getattr(apiext.evaluation, name).__doc__ for name in apiext.evaluation.__all__)
    assert apiext.evaluation.__all__ == sorted(apiext.evaluation.__all__)


def test_describes_itself(widgets: CustomResource) -> None:
    """Name the versions, and refuse others."""
    assert (widgets.versions, widgets.storage_version) == (("v1", "v2"), "v1")
    assert widgets.version("v2").is_served
    with pytest.raises(KeyError):
        widgets.version("v3")


def test_decodes(widgets: CustomResource) -> None:
    """Prune and default as a server does, separately and together, and leave the given object as it is."""
    v1, given = widgets.version("v1"), _widget(other=1, high=3)

    assert v1.prune(given)["spec"] == {"high": 3}
    assert v1.default(given)["spec"] == {"other": 1, "high": 3, "low": 1}
    assert v1.decode(given)["spec"] == {"high": 3, "low": 1}
    assert v1.unknown_fields(given) == ['unknown field "spec.other"']
    assert given == _widget(other=1, high=3)
    with pytest.raises(ValueError, match="apiVersion"):
        v1.decode(_widget() | {"apiVersion": "other/v1"})


def test_validates(widgets: CustomResource) -> None:
    """Answer as a server: schema and rules, and what an update tolerates."""
    v1 = widgets.version("v1")

    assert v1.validate(_widget()).is_accepted
    assert "spec.low in body must be of type integer" in v1.validate(_widget(low="x")).answer
    assert [error.message for error in v1.validate(_widget(low=9)).errors] == ["Invalid value: low above high"]
    update = v1.validate(_widget(low=9, name="b"), _widget(low=9, name="a"))
    assert not update.is_accepted  # the rule is about spec, which has changed
    assert "changed" in update.errors[0].why
    with pytest.raises(ValueError, match="subresource"):
        v1.validate(_widget(), subresource="scale")


def test_validates_a_status(widgets: CustomResource) -> None:
    """Validate only the status of an update of that subresource."""
    v1, broken = widgets.version("v1"), _widget() | {"status": {"n": "x"}}

    assert v1.validate(broken, _widget()).is_accepted
    assert not v1.validate(broken, _widget(), subresource="status").is_accepted


def test_converts_without_a_strategy(widgets: CustomResource) -> None:
    """Change the version, and drop what the other one does not have."""
    found = widgets.convert(_widget(low=2, name="a"), "v2")

    assert found["apiVersion"].endswith("/v2")
    assert found["spec"] == {"low": 2}
    assert "resourceVersion" not in found["metadata"]
    with pytest.raises(ValueError, match="has no version"):
        widgets.convert({"apiVersion": "other/v1"}, "v2")


def test_converts_by_rules(tmp_path: Path) -> None:
    """Convert by the rules of a Conversion, given or beside the CRD in a file."""
    beside = tmp_path / "both.yaml"
    beside.write_text("\n---\n".join(map(json.dumps, (WIDGETS, RULES))))
    for widgets in (load(WIDGETS, conversion=RULES), load(beside)):
        assert widgets.convert(_widget(name="a"), "v2")["spec"]["title"] == "a"


def test_calls_no_webhook() -> None:
    """Say that the webhook of a CRD is not called."""
    hook = {"clientConfig": {"url": "https://localhost:1"}, "conversionReviewVersions": ["v1"]}
    spec = WIDGETS["spec"] | {"conversion": {"strategy": "Webhook", "webhook": hook}}

    with pytest.raises(ValueError, match="webhook is not called"):
        load(WIDGETS | {"spec": spec}).convert(_widget(), "v2")


def test_applies(widgets: CustomResource) -> None:
    """Merge an applied configuration, and refuse what other managers own."""
    v1 = widgets.version("v1")
    live = v1.apply(None, _widget(name="a"), "first")

    assert [entry["manager"] for entry in live["metadata"]["managedFields"]] == ["first"]
    with pytest.raises(ApplyRefusedError, match="conflict") as refused:
        v1.apply(live, _widget(name="b"), "second")
    assert refused.value.code == 409
    assert v1.apply(live, _widget(name="b"), "second", force=True)["spec"]["name"] == "b"
    with pytest.raises(ValueError, match="subresource"):
        v1.apply(live, _widget(), "first", subresource="scale")


def test_applies_what_expressions_convert() -> None:
    """Apply an object without what its manager no longer sets, although the expressions of both directions read below that."""
    seconds = crd(
        "widgets",
        version("v1", storage=True, schema=_spec_schema(secs={"type": "integer"})),
        version("v2", schema=_spec_schema(millis={"type": "integer"})),
    )
    directions = {
        "toHub": [{"path": "spec.millis", "value": "has(self.spec.secs) ? optional.of(self.spec.secs * 1000) : optional.none()"}],
        "toSpoke": [{"path": "spec.secs", "value": "self.spec.millis / 1000"}],
    }
    rules = {"hub": "v2", "spokes": [{"version": "v1", "rules": [{"expression": directions}]}]}
    widgets = load(seconds, conversion=RULES | {"spec": rules})
    group, kind = seconds["spec"]["group"], seconds["spec"]["names"]["kind"]
    bare = {"kind": kind, "metadata": {"name": "w", "namespace": "default"}}

    live = widgets.version("v2").apply(None, bare | {"apiVersion": f"{group}/v2", "spec": {"millis": 3000}}, "first")
    live = widgets.version("v1").apply(
        widgets.convert(live, "v1"), bare | {"apiVersion": f"{group}/v1", "metadata": bare["metadata"] | {"labels": {"a": "b"}}}, "second"
    )
    assert live["spec"] == {"secs": 3}
    live = widgets.version("v1").apply(live, bare | {"apiVersion": f"{group}/v1"}, "first")
    live = widgets.version("v2").apply(widgets.convert(live, "v2"), bare | {"apiVersion": f"{group}/v2"}, "first")

    assert not live.get("spec")


def _spec_schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def test_counts_costs(widgets: CustomResource) -> None:
    """Count the cost of rules, which some versions do not have."""
    assert 0 < widgets.version("v1").rule_cost(_widget(low=1, high=2)).spent < 100
    assert widgets.version("v2").rule_cost({}).spent == 0


@pytest.mark.parametrize(
    "source,name,reason",
    [
        (WIDGETS | {"spec": WIDGETS["spec"] | {"scope": "Elsewhere"}}, "", "spec.scope: Unsupported value"),
        (WIDGETS, "others.example.com", "has no CRD others.example.com"),
        ({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}, "", "has no CRD"),
        (WIDGETS | {"odd": 1}, "", "unknown field"),
    ],
)
def test_refuses_what_a_server_refuses(source: dict[str, Any], name: str, reason: str) -> None:
    """Raise an error with the server's reasons."""
    with pytest.raises(InvalidSourceError, match=reason):
        load(source, name=name)


def test_refuses_wrong_rules() -> None:
    """Refuse rules that name a field that the schema does not have."""
    rules = {"hub": "v2", "spokes": [{"version": "v1", "rules": [{"move": {"from": "spec.none", "to": "spec.title"}}]}]}

    with pytest.raises(InvalidSourceError, match=r"spec\.none"):
        load(WIDGETS, conversion=RULES | {"spec": rules})


def test_chooses_one_of_several(tmp_path: Path) -> None:
    """Ask for the name where a file has several CRDs."""
    other = crd("gadgets")
    path = tmp_path / "crds.yaml"
    path.write_text("\n---\n".join(map(json.dumps, (WIDGETS, other))))

    with pytest.raises(InvalidSourceError, match="give one's name: widgets"):
        load(path)
    assert load(path, name=other["metadata"]["name"]).name == other["metadata"]["name"]


def test_works_beside_an_event_loop() -> None:
    """Load and convert while an event loop runs in the thread."""

    async def use() -> dict[str, Any]:
        return load(WIDGETS).convert(_widget(low=2), "v2")

    assert asyncio.run(use())["spec"] == {"low": 2}


def test_leaves_the_event_loop_of_the_thread() -> None:
    """Leave the loop that a caller has set for its thread."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        load(WIDGETS).convert(_widget(low=2), "v2")
        assert asyncio.get_event_loop_policy().get_event_loop() is loop
    finally:
        asyncio.set_event_loop(None)
        loop.close()
