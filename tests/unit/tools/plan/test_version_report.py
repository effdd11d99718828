"""What is stored in which version."""

from apiext.tools.plan.plan import VersionRole, VersionsReport
from apiext.tools.plan.step_finder import StoredFacts, find_steps
from apiext.tools.plan.version_report import report_versions
from tests.support.builders.plans import created, shaped

OLD = created(shaped("v1", "a", served=False), shaped("v2", "a", storage=True), stored=["v1", "v2"])


def _report(facts: StoredFacts, *, is_live: bool = True) -> VersionsReport:
    new = created(shaped("v1", "a", served=False), shaped("v2", "a"), shaped("v3", "a", storage=True))
    return report_versions(OLD.head, new.head, find_steps(OLD, new, facts), facts, is_live=is_live)


def test_versions() -> None:
    """Show each version before and after, with the number of objects and when it can be dropped."""
    report = _report(StoredFacts({"v2": 3}, is_exact=True))
    first, second, third = report.rows

    assert (first.before, first.after) == (VersionRole(served=False, storage=False, deprecated=False),) * 2
    assert [row.name for row in report.rows] == ["v1", "v2", "v3"]
    assert [row.objects for row in report.rows] == [0, 3, 0]
    assert [row.is_listed for row in report.rows] == [True, True, False]
    assert first.droppable == "after step 3"
    assert second.droppable == "after it is no longer served and step 3"
    assert third.droppable == "no: it is the storage version"
    assert (report.stored_before, report.stored_after, report.stored_finally) == (("v1", "v2"), ("v1", "v2", "v3"), ("v3",))


def test_evidence() -> None:
    """Say where numbers come from."""
    assert _report(StoredFacts({"v2": 3}, is_exact=True)).evidence == "counted from the stored bytes"
    assert _report(StoredFacts()).evidence == "estimated from status.storedVersions"
    assert _report(StoredFacts()).rows[0].objects is None
    assert _report(StoredFacts({"v2": 1})).evidence.endswith("and the apiVersion that a server or file gives each object")
    assert "not known" in _report(StoredFacts(), is_live=False).evidence


def test_stored_versions_that_no_definition_has() -> None:
    """Show objects of unknown versions, and dropped versions."""
    new = created(shaped("v2", "a", storage=True))
    facts = StoredFacts({"v0": 1, "v2": 1}, is_exact=True)
    report = report_versions(OLD.head, new.head, find_steps(OLD, new, facts), facts, is_live=True)

    assert [(row.name, row.objects, row.droppable) for row in report.rows] == [
        ("v2", 1, "no: it is the storage version"),
        ("v1", 0, "this release drops it"),
        ("v0", 1, "this release drops it"),
    ]


def test_a_version_without_objects_can_be_dropped() -> None:
    """Drop a version that is neither served nor stored at once."""
    old = created(shaped("v1", "a", served=False), shaped("v2", "a", storage=True))
    report = report_versions(old.head, old.head, find_steps(old, old, StoredFacts()), StoredFacts(), is_live=True)

    assert report.rows[0].droppable == "yes"
