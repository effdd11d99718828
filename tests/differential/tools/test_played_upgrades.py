"""Upgrades that are played on kube-apiserver with samples and generated objects."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.controlplane import ControlPlane
from hack.lib.upgrades.__main__ import Comparison
from hack.lib.upgrades.planned import plan_upgrade
from hack.lib.upgrades.played import PlayedDefinition
from hack.lib.upgrades.projects import Upgrade
from tests.support.builders.crds import crd, version
from tests.support.builders.seeds import SEED

pytestmark = pytest.mark.slow

Json = dict[str, Any]
_UPGRADE: Final = Upgrade("project", "example.com/project", "v1", "v2", "crds", "samples")
_STRING: Final = {"type": "string"}
_SHORT: Final = {"type": "string", "maxLength": 3}
_RULE: Final = {"rule": "self.startsWith('y') ? self.size() < 4 : (self == 'x' || !(self == 'z'))"}
_SAME_RULE: Final = {"rule": "self.startsWith('y') ? self.size() < 4 : !(self != 'x' && self == 'z')"}
_MAP: Final = {"type": "object", "properties": {"b": _STRING, "c": _STRING}}


def _list(items: Json) -> Json:
    return {"type": "array", "items": {"type": "object", "properties": {"m": items}}}


_CHANGES: Final[dict[str, tuple[list[Json], list[Json]]]] = {
    "grown": ([{"a": _STRING}], [{"a": _STRING, "b": _STRING}]),
    "shrunk": ([{"a": _STRING, "b": {"type": "integer"}}], [{"a": _STRING}]),
    "dropped": ([{"a": _STRING}, {"a": _STRING}], [{"a": _STRING}]),
    "loosened": ([{"a": _SHORT}, {"a": _SHORT}], [{"a": _STRING}, {"a": _SHORT}]),
    "rewritten": (
        [{"a": _STRING | {"pattern": "^[-a-zSA-Z0-9]+$", "allOf": [{"maxLength": 9}], "x-kubernetes-validations": [_RULE]}}],
        [{"a": _STRING | {"pattern": "^[-A-Za-z0-9]+$", "maxLength": 9, "x-kubernetes-validations": [_SAME_RULE]}}],
    ),
    "part": ([{"a": _STRING, "l": _list(_MAP)}], [{"a": _STRING, "l": _list(_MAP | {"x-kubernetes-map-type": "atomic"})}]),
    "scaled": ([{"a": _STRING, "n": {"type": "integer"}}], [{"a": _STRING, "n": {"type": "integer"}}]),
}
"""The fields of each version before and after, by the name of the definition; the first version is stored."""


async def test_harm_is_observed_where_there_is_some(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Find none after harmless changes, a loss by generated objects after a field was removed, and a version that is gone after its steps.

    A scale lets kube-apiserver refuse all updates of an object with a negative number of replicas.
    """
    for place, folder in enumerate(("old", "new")):
        _write(tmp_path / folder / "crds", {name: _crd(name, releases[place], place=place) for name, releases in _CHANGES.items()})
    _write(tmp_path / "old" / "samples", {name: _sample(name) for name in _CHANGES})

    planned = await plan_upgrade(_UPGRADE, tmp_path / "old", tmp_path / "new", SEED)
    found = {}
    for one in planned.definitions:
        played = PlayedDefinition(control_plane, one)
        played.play()
        assert played.objects[0] == 1
        assert Comparison(one, played.objects, tuple(played.refused), played.harms).is_equal
        found[one.plan.name.partition("s.")[0]] = one.plan.verdict, {*played.harms}

    assert planned.unplayed == ()
    assert {name for name, one in found.items() if one == ("safe", set())} == {"grown", "loosened", "rewritten", "part"}
    assert found["scaled"][0] == "breaking"
    assert "v1: an update of a label is refused: .spec.n: Invalid value: -1: should be a non-negative integer" in found["scaled"][1]
    assert found["dropped"] == ("breaking", {"v1beta1 is no longer served"})
    assert found["shrunk"][0] == "breaking"
    assert "v1: a read lacks or alters spec.b" in found["shrunk"][1]


def _crd(name: str, fields: list[Json], *, place: int) -> Json:
    scale = {"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}} if (name, place) == ("scaled", 1) else {}
    versions = [
        version(
            each,
            storage=each == "v1",
            schema={"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}},
            subresources=scale,
        )
        for each, properties in zip(("v1", "v1beta1"), fields, strict=False)
    ]
    return crd(f"{name}s", *versions, kind=name.capitalize(), group="upgraded.example.com")


def _sample(name: str) -> Json:
    head = {"apiVersion": f"upgraded.example.com/{'v1beta1' if name == 'dropped' else 'v1'}", "kind": name.capitalize()}
    return head | {"metadata": {"name": name, "labels": {"a": "b"}}, "spec": {"a": "x"} | ({"n": -1} if name == "scaled" else {})}


def _write(folder: Path, documents: dict[str, Json]) -> None:
    folder.mkdir(parents=True)
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
