"""The steps of a plan as a shell script, which may be run again at any time: it continues where the definitions are."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.endpoints.serializers import yaml_codec
from apiext.lab.plan import summary
from apiext.lab.plan.plan import Need, State, StepKind
from apiext.lab.plan.step_chain import STATE_PATH
from apiext.lab.plan.summary import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.lab.plan.plan import DefinitionPlan, PlanStep, ReleasePlan
    from apiext.meta.encoding.json_codec import Object

SCRIPT_NAME: Final = "steps.sh"
_END: Final = "APIEXT_END_OF_MANIFEST"
_KINDS_WITH_STATE: Final = frozenset({StepKind.ADD, StepKind.STORAGE, StepKind.DEPRECATE, StepKind.STOP, StepKind.APPLY})
_HEAD: Final = r"""set -eu
# Seconds until all API servers know a changed definition, and the longest time to wait for a step.
SETTLE=${SETTLE:-10}
TIMEOUT=${TIMEOUT:-600}
# yes: also take the steps that only a later release needs.
LATER=${LATER:-no}

# Print the versions (name=served/storage) and the conversion strategy of a definition; nothing if it does not exist.
state() {
  kubectl get crd "$1" --ignore-not-found -o jsonpath='@STATE@'
}

# Run a check each second until it succeeds.
await() {
  waited=0
  until eval "$1" >/dev/null 2>&1; do
    if [ "$waited" -ge "$TIMEOUT" ]; then
      echo "not done after $TIMEOUT s: $1" >&2
      exit 1
    fi
    sleep 1
    waited=$((waited + 1))
  done
}

# Create a definition, or merge a manifest into it: members that are null go away.
apply_crd() {
  manifest=$(mktemp)
  cat >"$manifest"
  if [ -n "$(kubectl get crd "$1" --ignore-not-found -o name)" ]; then
    kubectl patch crd "$1" --type=merge --patch-file "$manifest"
  else
    kubectl create -f "$manifest"
  fi
  rm -f "$manifest"
  kubectl wait --for=condition=Established --timeout="${TIMEOUT}s" "crd/$1"
}

# Store all objects in the storage version: by a StorageVersionMigration, read from stdin, or by writing each one.
migrate() {
  migration=$(cat)
  sleep "$SETTLE"
  if kubectl get --raw /apis/storagemigration.k8s.io/v1 >/dev/null 2>&1; then
    echo "$migration" | kubectl delete --ignore-not-found -f -
    echo "$migration" | kubectl create -f -
    echo "$migration" | kubectl wait --for=condition=Succeeded --timeout="${TIMEOUT}s" -f -
    return
  fi
  attempt=1
  # an object that changes or goes away meanwhile is a conflict: then all are written again
  until rewrite "$@"; do
    if [ "$attempt" -ge 5 ]; then
      echo "objects could not be written: kubectl get $*" >&2
      exit 1
    fi
    attempt=$((attempt + 1))
  done
}

rewrite() {
  if [ -n "$(kubectl get "$@" -o name | head -n 1)" ]; then
    kubectl get "$@" -o json | kubectl replace -f - >/dev/null
  fi
}
"""


@dataclass(slots=True)
class PlanScript:
    """A script, and the manifests that it reads from files beside it."""

    text: str = ""
    files: dict[str, str] = field(default_factory=dict)
    """Contents by name; empty if the script holds them itself."""


def script_of(plan: ReleasePlan, *, with_files: bool = False) -> PlanScript:
    """Return the steps as a script. With `with_files`, manifests are files beside it."""
    script = PlanScript()
    lines = ["#!/bin/sh", f"# {printable(summary.headline(plan))}", f"# Verdict: {summary.VERDICTS[plan.verdict]}"]
    for one in plan.definitions:
        lines += [f"# {printable(line)}" for line in _remarks(one)]
    lines.append(_HEAD.replace("@STATE@", STATE_PATH))
    if with_files:
        lines.append('cd "$(dirname "$0")"')
    for one in plan.definitions:
        if one.steps:
            lines += _definition(one, script.files if with_files else None)
    lines.append("echo 'All steps are done.'")
    script.text = "\n".join(lines) + "\n"
    return script


def _remarks(plan: DefinitionPlan) -> Iterator[str]:
    yield from (f"BREAKING: {plan.name}: {line}" for line in plan.breaks)
    yield from (f"Know: {plan.name}: {line}" for line in plan.cautions)


def _definition(plan: DefinitionPlan, files: dict[str, str] | None) -> Iterator[str]:
    yield f"\n# --- {plan.name}"
    if plan.state is State.REMOVED:
        yield from (f"{command} --ignore-not-found" for step in plan.steps for command in step.commands)
        return
    yield from _position(plan)
    for number, step in enumerate(plan.steps, 1):
        yield f"\n# {printable(summary.step_title(number, step))}"
        if step.reason:
            yield f"# Because: {printable(step.reason)}"
        yield f"# Done when {printable(step.check_text)}."
        condition = f'[ "$first" -le {number} ]' + (' && [ "$LATER" = yes ]' if step.need is Need.LATER else "")
        yield f"if {condition}; then"
        yield f"  echo {shlex.quote(f'{plan.name}: {printable(summary.step_title(number, step))}')}"
        yield from _step(plan.name, number, step, files)
        yield "fi"


def _position(plan: DefinitionPlan) -> Iterator[str]:
    """Yield the lines that find the first step that is not done: the last one whose state the definition has."""
    places: dict[str, int] = {}
    for number, step in enumerate(plan.steps, 1):
        if step.kind in _KINDS_WITH_STATE and step.state != plan.initial_state:
            places.setdefault(step.state, number)
    yield f'case "$(state {plan.name})" in'
    yield f"  {shlex.quote(plan.initial_state)}) first=1 ;;"
    yield from (f"  {shlex.quote(state)}) first={number} ;;" for state, number in places.items())
    yield f"  *) echo '{plan.name} is in a state that is not part of this plan: make a new one' >&2; exit 1 ;;"
    yield "esac"


def _step(name: str, number: int, step: PlanStep, files: dict[str, str] | None) -> Iterator[str]:
    if step.kind is StepKind.WEBHOOK:
        yield "  # deploy it here, unless something else does; then wait"
    if step.manifest is None:
        yield from (f"  {command}" for command in step.commands)
    else:
        arguments = f"migrate {_resource(step)}" if step.kind is StepKind.MIGRATE else f"apply_crd {name}"
        text = yaml_of(step.manifest)
        if files is None:
            yield f"  {arguments} <<'{_END}'\n{text}{_END}"
        else:
            file = f"{name}-{number}-{step.kind}.yaml"
            files[file] = text
            yield f"  {arguments} <{file}"
    if step.check:
        yield f"  await {shlex.quote(step.check)}"


def _resource(step: PlanStep) -> str:
    """Return the arguments of `kubectl get` in the command of a migration."""
    return step.commands[0].removeprefix("kubectl get ").partition(" -o ")[0]


def yaml_of(manifest: Object) -> str:
    """Return a manifest as YAML."""
    return yaml_codec.dumps_unsorted(manifest).decode()
