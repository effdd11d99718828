"""Objects of Fleets, without a server."""

from apiext.evaluation import load

FLEETS = load("crds/examples/fleets.yaml")
V1 = FLEETS.version("v1")


def fleet(**spec):
    metadata = {"name": "web", "namespace": "default"}
    return {"apiVersion": "apps.example.com/v1", "kind": "Fleet", "metadata": metadata, "spec": spec}


def test_defaults():
    assert V1.decode(fleet(image="web:1"))["spec"]["replicas"] == 1
    assert V1.unknown_fields(fleet(image="web:1", size=3)) == ['unknown field "spec.size"']


def test_refuses_capitals():
    refused = V1.validate(fleet(image="WEB"))
    assert [error.path for error in refused.errors] == ["spec.image"]

    # an update tolerates what it leaves as it was
    update = V1.validate(fleet(image="WEB", replicas=2), fleet(image="WEB", replicas=1))
    assert update.is_accepted
    assert update.tolerated[0].why == "spec.image is unchanged"


def test_older_clients_see_all_fields():
    assert FLEETS.convert(fleet(image="web:1"), "v1beta1")["spec"] == V1.decode(fleet(image="web:1"))["spec"]
