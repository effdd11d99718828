"""The status of Conversion objects."""

from dataclasses import replace
from typing import Any, Final

from apiext.resources.conversion.rules.check.document_check import check_document
from apiext.resources.conversion.rules.check.report import CheckReport
from apiext.resources.conversion.rules.definition import conversion_definition
from apiext.resources.conversion.rules.reporting.status import RulesUsage, conversion_status
from apiext.schema.compiled import CompiledSchema
from tests.support.builders.related_versions import INTEGER, STRING, conversion, obj, schemas_of_specs

_USED: Final = RulesUsage(is_used=True, reason="Converting", message="Objects are converted by these rules.")
_RENAME: Final = {"rename": {"path": "spec.size", "to": "capacity"}}


def _status(document: dict[str, Any], report: CheckReport | None) -> dict[str, Any]:
    return conversion_status(document, report, _USED)


def _conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in status["conditions"]}


def test_valid_rules_are_in_use() -> None:
    """Report valid rules with the generation that was checked."""
    document = conversion(_RENAME)
    _, report = check_document(document, schemas_of_specs(v1=obj(size=INTEGER), v2=obj(capacity=INTEGER)))

    status = _status(document, report)

    assert _conditions(status) == {"Valid": ("True", "Checked"), "InUse": ("True", "Converting")}
    assert status["observedGeneration"] == 1
    assert status.keys() == {"observedGeneration", "conditions"}


def test_problems_have_paths() -> None:
    """Report what makes rules unusable, in the condition and as a list."""
    document = conversion(_RENAME, {"drop": {"path": "spec.old", "reason": "unused"}})
    _, report = check_document(document, schemas_of_specs(v1=obj(size=INTEGER, old=STRING), v2=obj(capacity=STRING)))

    status = _status(document, report)

    assert _conditions(status) == {"Valid": ("False", "InvalidRules"), "InUse": ("False", "InvalidRules")}
    assert status["problems"][0] == {
        "path": "spec.spokes[0].rules[0].rename.to",
        "message": "spec.capacity is of type integer from v1, and string in v2",
    }
    assert status["conditions"][0]["message"].startswith("spec.spokes[0].rules[0].rename.to: spec.capacity is of type")
    assert status["losses"] == [{"version": "v1", "path": "spec.old", "reason": "unused"}]


def test_rules_in_use_go_on() -> None:
    """Report problems of rules that a changed CRD has made invalid, and that they are in use still."""
    document = conversion(_RENAME)
    _, report = check_document(document, schemas_of_specs(v1=obj(size=INTEGER), v2=obj(capacity=STRING)))

    status = conversion_status(document, report, replace(_USED, continues=True))

    assert _conditions(status) == {"Valid": ("False", "InvalidRules"), "InUse": ("True", "Converting")}
    assert status["conditions"][1]["message"].startswith(f"{_USED.message} They are invalid since a change of the CRD")


def test_mistakes_of_form_are_problems() -> None:
    """Report an object that a server without validation stored."""
    document = conversion({"swap": {}})
    rules, report = check_document(document, schemas_of_specs(v1=obj(), v2=obj()))

    assert rules is None
    assert _status(document, report)["problems"][0]["path"].startswith("spec.spokes[0].rules[0]")


def test_a_missing_crd_is_unknown() -> None:
    """Wait for the CRD."""
    status = _status(conversion(), None)

    assert _conditions(status) == {"Valid": ("Unknown", "DefinitionNotFound"), "InUse": ("False", "DefinitionNotFound")}


def test_an_unchanged_status_is_equal() -> None:
    """Keep times, so that writers can leave out equal statuses."""
    document = conversion()
    report = CheckReport()
    first = _status(document, report)
    first["conditions"][0]["lastTransitionTime"] = first["conditions"][1]["lastTransitionTime"] = "2020-01-01T00:00:00Z"

    assert _status(document | {"status": first}, report) == first


def test_the_definition_keeps_the_status() -> None:
    """Write no field that the CRD of Conversion objects does not have."""
    document = conversion(_RENAME)
    _, report = check_document(document, schemas_of_specs(v1=obj(), v2=obj()))
    schema = CompiledSchema(conversion_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    document["status"] = _status(document, report)

    assert schema.coerce(document, report=True) == []
    assert schema.validate_values(document) == []
