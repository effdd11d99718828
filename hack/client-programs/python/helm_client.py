"""Helm, whose path is the first argument: a release from its installation to its removal, with a failed upgrade and a rollback."""

import json
import subprocess
import sys
from pathlib import Path

from transcript import NAMESPACE, say

HELM, KUBECTL = sys.argv[1:3]
CHART = str(Path(__file__).resolve().parents[1] / "helm" / "chart")
KINDS = "gadgets.clients.example.com,configmaps,deployments,roles"


def run(step: str, *arguments: str) -> None:
    """Run helm and write how it ended, and the objects of the namespace."""
    done = subprocess.run([HELM, *arguments, "-n", NAMESPACE], capture_output=True, text=True, check=False)
    output = json.loads(done.stdout) if "json" in arguments and done.stdout else done.stdout.splitlines()
    say(step, {"code": done.returncode, "output": output, "errors": done.stderr.splitlines()})
    if step.startswith("state"):
        return
    command = [KUBECTL, "get", KINDS, "-n", NAMESPACE, "-o", "json", "--show-managed-fields"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    items = json.loads(found.stdout)["items"] if found.returncode == 0 else found.stderr
    say(f"objects after {step}", [item for item in items if item["metadata"]["name"] != "kube-root-ca.crt"])


run("install", "install", "demo", CHART)
run("install again", "install", "demo", CHART)
run("state", "status", "demo", "-o", "json")
run("dry run", "upgrade", "demo", CHART, "--set", "color=red", "--dry-run=server")
run("upgrade", "upgrade", "demo", CHART, "--set", "color=red,extra=false")
run("invalid upgrade", "upgrade", "demo", CHART, "--set", "color=pink,replicas=20")
run("state after a failure", "history", "demo", "-o", "json")
run("rollback", "rollback", "demo", "1")
run("state of values", "get", "manifest", "demo")
run("uninstall", "uninstall", "demo", "--cascade", "background")
run("state at the end", "list", "-o", "json")
