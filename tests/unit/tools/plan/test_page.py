"""A plan as a page."""

import json
import re
from typing import Any

import pytest

from apiext.tools.plan import page
from apiext.tools.plan.page import page_of
from apiext.tools.plan.plan import ReleasePlan
from tests.support.builders.plans import ListedObjects, created, custom, plan_of, shaped

OLD = created(shaped("v1", "a", "b", storage=True))


def _data(plan: ReleasePlan) -> Any:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page_of(plan), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_holds_the_plan() -> None:
    """Hold the summary, and for each definition the reasons, trees, objects, versions, steps and rollback."""
    data = _data(plan_of(OLD, created(shaped("v1", "a"), shaped("v2", "a", storage=True)), ListedObjects(custom("w", b="x"))))
    (found,) = data["definitions"]

    assert data["summary"].startswith("BREAKING: 1 CRD. 1 object: 1 loses spec.b")
    assert data["about"] == "new replaces old, objects of a list"
    assert found["breaks"][0].startswith("spec.b: the field (string) was removed")
    assert [tree["version"] for tree in found["trees"]] == ["v1", "v2"]
    assert found["objects"]["findings"][0].startswith("pruned: 1 object: ")
    assert found["steps"][0]["text"] == "Apply the new definition of widgets.example.com"
    assert found["versions"]
    assert found["rollback"]["steps"]


def test_commands_hold_their_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a manifest into the command unless it is long."""
    plan = plan_of(OLD, created(shaped("v1", "a", "b", "c", storage=True)))
    (whole,) = _data(plan)["definitions"][0]["steps"][0]["commands"]
    monkeypatch.setattr(page, "MAX_MANIFEST", 10)
    (short,) = _data(plan)["definitions"][0]["steps"][0]["commands"]

    assert whole.startswith("kubectl patch crd widgets.example.com --type=merge --patch-file /dev/stdin <<'")
    assert "kind: CustomResourceDefinition\n" in whole
    assert short == "kubectl patch crd widgets.example.com --type=merge --patch-file FILE"


def test_nothing_changes() -> None:
    """Have no definitions without changes."""
    data = _data(plan_of(OLD, OLD))

    assert (data["summary"], data["definitions"]) == ("SAFE: nothing changes.", [])
    assert data["notes"][0] == "1 definition unchanged"
