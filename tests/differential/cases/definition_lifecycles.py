"""Sequences of requests from the creation of definitions to their deletion."""

from typing import Final

from hack.lib.differential.pair import Step
from tests.differential.cases.definition_cases import DOMAIN, PATH, crd, version
from tests.differential.cases.definition_steps import (
    JSON_PATCH,
    OBJECTS,
    ONE,
    STRUCTURED,
    TABLE,
    accepted,
    established,
    eventually,
    gone,
    names_of,
    patch,
    post,
    thing,
)

LIVES: Final[dict[str, list[Step]]] = {
    "delete": [
        post(crd()),
        established(),
        eventually(OBJECTS),
        Step("POST", OBJECTS, thing("plain")),
        Step("POST", OBJECTS, thing("held", finalizers=["example.com/hold"])),
        Step("DELETE", ONE, {"preconditions": {"uid": "x"}}),
        Step("DELETE", f"{ONE}?dryRun=All"),
        Step("DELETE", ONE),
        eventually(ONE, "InstanceDeletionInProgress"),
        Step("DELETE", ONE),
        eventually(f"{OBJECTS}/plain"),
        eventually(f"{OBJECTS}/held"),
        Step("POST", OBJECTS, thing("late")),
        Step("GET", f"/apis/{DOMAIN}/v1"),
        patch({"metadata": {"labels": {"still": "there"}}}, path=f"{OBJECTS}/held"),
        patch({"spec": {"scope": "Cluster"}}),
        patch({"spec": {"names": {"shortNames": ["late"]}}}),
        post(crd()),
        patch({"metadata": {"finalizers": None}}, path=f"{OBJECTS}/held"),
        gone(),
        eventually(OBJECTS),
        eventually(f"/apis/{DOMAIN}"),
        post(crd()),
        established(),
        eventually(OBJECTS),
        Step("DELETE", f"{ONE}?propagationPolicy=Foreground"),
        gone(),
        patch({"metadata": {"finalizers": None}}),
        post(crd("things")),
        established(),
        post(crd("items", kind="Item")),
        established(f"{PATH}/items.{DOMAIN}"),
        Step("DELETE", f"{PATH}?fieldSelector=metadata.name%3Ditems.{DOMAIN}"),
        gone(f"{PATH}/items.{DOMAIN}"),
        Step("DELETE", f"{PATH}?labelSelector=none%3Dsuch"),
        eventually(ONE),
    ],
    "conflicts": [
        post(crd(names=names_of(shortNames=["th"]))),
        established(),
        post(crd("others", kind="Thing")),
        eventually(f"{PATH}/others.{DOMAIN}"),
        post(crd("thirds", names={"plural": "thirds", "singular": "thing", "kind": "Third", "shortNames": ["th", "third"]})),
        eventually(f"{PATH}/thirds.{DOMAIN}"),
        post(crd("fourths", names={"plural": "fourths", "singular": "fourth", "kind": "Fourth", "listKind": "ThingList"})),
        eventually(f"{PATH}/fourths.{DOMAIN}"),
        post(crd("things", group=f"two.{DOMAIN}")),
        eventually(f"{PATH}/things.two.{DOMAIN}"),
        Step("GET", f"/apis/{DOMAIN}/v1/others"),
        Step("GET", f"/apis/{DOMAIN}/v1"),
        Step("DELETE", f"{PATH}/fourths.{DOMAIN}"),
        gone(f"{PATH}/fourths.{DOMAIN}"),
        Step("DELETE", ONE),
        gone(),
        established(f"{PATH}/others.{DOMAIN}"),
        established(f"{PATH}/thirds.{DOMAIN}"),
        eventually(f"/apis/{DOMAIN}/v1/others"),
    ],
    "served versions": [
        post(
            crd(
                "things",
                version("v1"),
                version("v1beta1", storage=False, deprecated=True),
                version("v1alpha1", storage=False, deprecated=True, deprecationWarning="go \u2603 away"),
                version("v0", storage=False, served=False, schema={"openAPIV3Schema": STRUCTURED}),
            )
        ),
        established(),
        eventually(f"/apis/{DOMAIN}"),
        eventually(OBJECTS),
        *(eventually(f"/apis/{DOMAIN}/{name}") for name in ("v1", "v1beta1", "v1alpha1", "v0")),
        Step("POST", OBJECTS, thing()),
        *(
            Step("GET", f"/apis/{DOMAIN}/{name}/namespaces/default/things{tail}")
            for name in ("v1", "v1beta1", "v1alpha1", "v0")
            for tail in ("", "/a", "/none", "/a/status")
        ),
        Step("POST", f"/apis/{DOMAIN}/v1beta1/namespaces/default/things", thing("b", apiversion="v1beta1")),
        Step("POST", f"/apis/{DOMAIN}/v1beta1/namespaces/default/things", thing("c")),
        Step("POST", f"/apis/{DOMAIN}/v0/namespaces/default/things", thing("c", apiversion="v0")),
        Step("PATCH", f"/apis/{DOMAIN}/v1alpha1/namespaces/default/things/b", {"metadata": {"labels": {"a": "b"}}}),
        Step("DELETE", f"/apis/{DOMAIN}/v1alpha1/namespaces/default/things/b"),
        eventually(f"/openapi/v3/apis/{DOMAIN}/v1"),
        eventually(f"/openapi/v3/apis/{DOMAIN}/v0"),
    ],
    "cluster": [
        post(
            crd(
                "things",
                version(
                    schema={"openAPIV3Schema": STRUCTURED},
                    subresources={"status": {}, "scale": {"specReplicasPath": ".spec.r", "statusReplicasPath": ".status.r"}},
                    selectableFields=[{"jsonPath": ".spec.a"}],
                    additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": ".spec.a", "description": "d"}],
                ),
                scope="Cluster",
                names=names_of(shortNames=["th"], categories=["all", "some"]),
            )
        ),
        established(),
        eventually(f"/apis/{DOMAIN}/v1"),
        eventually(f"/apis/{DOMAIN}/v1/things"),
        Step("POST", f"/apis/{DOMAIN}/v1/things", thing()),
        Step("POST", f"/apis/{DOMAIN}/v1/things", thing("n", namespace="default")),
        Step("POST", OBJECTS, thing("n")),
        Step("GET", f"/apis/{DOMAIN}/v1/things/a"),
        Step("GET", f"/apis/{DOMAIN}/v1/things", headers=TABLE),
        Step("PATCH", f"/apis/{DOMAIN}/v1/things/a", {"spec": {"a": "x"}}),
        Step("GET", f"/apis/{DOMAIN}/v1/things?fieldSelector=spec.a%3Dx"),
        Step("GET", f"/apis/{DOMAIN}/v1/things?fieldSelector=spec.a%3Dy"),
        Step("GET", f"/apis/{DOMAIN}/v1/things?fieldSelector=spec.b%3Dy"),
        Step("GET", f"/apis/{DOMAIN}/v1/things?fieldSelector=metadata.namespace%3Dy"),
        Step("GET", f"/apis/{DOMAIN}/v1/things?fieldSelector=spec.a!%3Dx,metadata.name%3Da"),
        Step("DELETE", f"/apis/{DOMAIN}/v1/things?fieldSelector=spec.a%3Dnone"),
        eventually(f"/openapi/v3/apis/{DOMAIN}/v1"),
        Step("DELETE", f"/apis/{DOMAIN}/v1/things"),
    ],
    "approval": [
        post(
            crd("things", group="defs.k8s.io")
            | {
                "metadata": {
                    "name": "things.defs.k8s.io",
                    "annotations": {"api-approved.kubernetes.io": "unapproved, testing"},
                }
            }
        ),
        eventually(f"{PATH}/things.defs.k8s.io"),
        patch({"metadata": {"annotations": {"api-approved.kubernetes.io": None}}}, path=f"{PATH}/things.defs.k8s.io"),
        patch(
            {"metadata": {"annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"}}},
            path=f"{PATH}/things.defs.k8s.io",
        ),
        eventually(f"{PATH}/things.defs.k8s.io"),
        patch({"spec": {"names": {"shortNames": ["tt"]}}}, path=f"{PATH}/things.defs.k8s.io"),
        accepted("tt", f"{PATH}/things.defs.k8s.io"),
        Step("DELETE", f"{PATH}/things.defs.k8s.io"),
        gone(f"{PATH}/things.defs.k8s.io"),
    ],
    "schema changes": [
        post(crd("things", version(schema={"openAPIV3Schema": STRUCTURED}))),
        established(),
        eventually(OBJECTS),
        Step("POST", OBJECTS, thing() | {"spec": {"a": "x", "b": 1}}),
        patch([{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b", "value": {}}], JSON_PATCH),
        patch(
            [
                {
                    "op": "add",
                    "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b",
                    "value": {"type": "integer", "default": 7},
                }
            ],
            JSON_PATCH,
        ),
        eventually(f"{OBJECTS}/a"),
        patch(
            [
                {
                    "op": "add",
                    "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b",
                    "value": {"type": "integer", "maximum": 3},
                }
            ],
            JSON_PATCH,
        ),
        eventually(f"{OBJECTS}/a"),
        eventually(ONE),
        patch([{"op": "add", "path": "/spec/versions/0/subresources", "value": {"status": {}}}], JSON_PATCH),
        eventually(f"{OBJECTS}/a/status"),
        patch(
            [
                {
                    "op": "replace",
                    "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties",
                    "value": {"c": {"type": "string"}},
                }
            ],
            JSON_PATCH,
        ),
        eventually(f"{OBJECTS}/a"),
        eventually(f"/openapi/v3/apis/{DOMAIN}/v1"),
    ],
}
