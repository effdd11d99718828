"""The steps of a plan as a shell script, which may be run again at any time: it continues where the definitions are."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import yaml_codec
from apiext.resources.definitions.composite_definition import XRDS
from apiext.tools.plan import summary
from apiext.tools.plan.plan import Need, Safety, StepKind
from apiext.tools.plan.step_chain import STATE_PATH
from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.plan.plan import PlanStep, ReleasePlan

SCRIPT_NAME: Final = "steps.sh"
ROLLBACK_NAME: Final = "rollback.sh"
_END: Final = "APIEXT_END_OF_MANIFEST"
_KINDS_WITH_STATE: Final = frozenset({StepKind.ADD, StepKind.STORAGE, StepKind.DEPRECATE, StepKind.STOP, StepKind.APPLY})
_HEAD: Final = r"""set -eu
# Seconds until all API servers know a changed definition, and the longest time to wait for a step.
SETTLE=${SETTLE:-10}
TIMEOUT=${TIMEOUT:-600}
# Seconds after which a StorageVersionMigration that nobody begins is given up: then kubectl writes the objects.
MIGRATOR=${MIGRATOR:-30}
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
    if begins "$migration"; then
      echo "$migration" | kubectl wait --for=condition=Succeeded --timeout="${TIMEOUT}s" -f -
      return
    fi
    # no controller takes it
    echo "$migration" | kubectl delete --ignore-not-found -f -
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

# Succeed when a StorageVersionMigration (in a list, since kubectl reads stdin) has a condition, fail if it has none after some time.
begins() {
  waited=0
  until [ -n "$(echo "$1" | kubectl get -f - -o jsonpath='{..status.conditions[*].type}')" ]; do
    if [ "$waited" -ge "$MIGRATOR" ]; then
      return 1
    fi
    sleep 1
    waited=$((waited + 1))
  done
}

# Remove an apiVersion from the managedFields of all objects. The last entry becomes an empty one: the server ignores an empty list.
forget_managers() {
  version=$1
  shift
  named=$(kubectl get "$@" --show-managed-fields \
    -o jsonpath="{.items[*].metadata.managedFields[?(@.apiVersion==\"$version\")].apiVersion}")
  [ -n "$named" ] || return 0
  command -v jq >/dev/null || { echo 'this step needs jq' >&2; exit 1; }
  objects=$(mktemp)
  kubectl get "$@" --show-managed-fields -o json | jq --arg version "$version" '
    .items |= map(select(any(.metadata.managedFields[]?; .apiVersion == $version)))
    | .items[].metadata.managedFields |= (map(select(.apiVersion != $version)) | if . == [] then [{}] else . end)' >"$objects"
  if jq --exit-status '.items != []' "$objects" >/dev/null; then
    kubectl replace -f "$objects" >/dev/null
  fi
  rm -f "$objects"
}

rewrite() {
  if [ -n "$(kubectl get "$@" -o name | head -n 1)" ]; then
    kubectl get "$@" -o json | kubectl replace -f - >/dev/null
  fi
}
"""
_PATCH_XRD: Final = """\
# Merge a manifest into the XRD of which Crossplane makes definitions.
patch_xrd() {
  manifest=$(mktemp)
  cat >"$manifest"
  kubectl patch @XRDS@ "$1" --type=merge --patch-file "$manifest"
  rm -f "$manifest"
}
"""
_GUARD: Final = """\
if [ "${BREAKING:-no}" != yes ]; then
  echo 'The plan is breaking, see the top of this script. BREAKING=yes takes its steps nevertheless.' >&2
  exit 1
fi
"""


@dataclass(slots=True)
class PlanScript:
    """A script, and the manifests that it reads from files beside it."""

    text: str = ""
    files: dict[str, str] = field(default_factory=dict)
    """Contents by name; empty if the script holds them itself."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The steps of a definition."""

    name: str
    initial_state: str
    steps: tuple[PlanStep, ...]
    breaks: tuple[str, ...]
    cautions: tuple[str, ...]


def script_of(plan: ReleasePlan, *, with_files: bool = False) -> PlanScript:
    """Return the steps as a script. With `with_files`, manifests are files beside it."""
    parts = [_Part(one.name, one.initial_state, one.steps, one.breaks, one.cautions) for one in plan.definitions]
    return _script(summary.headline(plan), plan.verdict, parts, "steps" if with_files else "")


def rollback_script_of(plan: ReleasePlan, *, with_files: bool = False) -> PlanScript:
    """Return the steps of the rollback as a script, to be taken after the release."""
    ways = [(one.name, one.way_back) for one in plan.definitions if one.way_back is not None]
    parts = [_Part(name, way.initial_state, way.steps, way.breaks, way.cautions) for name, way in ways]
    return _script(f"Rollback of: {summary.headline(plan)}", plan.rollback_verdict, parts, "rollback" if with_files else "")


def _script(title: str, verdict: Safety, parts: list[_Part], prefix: str) -> PlanScript:
    script = PlanScript()
    lines = ["#!/bin/sh", f"# {printable(title)}", f"# Verdict: {summary.VERDICTS[verdict]}"]
    for part in parts:
        lines += [f"# BREAKING: {part.name}: {printable(line)}" for line in part.breaks]
        lines += [f"# Know: {part.name}: {printable(line)}" for line in part.cautions]
    lines.append(_HEAD.replace("@STATE@", STATE_PATH))
    if any(step.owner for part in parts for step in part.steps):
        lines.append(_PATCH_XRD.replace("@XRDS@", XRDS))
    if verdict is Safety.BREAKING:
        lines.append(_GUARD)
    if prefix:
        lines.append('cd "$(dirname "$0")"')
    families: dict[str, list[_Part]] = {}
    for part in parts:
        if part.steps:
            families.setdefault(next((step.owner for step in part.steps if step.owner), "") or part.name, []).append(part)
    for family in families.values():
        lines += _definitions(family, script.files, prefix)
    lines.append("echo 'All steps are done.'")
    script.text = "\n".join(lines) + "\n"
    return script


def _definitions(parts: list[_Part], files: dict[str, str], prefix: str) -> Iterator[str]:
    """Yield the lines of definitions that change together: of one, or of those that Crossplane makes of an XRD."""
    yield f"\n# --- {', '.join(part.name for part in parts)}"
    if any(step.kind is StepKind.DELETE for step in parts[0].steps):
        yield from (f"{command} --ignore-not-found" for step in parts[0].steps for command in step.commands)
        return
    for place, part in enumerate(parts):
        yield from _position(part, _variable(place))
    for taken in _rounds([part.steps for part in parts]):
        writes = True
        for place, number in taken:
            yield from _numbered(parts[place], number, _variable(place), files, prefix, writes=writes)
            writes = not parts[place].steps[number - 1].owner


def _rounds(ways: list[tuple[PlanStep, ...]]) -> Iterator[list[tuple[int, int]]]:
    """Yield the steps that definitions take before the next ones, each as the place of the definition and the number of its step.

    Definitions take steps of one kind together, once none of them has other ones before.
    """
    done = [0] * len(ways)
    while any(number < len(way) for number, way in zip(done, ways, strict=True)):
        rest = [[step.kind for step in way[number:]] for number, way in zip(done, ways, strict=True)]
        heads = [kinds[0] for kinds in rest if kinds]
        kind = next((kind for kind in heads if all(kind not in kinds or kinds[0] is kind for kinds in rest)), heads[0])
        places = [place for place, kinds in enumerate(rest) if kinds and kinds[0] is kind]
        for place in places:
            done[place] += 1
        yield [(place, done[place]) for place in places]


def _variable(place: int) -> str:
    return f"first{place or ''}"


def _numbered(part: _Part, number: int, first: str, files: dict[str, str], prefix: str, *, writes: bool) -> Iterator[str]:
    """Yield the lines of a step. The shell variable `first` has the number of the first one that is not done.

    Without `writes` they only wait: a step before has patched the XRD.
    """
    step = part.steps[number - 1]
    title = printable(summary.step_title(number, step))
    yield f"\n# {title}"
    if step.reason:
        yield f"# Because: {printable(step.reason)}"
    yield f"# Done when {printable(step.check_text)}."
    condition = f'[ "${first}" -le {number} ]' + (' && [ "$LATER" = yes ]' if step.need is Need.LATER else "")
    yield f"if {condition}; then"
    yield f"  echo {shlex.quote(f'{part.name}: {title}')}"
    if writes:
        yield from _step(part.name, number, step, files, prefix)
    if step.check:
        yield f"  await {shlex.quote(step.check)}"
    yield "fi"


def _position(part: _Part, first: str) -> Iterator[str]:
    """Yield the lines that find the first step that is not done: the last one whose state the definition has."""
    places: dict[str, int] = {}
    for number, step in enumerate(part.steps, 1):
        if step.kind in _KINDS_WITH_STATE and step.state != part.initial_state:
            places.setdefault(step.state, number)
    yield f'case "$(state {part.name})" in'
    yield f"  {shlex.quote(part.initial_state)}) {first}=1 ;;"
    yield from (f"  {shlex.quote(state)}) {first}={number} ;;" for state, number in places.items())
    yield f"  *) echo '{part.name} is in a state that is not part of this plan: make a new one' >&2; exit 1 ;;"
    yield "esac"


def _step(name: str, number: int, step: PlanStep, files: dict[str, str], prefix: str) -> Iterator[str]:
    if not step.commands:
        yield "  # do this here, unless something else does it; then wait"
    elif step.kind is StepKind.REAPPLY:
        yield f"  forget_managers {shlex.quote(step.api_version)} {step.resource}"
    elif step.written is None:
        yield from (f"  {command}" for command in step.commands)
    else:
        change = f"patch_xrd {step.owner}" if step.owner else f"apply_crd {name}"
        arguments = f"migrate {step.resource}" if step.kind is StepKind.MIGRATE else change
        text = yaml_of(step.written)
        if not prefix:
            yield f"  {arguments} <<'{_END}'\n{text}{_END}"
        else:
            file = f"{prefix}-{name}-{number}-{step.kind}.yaml"
            files[file] = text
            yield f"  {arguments} <{file}"


def yaml_of(manifest: Object) -> str:
    """Return a manifest as YAML."""
    return yaml_codec.dumps_unsorted(manifest).decode()
