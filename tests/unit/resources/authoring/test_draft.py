"""First Conversion objects, made by comparing versions."""

from typing import Any, Final

import pytest
import yaml

from apiext.resources.authoring.draft import draft_text
from apiext.resources.conversion.rules.check.document_check import check_document, crd_schemas
from hack.lib.real_crds import NO_REAL, REAL, real_crds
from tests.support.builders.crds import definition
from tests.support.builders.related_versions import INTEGER, STRING, array, crd_of_specs, mapped, obj

_TEXT: Final = {"description": "region says where the objects of this kind are placed by the scheduler."}

_REFERENCE: Final = obj(("name",), name=STRING, namespace=STRING | _TEXT, audiences=array(STRING))
_SELECTOR: Final = obj(key=STRING, name=STRING, namespace=STRING | _TEXT)


def _draft(spoke: Any, hub: Any) -> tuple[list[Any], str]:
    """Return the rules and the text of the draft between v1 and the hub v2, which must pass the check."""
    crd = crd_of_specs(v1=spoke, v2=hub)
    text = draft_text(definition(crd))
    document = yaml.safe_load(text)
    _, report = check_document(document, crd_schemas(crd))
    assert report.problems == [] or "# Problem" in text
    (spoke,) = document["spec"]["spokes"]
    return spoke["rules"], text


FOUND: Final = {
    "nothing": (obj(a=STRING), obj(a=STRING), []),
    "a move": (obj(region=STRING), obj(at=obj(region=STRING)), [{"move": {"from": "spec.region", "to": "spec.at.region"}}]),
    "a move of an object": (
        obj(probe=obj(port=INTEGER)),
        obj(health=obj(probe=obj(port=INTEGER))),
        [{"move": {"from": "spec.probe", "to": "spec.health.probe"}}],
    ),
    "a similar name": (obj(cohort=STRING), obj(cohortName=STRING), [{"rename": {"path": "spec.cohort", "to": "cohortName"}}]),
    "a description": (obj(region=STRING | _TEXT), obj(zone=STRING | _TEXT), [{"rename": {"path": "spec.region", "to": "zone"}}]),
    "the same values": (
        obj(mode=STRING | {"enum": ["a", "b"]}),
        obj(modus=STRING | {"enum": ["a", "b"]}),
        [{"rename": {"path": "spec.mode", "to": "modus"}}],
    ),
    "a rename below a move": (
        obj(settings=obj(size=INTEGER, probePort=INTEGER)),
        obj(options=obj(settings=obj(size=INTEGER, probePortNumber=INTEGER))),
        [
            {"move": {"from": "spec.settings", "to": "spec.options.settings"}},
            {"rename": {"path": "spec.options.settings.probePort", "to": "probePortNumber"}},
        ],
    ),
    "items": (
        array(obj(region=STRING)),
        array(obj(at=obj(region=STRING))),
        [{"move": {"from": "spec[*].region", "to": "spec[*].at.region"}}],
    ),
    "wrap": (obj(host=STRING), obj(host=obj(name=STRING)), [{"wrap": {"path": "spec.host", "field": "name"}}]),
    "unwrap": (
        obj(host=obj(("name",), name=STRING, ip=STRING)),
        obj(host=STRING),
        [{"unwrap": {"path": "spec.host", "field": "name"}}],
    ),
    "unwrap of an object": (
        obj(account=obj(("inner",), inner=_REFERENCE, uid=STRING)),
        obj(account=_REFERENCE),
        [{"unwrap": {"path": "spec.account", "field": "inner"}}],
    ),
    "unwrap beside objects that are alike": (
        obj(aws=obj(auth=_SELECTOR), kubernetes=obj(auth=obj(account=obj(account=_REFERENCE)))),
        obj(aws=obj(auth=_SELECTOR, session=_SELECTOR), kubernetes=obj(auth=obj(account=_REFERENCE)), other=obj(auth=_SELECTOR)),
        [{"unwrap": {"path": "spec.kubernetes.auth.account", "field": "account"}}],
    ),
    "unwrap of an object with one field": (
        obj(account=obj(inner=obj(name=STRING))),
        obj(account=obj(name=STRING)),
        [{"unwrap": {"path": "spec.account", "field": "inner"}}],
    ),
    "wrap of items": (
        obj(items=array(obj(host=STRING, port=INTEGER))),
        obj(items=array(obj(at=obj(host=STRING, portNumber=INTEGER, port=INTEGER)))),
        [{"wrap": {"path": "spec.items[*]", "field": "at"}}],
    ),
    "the nearest": (
        obj(one=obj(a=INTEGER, limitBytes=INTEGER), two=obj(b=INTEGER)),
        obj(one=obj(a=INTEGER, limits=obj(limitBytes=INTEGER)), two=obj(b=INTEGER, limits=obj(limitBytes=INTEGER))),
        [{"move": {"from": "spec.one.limitBytes", "to": "spec.one.limits.limitBytes"}}],
    ),
    "where the siblings went": (
        obj(x=obj(host=STRING, portNumber=INTEGER)),
        obj(y=obj(portNumber=INTEGER), z=obj(host=STRING, portNumber=INTEGER)),
        [{"rename": {"path": "spec.x", "to": "z"}}],
    ),
    "names that say little in another object": (
        obj(one=obj(name=STRING | _TEXT, kind=STRING)),
        obj(one=obj(kind=STRING), two=obj(name=STRING | _TEXT)),
        [],
    ),
    "two that fit equally well": (obj(one=obj(size=INTEGER)), obj(a=obj(sizes=INTEGER), b=obj(sizes=INTEGER), one=obj()), []),
    "a list": (obj(host=STRING), obj(host=array(STRING)), [{"wrap": {"path": "spec.host", "list": True}}]),
    "a plural": (
        obj(host=STRING),
        obj(hosts=array(STRING)),
        [{"rename": {"path": "spec.host", "to": "hosts"}}, {"wrap": {"path": "spec.hosts", "list": True}}],
    ),
    "list to map": (
        obj(env=array(obj(name=STRING, value=STRING))),
        obj(env=mapped(STRING)),
        [{"listToMap": {"path": "spec.env", "key": "name", "value": "value"}}],
    ),
    "map to list": (
        obj(env=mapped(obj(size=INTEGER))),
        obj(env=array(obj(name=STRING, size=INTEGER))),
        [{"mapToList": {"path": "spec.env", "key": "name"}}],
    ),
    "enum": (
        obj(mode=STRING | {"enum": ["very-fast", "slow"]}),
        obj(mode=STRING | {"enum": ["VeryFast", "Slow"]}),
        [{"enum": {"path": "spec.mode", "map": {"very-fast": "VeryFast", "slow": "Slow"}}}],
    ),
    "default": (
        obj(),
        obj(("tier",), tier=STRING | {"enum": ["std"]}),
        [{"default": {"path": "spec.tier", "value": "std"}}],
    ),
    "default of the spoke": (obj(("tier",), tier=INTEGER), obj(), [{"default": {"path": "spec.tier", "value": 0, "in": "spoke"}}]),
}


@pytest.mark.parametrize("name", FOUND)
def test_rules_are_found(name: str) -> None:
    """Find the rule that relates two schemas, without problems."""
    spoke, hub, expected = FOUND[name]

    rules, text = _draft(spoke, hub)

    assert rules == expected
    assert "# Problem" not in text


def test_open_questions_are_comments() -> None:
    """List fields without a counterpart, types that no rule relates, and values without a counterpart."""
    rules, text = _draft(
        obj(old=STRING, size=INTEGER, mode=STRING | {"enum": ["a"]}), obj(wide=INTEGER, size=obj(x=STRING), mode=STRING | {"enum": ["b"]})
    )

    assert rules == []
    decisions = [line.strip() for line in text.splitlines() if "# Decide" in line]
    assert decisions == [
        "# Decide: spec.mode: v1 alone has the values ['a'], v2 alone has ['b']: add an enum rule.",
        (
            "# Decide: spec.size is of type integer in v1 and object in v2: write an expression for both directions, "
            "or move it away to carry it."
        ),
        "# Decide: spec.old of v1 has no counterpart in v2: it is carried. Move it, or drop it with a reason.",
        "# Decide: spec.wide of v2 has no counterpart in v1: it is carried. Move it, or drop it with a reason.",
    ]
    assert "# Problem: spec.size is of type integer from v1, and object in v2; no rule converts it." in text


def test_the_hub_can_be_chosen() -> None:
    """Relate versions to another one than the storage version."""
    crd = definition(crd_of_specs(v1=obj(size=INTEGER), v2=obj(sizes=INTEGER)))

    document = yaml.safe_load(draft_text(crd, "v1"))

    assert document["spec"]["hub"] == "v1"
    assert document["spec"]["spokes"] == [{"version": "v2", "rules": [{"rename": {"path": "spec.sizes", "to": "size"}}]}]
    with pytest.raises(ValueError, match="has no version v9; it has v1, v2"):
        draft_text(crd, "v9")


def test_one_version_needs_no_conversion() -> None:
    """Refuse a CRD that has nothing to convert."""
    with pytest.raises(ValueError, match="has one version"):
        draft_text(definition(crd_of_specs(v2=obj())))


@pytest.mark.skipif(not REAL.is_dir(), reason=NO_REAL)
def test_drafts_of_real_crds_pass_the_check() -> None:
    """Write drafts without problems of all real CRDs with several versions."""
    crds = [crd for crd in real_crds() if len(crd["spec"]["versions"]) > 1]
    assert len(crds) > 30
    for crd in crds:
        _, report = check_document(yaml.safe_load(draft_text(definition(crd))), crd_schemas(crd))
        assert report.problems == []
