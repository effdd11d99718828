"""A test suite of controller-runtime on an existing cluster: each spec is a step.

The arguments are its program, and a pattern of the specs that are left out.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from transcript import say

PROGRAM, LEFT_OUT = sys.argv[1:]
_ENVIRONMENT = os.environ | {"USE_EXISTING_CLUSTER": "true"}

with tempfile.TemporaryDirectory() as scratch:
    report = Path(scratch) / "report.json"
    # a spec may wait a second for what takes longer on a busy machine
    command = [
        PROGRAM,
        "--ginkgo.seed=1",
        f"--ginkgo.skip={LEFT_OUT}",
        f"--ginkgo.json-report={report}",
        "--ginkgo.timeout=8m",
        "--ginkgo.flake-attempts=3",
    ]
    done = subprocess.run(command, cwd=Path(PROGRAM).parent, env=_ENVIRONMENT, capture_output=True, text=True, check=False)
    if not report.exists():
        sys.exit(done.stdout[-3000:] + done.stderr[-1000:])
    (suite,) = json.loads(report.read_text())
for spec in suite["SpecReports"] or ():
    if spec["LeafNodeType"] == "It":
        say(" ".join([*spec["ContainerHierarchyTexts"], spec["LeafNodeText"]]), spec["State"])
        if spec["State"] not in {"passed", "pending", "skipped"}:
            print(spec["LeafNodeText"], spec["Failure"]["Message"][:500], file=sys.stderr)
