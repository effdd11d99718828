"""Predictions about objects of a definition that gets a conversion webhook, compared with what kube-apiserver then does."""

from pathlib import Path
from typing import Any, Final

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.resources.evaluation.compiled_definition import open_converters
from apiext.tools.judgement.judge import Judge
from apiext.tools.judgement.outcome import FindingKind
from apiext.tools.releases.interface import SourceObject
from hack.lib.servers.controlplane import ControlPlane
from tests.differential.helpers.release_pairs import predicted_run
from tests.support.builders.crds import definition, version
from tests.support.builders.definition_pairs import INTEGER, STRING, AppliedObject, DefinitionPair, root, struct, v1
from tests.support.conversion_webhook import conversion_webhook, converting

pytestmark = pytest.mark.slow

Json = dict[str, Any]
V1: Final = v1(root(image=STRING, size=INTEGER))
V2: Final = version("v2", schema=root(image=struct(name=STRING, tag=STRING), size=INTEGER | {"maximum": 5}))
PAIR: Final = DefinitionPair(
    "a webhook converts",
    (V1,),
    (V1 | {"storage": False}, V2 | {"storage": True}),
    (
        AppliedObject(({"image": "a:b", "size": 1},)),
        AppliedObject(({"image": "a", "size": 9},)),
        AppliedObject(({"image": "refused", "size": 1},)),
        AppliedObject(({"image": "renamed", "size": 1},)),
    ),
)


def _convert(obj: Json, api_version: str) -> None:
    """Convert, forget tags on the way back to v1, and change a name."""
    spec = obj.setdefault("spec", {})
    if api_version.endswith("/v2"):
        text = spec.pop("image", "")
        name, _, tag = text.partition(":")
        spec["image"] = {"name": name} | ({"tag": tag} if tag else {})
        if name == "renamed":
            obj["metadata"]["name"] = "other"
        if name == "refused":
            del obj["metadata"]
    elif isinstance(spec.get("image"), dict):
        spec["image"] = spec["image"].get("name", "")


def _hooked(conversion: Json) -> Json:
    """Return the new definition with a conversion."""
    changed = PAIR.crd(PAIR.new, "hooked")
    changed["spec"]["conversion"] = conversion
    return changed


async def test_predictions_come_true(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Compare reads, label patches and applies of converted objects, and find what the conversion loses."""
    with conversion_webhook(tmp_path, answer=converting(_convert)) as webhook:
        conversion = webhook.conversion()
        old = definition(PAIR.crd(PAIR.old, "hooked"))
        new = definition(PAIR.crd(PAIR.new, "hooked") | {})
        changed = PAIR.crd(PAIR.new, "hooked")
        changed["spec"]["conversion"] = conversion
        new = definition(changed)
        async with open_converters(old, new) as converters:
            run = predicted_run(control_plane, PAIR, "hooked", conversion=conversion, converter=converters.new)
            run.prepare()
            try:
                for name, data in run.data.items():
                    await run.judge(name, data)
                await run.write("o0", run.data["o0"])
            finally:
                run.delete()
            judge = Judge(run.old.definition, run.new.definition, converters=converters)
            await judge.add([SourceObject(f"default/{name}", json_codec.loads(data), is_stored=True) for name, data in run.data.items()])
            report = judge.report()

    assert run.tally.wrong == []
    found = {(each.kind, each.version, each.path): each.examples for each in report.findings}
    assert found[FindingKind.ALTERED, "v2", "spec.image"] == ["default/o0"]
    assert found[FindingKind.TOLERATED, "v2", "spec.size"] == ["default/o1"]
    assert report.unreadable == 2


async def test_a_webhook_that_does_not_answer_is_reported_once(tmp_path: Path) -> None:
    """Judge nothing that needs the webhook, and say why."""
    with conversion_webhook(tmp_path) as webhook:
        old, new = definition(PAIR.crd(PAIR.old, "hooked")), definition(_hooked(webhook.conversion()))
    obj = {
        "apiVersion": "pairs.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "namespace": "default", "uid": "1"},
        "spec": {},
    }
    async with open_converters(old, new) as converters:
        judge = Judge(old, new, converters=converters)
        await judge.add([SourceObject("default/a", obj, is_stored=True)])
        report = judge.report()

    assert [each.kind for each in report.findings] == []
    assert {each.what for each in report.not_judged} == {"conversion", "reads"}
    assert all("does not answer" in each.reason for each in report.not_judged)
