"""Compares the answers of both servers to the requests about real definitions."""

import http.client
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hack.lib.differential.pair import Pair, Step
from hack.lib.differential.requests import ObjectRequests
from hack.lib.real_crds import without_rules

_VARYING: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\[\d+\]|\d+")
_CAUSE: Final = 160
"""Maximum of characters of a difference in the name of its group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The requests for each definition."""

    rules: bool = True
    """Whether definitions keep their CEL rules."""
    applies: bool = True
    """Whether apply patches are sent."""
    rounds: int = 1
    """Objects of the storage version, each from creation to deletion."""
    broken: int = 12
    """Invalid objects of each served version."""


@dataclass(slots=True)
class Outcome:
    """The comparison of a number of requests."""

    compared: int = 0
    different: list[str] = field(default_factory=list)
    """A text for each request whose answers differ."""

    @property
    def share(self) -> float:
        """Return the share of requests with equal answers."""
        return 1 - len(self.different) / max(self.compared, 1)

    def groups(self) -> list[tuple[int, str, str]]:
        """Return the differences by cause, the most frequent first: number, cause, and an example."""
        causes: Counter[str] = Counter()
        examples: dict[str, str] = {}
        for text in self.different:
            cause = _cause(text)
            causes[cause] += 1
            examples.setdefault(cause, text)
        return [(count, cause, examples[cause]) for cause, count in causes.most_common()]


def _cause(text: str) -> str:
    """Return the verb and the first difference of a request, without names and numbers."""
    request, _, answers = text.partition("\n")
    lines = [_VARYING.sub("_", line.strip())[:_CAUSE] for line in answers.splitlines()[:2]]
    kind = next((name for name in ("apply-patch", "json-patch") if name in request), "")
    return " | ".join([f"{request.split(' ')[0]} {kind}".strip(), *lines])


def prepared(value: Any) -> Any:
    """Return a definition without its status and conversion webhooks."""
    if isinstance(value, list):
        return [prepared(member) for member in value]
    if not isinstance(value, dict):
        return value
    kept: dict[str, Any] = {}
    for key, member in value.items():
        if key == "conversion" and isinstance(member, dict) and "strategy" in member:
            kept[key] = {"strategy": "None"}
        elif key != "status" or "conditions" not in member:
            kept[key] = prepared(member)
    return kept


def compare(
    pair: Pair,
    crds: Sequence[dict[str, Any]],
    seeded: Callable[[str], random.Random],
    plan: Plan,
    progress: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Create definitions on both servers, send all requests, and delete the definitions. `seeded` makes a Random from a name."""
    outcome = Outcome()
    made = [prepared(crd if plan.rules else without_rules(crd)) for crd in crds]
    with pair.served(*made):
        for crd in made:
            name = crd["metadata"]["name"]
            before = outcome.compared, len(outcome.different)
            for step in _steps(pair, crd, seeded(name), plan):
                outcome.compared += 1
                lines = pair.differences(step)
                outcome.different += ["\n".join(lines)[:4000]] if lines else []
            progress(f"{name}: {outcome.compared - before[0]} compared, {len(outcome.different) - before[1]} different")
    return outcome


def _steps(pair: Pair, crd: dict[str, Any], rng: random.Random, plan: Plan) -> Iterator[Step]:
    def accepts(step: Step) -> bool:
        return pair.reference.raw(step)[0].status == http.client.CREATED

    for version in (version for version in crd["spec"]["versions"] if version["served"]):
        requests = ObjectRequests(crd, version, rng)
        yield from requests.broken(plan.broken)
        # Another version may prune fields and so make an object invalid, which only ratcheting accepts.
        for _ in range(plan.rounds if version["storage"] else 0):
            yield from requests.life(accepts if plan.rules else None, applies=plan.applies)
        yield Step("DELETE", requests.path)
