"""The followed CRDs and Conversion objects."""

from apiext.operator.conversionserver.cluster_objects import WEBHOOK, ClusterObjects, conversion_summary, crd_summary, wish_of, xrd_summary
from tests.unit.operator.conversionserver.parts import CLAIM, NAME, Followed, conversion, crd, owned, xrd


def test_reports_changes() -> None:
    """Call back for additions, changes and deletions, those that a list reveals included."""
    changes: list[str] = []
    followed = ClusterObjects(changes.append, crd_summary)

    followed.replaced([crd(), crd(name="gadgets.example.com")])
    followed.changed(crd(generation=2))
    followed.changed({**crd(generation=2), "status": {"conditions": [1]}})
    followed.replaced([crd(generation=2)])
    followed.deleted(crd())
    followed.deleted(crd())

    assert changes == [NAME, "gadgets.example.com", NAME, "gadgets.example.com", NAME]
    assert (followed.all(), followed.synced.is_set()) == ([], True)


def test_summaries_are_small_and_stable() -> None:
    """Keep no schemas and no managed fields; a summary of a summary is the same."""
    whole = crd("webhook")
    whole["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {}}
    whole["status"] = {"acceptedNames": {"kind": "Accepted"}}

    summary = crd_summary(whole)

    assert "versions" not in summary["spec"]
    assert (summary["spec"]["names"], wish_of(summary)) == ({"kind": "Accepted"}, "webhook")
    assert crd_summary(summary) == summary

    rules = conversion()
    rules["metadata"]["managedFields"] = [{}]
    kept = conversion_summary(rules)
    assert kept["metadata"].keys() == {"name", "uid", "generation"}
    assert conversion_summary(kept) == kept


def test_a_crd_without_annotations_wishes_nothing() -> None:
    """Return no wish without the annotation."""
    bare = crd()
    del bare["metadata"]["annotations"]

    assert (wish_of(bare), wish_of(crd())) == ("", "")


def test_an_xrd_holds_the_conversion_of_its_crds() -> None:
    """Take the conversion of a CRD that Crossplane makes from its XRD, once that is known."""
    followed = Followed()
    made = owned(crd())
    followed.crds.changed(made)
    assert crd_summary(crd_summary(made)) == crd_summary(made)
    assert followed.definitions.holder(NAME) is None

    found = xrd(WEBHOOK)
    followed.xrds.changed(found)
    holder = followed.definitions.holder(NAME)
    assert holder is not None
    assert (holder.kind, holder.crds, wish_of(holder.object)) == ("XRD", [NAME, CLAIM], WEBHOOK)
    assert xrd_summary(xrd_summary(found)) == xrd_summary(found)
    assert followed.definitions.holder("nobody") is None
