"""The steps as a shell script."""

import subprocess
from typing import Final

import yaml

from apiext.tools.plan.script import rollback_script_of, script_of
from tests.support.builders.plans import WEBHOOK, ListedObjects, created, custom, plan_of, release, shaped

ONE: Final = created(shaped("v1", "a", storage=True))
PLANS: Final = (
    plan_of(ONE, created(shaped("v2", "a", storage=True)), ListedObjects(custom("w'; rm -rf /", a="$(x)"))),
    plan_of(ONE, created(shaped("v1", "a"), shaped("v2", "b", storage=True), conversion=WEBHOOK)),
    plan_of(None, ONE),
    plan_of(release(ONE, is_live=True), release(), removes=True),
    plan_of(ONE, ONE),
)
DROP: Final = plan_of(
    created(shaped("v1", "a", served=False), shaped("v2", "a", storage=True), stored=["v1", "v2"]), created(shaped("v2", "a", storage=True))
)
STEPS: Final = """
# --- widgets.example.com
case "$(state widgets.example.com)" in
  'v1=false/false v2=true/true None') first=1 ;;
  'v2=true/true None') first=3 ;;
  *) echo 'widgets.example.com is in a state that is not part of this plan: make a new one' >&2; exit 1 ;;
esac

# 1. Store all objects in v2
# Because: the new definition does not have v1, so no object may be stored in it
# Done when every object is replaced without an error, or the StorageVersionMigration is Succeeded.
if [ "$first" -le 1 ]; then
  echo 'widgets.example.com: 1. Store all objects in v2'
  migrate widgets.v2.example.com -A <steps-widgets.example.com-1-migrate.yaml
fi
"""


def test_is_valid_shell() -> None:
    """Write what a POSIX shell can read."""
    for plan in (*PLANS, DROP):
        for script in (
            script_of(plan),
            script_of(plan, with_files=True),
            rollback_script_of(plan),
            rollback_script_of(plan, with_files=True),
        ):
            subprocess.run(["sh", "-n"], input=script.text, text=True, check=True)


def test_continues_where_the_definition_is() -> None:
    """Skip the steps before the state that the definition has, and stop at an unknown one."""
    assert STEPS in script_of(DROP, with_files=True).text


def test_manifests() -> None:
    """Hold the manifests in the script, or in files beside it."""
    script = script_of(DROP, with_files=True)

    assert sorted(script.files) == ["steps-widgets.example.com-1-migrate.yaml", "steps-widgets.example.com-3-apply.yaml"]
    assert yaml.safe_load(script.files["steps-widgets.example.com-1-migrate.yaml"])["kind"] == "StorageVersionMigration"
    assert yaml.safe_load(script.files["steps-widgets.example.com-3-apply.yaml"])["metadata"] == {"name": "widgets.example.com"}
    inline = script_of(DROP)
    assert inline.files == {}
    for text in script.files.values():
        assert f"\n{text}APIEXT_END_OF_MANIFEST\n" in inline.text


def test_later_steps_are_taken_on_request() -> None:
    """Leave out the steps that only a later release needs."""
    assert 'if [ "$first" -le 2 ] && [ "$LATER" = yes ]; then\n' in script_of(PLANS[1]).text.replace("-le 3 ]", "-le 2 ]")


def test_forgets_managers() -> None:
    """Name the objects and the version."""
    entry = {
        "operation": "Update",
        "manager": "kubectl",
        "apiVersion": "example.com/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {}},
    }
    old = created(shaped("v1", "a"), shaped("v2", "a", storage=True), stored=["v2"])
    plan = plan_of(old, created(shaped("v2", "a", storage=True)), ListedObjects(custom("w", "v2", managers=[entry], a="x")))

    assert "\n  forget_managers example.com/v1 widgets.v2.example.com -A\n" in script_of(plan).text


def test_deletes_what_goes_away() -> None:
    """Delete a definition on request only."""
    assert "\nkubectl delete crd widgets.example.com --ignore-not-found\n" in script_of(PLANS[3]).text
    assert "delete crd" not in script_of(PLANS[4]).text


def test_a_breaking_plan_needs_consent() -> None:
    """Refuse to take the steps of a breaking plan without a variable."""
    found = subprocess.run(["sh"], input=script_of(PLANS[3]).text, text=True, check=False, capture_output=True)

    assert found.returncode == 1
    assert found.stderr.startswith("The plan is breaking")
    assert "The plan is breaking" not in script_of(DROP).text


def test_rollback() -> None:
    """Begin with the state after the release."""
    script = rollback_script_of(PLANS[0], with_files=True)

    assert "  'v2=true/true None') first=1 ;;\n" in script.text
    assert "steps" not in "".join(script.files)
    assert "# --- " not in rollback_script_of(PLANS[2]).text
