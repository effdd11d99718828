"""What apiext says of itself: whether it lives, and which of its checks fails."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.operator.checks.connections import NoAnswerError
from apiext.operator.checks.verdict import broken, ok, untold

if TYPE_CHECKING:
    from apiext.operator.checks.connections import Answer
    from apiext.operator.checks.snapshot import Look
    from apiext.operator.checks.verdict import Verdict

STORES: Final = ("etcd", "sqlite")
HOST: Final = "host"
_LINE: Final = re.compile(r"^\[([+-])\](\S+)(?: ok: (.*))?", re.MULTILINE)
_UNREACHED: Final = "not reached"
_STORE_REMEDY: Final = "start apiext's etcd, and see that apiext reaches it (--etcd-servers, certificates, firewalls)"
_HOST_REMEDY: Final = "see that apiext's --kubeconfig reaches the host, and that its user may read definitions there"


class _Check(NamedTuple):
    passes: bool
    remark: str


async def alive(look: Look, group: str) -> Verdict:
    """Apiext answers /livez; that its store does not is the store's matter."""
    try:
        answer = await _asked(look, group, "/livez?verbose")
    except NoAnswerError as error:
        return broken(f"/livez is not answered: {error}", "see apiext's log, and whether it has too much to do")
    if answer.code == 200 or _LINE.search(answer.text):
        return ok("it answers /livez")
    return broken(f"/livez is answered with {answer}", "see whether --server is apiext, and apiext's log")


async def store(look: Look, group: str) -> Verdict:
    """Apiext's own store answers it."""
    checks = await _checks(look, group)
    name = next((one for one in STORES if one in checks), "")
    if not name:
        return untold("/readyz names no store")
    if checks[name].passes:
        return ok(f"{name} answers apiext")
    what = "apiext's own etcd does not answer it" if name == "etcd" else "apiext's database cannot be used"
    remedy = _STORE_REMEDY if name == "etcd" else "see the disk of --data-dir, and apiext's log"
    return broken(f"{what}{await _reason(look, group, name)}", remedy)


async def follows(look: Look, group: str) -> Verdict:
    """Apiext hears from the host of the definitions there."""
    checks = await _checks(look, group)
    if HOST not in checks:
        return ok("apiext reads no definitions of the host" if not await look.definitions(group) else "apiext does not wait for the host")
    remark = checks[HOST].remark
    if checks[HOST].passes and _UNREACHED not in remark:
        return ok(f"apiext follows the host's definitions{f' ({remark})' if remark else ''}")
    return broken(f"apiext does not follow the host's definitions{await _reason(look, group, HOST)}", _HOST_REMEDY)


async def ready(look: Look, group: str) -> Verdict:
    """All else that apiext needs is there."""
    failing = [name for name, check in (await _checks(look, group)).items() if not check.passes]
    if failing:
        told = [f"{name}{await _reason(look, group, name)}" for name in failing]
        return broken(f"apiext is not ready: {'; '.join(told)}", "see apiext's log")
    return ok("it is ready")


async def _checks(look: Look, group: str) -> dict[str, _Check]:
    """The checks of /readyz. Raises NoAnswerError."""
    answer = await _asked(look, group, "/readyz?verbose")
    return {name: _Check(sign == "+", remark) for sign, name, remark in _LINE.findall(answer.text)}


async def _asked(look: Look, group: str, path: str) -> Answer:
    """What is told without credentials, or with them where that is not enough. Raises NoAnswerError."""
    answer = await look.apiext(group, path, known=False)
    return await look.apiext(group, path) if answer.code in {401, 403} else answer


async def _reason(look: Look, group: str, check: str) -> str:
    """Why a check fails, or what it remarks, where that is told."""
    try:
        answer = await look.apiext(group, f"/readyz/{check}")
    except NoAnswerError:
        return ""
    lines = answer.text.removeprefix("internal server error: ").splitlines() if answer.code == 500 else answer.text.splitlines()[1:]
    return f": {'; '.join(lines)}" if lines and answer.code in {200, 500} else ""
