"""Messages between a run and its worker processes."""

from pathlib import Path
from typing import Any, cast

import orjson
import yaml

from apiext.tools.replay.server_client import ServerClient
from apiext.tools.suites.model import CaseKind, CaseOutcome, CaseResult, Suite, SuiteCase, SuiteJob, SuiteVariant
from apiext.tools.suites.worker import JobRunner, as_json, from_json
from apiext.tools.suites.worker_pool import job_message


def _job(manifest: Path, kind: CaseKind) -> Any:
    suite = Suite(Path("s/a.yaml"), "A", "widgets.example.com", "v1", (), (), {}, ())
    return orjson.loads(
        orjson.dumps(job_message(SuiteJob(SuiteVariant(suite, manifest, "", ""), [SuiteCase(kind, 3, "n", 1, {"steps": []})])))
    )


def test_results_survive_the_way() -> None:
    """A result is the same after its way as JSON."""
    result = CaseResult(CaseOutcome.FAILED, "m", {"a": 1}, {"a": 2}, 0.5, {"expected": {}}, [{"field": "f", "message": "m"}])

    assert from_json(orjson.loads(orjson.dumps(as_json(result)))) == result


def test_jobs_name_their_cases_by_number() -> None:
    """A job has what a worker needs: places, the version, and the cases."""
    job = _job(Path("m.yaml"), CaseKind.ON_UPDATE)

    assert (job["manifest"], job["folder"], job["version"]) == ("m.yaml", "s", "v1")
    assert [(case["id"], case["kind"], case["spec"]) for case in job["cases"]] == [(0, "onUpdate", {"steps": []})]


async def test_manifests_that_cannot_be_used(tmp_path: Path) -> None:
    """A missing or deformed manifest is an error of its cases; the worker goes on."""
    runner = JobRunner(cast("ServerClient", None))
    manifest = tmp_path / "m.yaml"
    missing = _job(manifest, CaseKind.ON_CREATE)

    assert (await runner.run(missing, missing["cases"][0])).outcome is CaseOutcome.ERROR

    document = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"}}
    manifest.write_text(yaml.safe_dump(document))
    result = await runner.run(missing, missing["cases"][0])

    assert result.outcome is CaseOutcome.ERROR
    assert "not the form of a CRD" in result.message
