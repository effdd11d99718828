"""The collection of findings."""

from apiext.tools.judgement.findings import Findings, Group
from apiext.tools.judgement.outcome import MAX_EXAMPLES, FindingKind


def test_equal_findings_of_several_objects_are_one() -> None:
    """Count objects, name the first ones, and count an object once."""
    findings, group = Findings(), Group(FindingKind.PRUNED, "v1", "spec.a", "gone")
    for number in range(MAX_EXAMPLES + 5):
        findings.add(f"o{number}", group, already=number < 2)
        findings.add(f"o{number}", group)
    (found,) = findings.sorted()

    assert (found.count, found.already) == (MAX_EXAMPLES + 5, 2)
    assert found.examples == [f"o{number}" for number in range(MAX_EXAMPLES)]
    assert findings.has("o1", FindingKind.PRUNED)
    assert not findings.has("o1", FindingKind.LOST)
    assert findings.end_page() == MAX_EXAMPLES + 5
    assert findings.end_page() == 0


def test_the_number_of_groups_is_limited() -> None:
    """Join findings about very many fields."""
    findings = Findings()
    for number in range(2000):
        findings.add("o", Group(FindingKind.PRUNED, "v1", f"spec.f{number}", "gone"))
    found = findings.sorted()

    assert len(found) == 501
    assert found[0].message == "more fields or messages"


def test_long_messages_are_cut() -> None:
    """Limit the text of a finding."""
    findings = Findings()
    findings.add("o", Group(FindingKind.STUCK, "v1", "", "x" * 9999))

    assert len(findings.sorted()[0].message) < 600


def test_findings_have_an_order() -> None:
    """Order findings by kind, version and path."""
    findings = Findings()
    for kind, version, path in ((FindingKind.LOST, "v1", "b"), (FindingKind.LOST, "v1", "a"), (FindingKind.PRUNED, "v2", "c")):
        findings.add("o", Group(kind, version, path, ""))

    assert [(found.kind, found.path) for found in findings.sorted()] == [
        (FindingKind.PRUNED, "c"),
        (FindingKind.LOST, "a"),
        (FindingKind.LOST, "b"),
    ]
