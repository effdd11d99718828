"""Checks of apiext's own health endpoints."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from apiext.operator.checks.connections import Answer, NoAnswerError
from apiext.operator.checks.etcd_upkeep import CORRUPT_REMEDY, NOSPACE, NOSPACE_REMEDY
from apiext.operator.checks.snapshot import Snapshot
from apiext.operator.checks.verdict import CheckVerdict, broken, ok, unknown

STORES: Final = ("etcd", "sqlite")
HOST: Final = "host"
ADMISSION: Final = "admission"
_KMS: Final = "kms-providers"
_ALARMS: Final = "etcd-alarms"
_LINE: Final = re.compile(r"^\[([+-])\](\S+)(?: ok: (.*))?", re.MULTILINE)
_UNREACHED: Final = "not reached"
_STORE_REMEDY: Final = "start apiext's etcd, and see that apiext reaches it (--etcd-servers, certificates, firewalls)"
_KMS_REMEDY: Final = "start the plugin, and see that its socket is where --encryption-provider-config says; writes fail 3 minutes after it"
_HOST_REMEDY: Final = "see that apiext's --kubeconfig reaches the host, and that its user may read definitions there"
_ADMISSION_REMEDY: Final = (
    "give apiext's user the rules of manifests/base/server-access.yaml, and a ClusterRole labelled apiext.dev/aggregate-to-params for "
    "custom resources that are parameters; see apiext's log"
)


class ReadinessCheck(NamedTuple):
    """A line of /readyz?verbose."""

    passes: bool
    remark: str


async def alive(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that apiext answers /livez, even if its store does not."""
    try:
        answer = await _request(snapshot, group, "/livez?verbose")
    except NoAnswerError as error:
        return broken(f"/livez is not answered: {error}", "see apiext's log, and whether it has too much to do")
    if answer.code == 200 or _LINE.search(answer.text):
        return ok("it answers /livez")
    return broken(f"/livez is answered with {answer}", "see whether --server is apiext, and apiext's log")


async def store(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that apiext's own store answers it, and the KMS plugins that encrypt what is stored."""
    checks = await readiness_checks(snapshot, group)
    name = next((one for one in STORES if one in checks), "")
    if not name:
        return unknown("/readyz names no store")
    if _ALARMS in checks and (remark := checks[_ALARMS].remark):
        remedy = NOSPACE_REMEDY if NOSPACE in remark else CORRUPT_REMEDY
        return broken(f"apiext's own etcd refuses writes{await _reason(snapshot, group, _ALARMS)}", remedy)
    if checks[name].passes and (_KMS not in checks or checks[_KMS].passes):
        return ok(f"{name} answers apiext")
    if checks[name].passes:
        return broken(f"a KMS plugin of the encryption fails{await _reason(snapshot, group, _KMS)}", _KMS_REMEDY)
    what = "apiext's own etcd does not answer it" if name == "etcd" else "apiext's database cannot be used"
    remedy = _STORE_REMEDY if name == "etcd" else "see the disk of --data-dir, and apiext's log"
    return broken(f"{what}{await _reason(snapshot, group, name)}", remedy)


async def follows(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that apiext follows the definitions of the host."""
    checks = await readiness_checks(snapshot, group)
    if HOST not in checks:
        return ok(
            "apiext reads no definitions of the host" if not await snapshot.definitions(group) else "apiext does not wait for the host"
        )
    remark = checks[HOST].remark
    if checks[HOST].passes and _UNREACHED not in remark:
        return ok(f"apiext follows the host's definitions{f' ({remark})' if remark else ''}")
    return broken(f"apiext does not follow the host's definitions{await _reason(snapshot, group, HOST)}", _HOST_REMEDY)


async def admission(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that apiext knows the webhooks and policies of the host, and the parameters of policies."""
    checks = await readiness_checks(snapshot, group)
    if ADMISSION not in checks:
        return unknown(
            "apiext does not know the host's webhooks and policies: it has no kubeconfig of the host, or is of an earlier release"
        )
    if checks[ADMISSION].passes and not checks[ADMISSION].remark:
        return ok("apiext knows the host's webhooks and policies")
    what = "some" if checks[ADMISSION].passes else "all"
    return broken(f"apiext refuses {what} writes{await _reason(snapshot, group, ADMISSION)}", _ADMISSION_REMEDY)


async def ready(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that no other readiness check of apiext fails."""
    failing = [name for name, check in (await readiness_checks(snapshot, group)).items() if not check.passes]
    if failing:
        reasons = [f"{name}{await _reason(snapshot, group, name)}" for name in failing]
        return broken(f"apiext is not ready: {'; '.join(reasons)}", "see apiext's log")
    return ok("it is ready")


async def readiness_checks(snapshot: Snapshot, group: str) -> dict[str, ReadinessCheck]:
    """Return the checks of /readyz. Raises NoAnswerError."""
    answer = await _request(snapshot, group, "/readyz?verbose")
    return {name: ReadinessCheck(sign == "+", remark) for sign, name, remark in _LINE.findall(answer.text)}


async def _request(snapshot: Snapshot, group: str, path: str) -> Answer:
    """Send a request without credentials, or with them after a 401 or 403. Raises NoAnswerError."""
    answer = await snapshot.apiext(group, path, known=False)
    return await snapshot.apiext(group, path) if answer.code in {401, 403} else answer


async def _reason(snapshot: Snapshot, group: str, check: str) -> str:
    """Return the reason of a failed check, or the remark of a passed one; empty if apiext gives none."""
    try:
        answer = await snapshot.apiext(group, f"/readyz/{check}")
    except NoAnswerError:
        return ""
    lines = answer.text.removeprefix("internal server error: ").splitlines() if answer.code == 500 else answer.text.splitlines()[1:]
    return f": {'; '.join(lines)}" if lines and answer.code in {200, 500} else ""
