"""Compares answers to requests that only hand-made bytes can be: what is refused must be refused alike, in whatever words."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from hack.lib.differential.pair import Answer, Pair, Step

_ERROR: Final = 400


def differences(pair: Pair, steps: Iterable[Step]) -> list[str]:
    """Return a line for each request that only one server accepts, or that they refuse for different reasons."""
    found = []
    for step in steps:
        theirs, ours = (_wordless(side.ask(step)) for side in (pair.reference, pair.ours))
        if theirs != ours:
            found.append(f"{step}\n    reference: {theirs}\n    apiext:    {ours}"[:2000])
    return found


def _wordless(answer: Answer) -> Answer:
    """Return an answer without warnings, and a refusal as its code, reason and the fields of its causes."""
    headers = {name: value for name, value in answer.headers.items() if name != "Warning"}
    if answer.code < _ERROR or not isinstance(answer.body, dict):
        return replace(answer, headers=headers)
    causes = (answer.body.get("details") or {}).get("causes") or ()
    fields = sorted({(cause.get("reason"), cause.get("field")) for cause in causes if not str(cause.get("field")).startswith("patch")})
    return Answer(answer.code, headers, [answer.body.get("reason"), fields])
