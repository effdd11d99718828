"""Compares the predictions for a number of pairs, several pairs at the same time on one reference."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.resources.comparison.grades import Grades
from apiext.resources.definitions.codec import canonical
from apiext.resources.definitions.definition import Definition
from apiext.resources.evaluation.definition_creation import create_definition, parse_definition, validate_update
from apiext.tools.plan.options import PlanOptions
from apiext.tools.plan.plan import Safety
from apiext.tools.plan.planner import make_plan
from apiext.tools.releases.interface import Release, SourceObject
from hack.lib.foretell.mutated_pairs import NoPairError, mutated_pair
from hack.lib.foretell.predicted_run import PredictedRun
from hack.lib.foretell.release_pair import ReleasePair
from hack.lib.foretell.tally import Tally
from hack.lib.servers.controlplane import ControlPlane

Json = dict[str, Any]
Progress = Callable[[str], None]
_NEXT: Final = 8
"""Definitions that are tried for one pair."""
_NUMBERED: Final = re.compile(r"selfType\d+")
"""A name of the reference with a random number."""


def foretell(plane: ControlPlane, crds: Sequence[Json], numbers: Sequence[int], seed: int, jobs: int, say: Progress) -> Tally:
    """Compare the predictions for the pairs with these numbers, each of the definition in turn."""

    def one(number: int) -> Tally:
        return asyncio.run(_foretell_one(plane, crds, number, seed, say))

    total = Tally()
    with ThreadPoolExecutor(jobs) as pool:
        total.add(pool.map(one, numbers))
    return total


async def _foretell_one(plane: ControlPlane, crds: Sequence[Json], number: int, seed: int, say: Progress) -> Tally:
    pair = await find_pair(crds, number, seed)
    if pair is None:
        say(f"pair {number}: none found")
        return Tally()
    tally = await compare_pair(plane, pair)
    say(
        "\n".join([f"{pair.name}: {tally.compared.total()} compared, {len(tally.wrong)} different", *(wrong.text for wrong in tally.wrong)])
    )
    return tally


async def find_pair(crds: Sequence[Json], number: int, seed: int) -> ReleasePair | None:
    """Return the pair with a number, None if no definition gives one. The definition is the one with that number, or one after it."""
    rng = random.Random(f"{seed}/{number}")  # noqa: S311 not for secrets
    for crd in [*crds[number % len(crds) :], *crds[: number % len(crds)]][:_NEXT]:
        try:
            return await mutated_pair(crd, f"--seed {seed} --only {number}", f"p{number}", rng)
        except NoPairError:
            continue
    return None


async def compare_pair(plane: ControlPlane, pair: ReleasePair) -> Tally:
    """Compare all predictions about a pair: the update of the definition, the verdict, and everything about its objects."""
    old = await create_definition(canonical(pair.old))
    run = PredictedRun(plane, pair, old, await create_definition(canonical(pair.new)), compares_configurations=False)
    try:
        run.create()
        live = parse_definition(run.reference.live)
        _compare_updates(run, live)
        is_refused = bool(validate_update(live, canonical(pair.new)))
        run.reference.change()
        await run.compare_all()
        if not is_refused:
            await _compare_verdict(run, live)
        run.compare("pair", "carried out", "", "")
    except Exception as error:  # noqa: BLE001 other pairs are compared all the same
        run.compare("pair", "carried out", "", f"{type(error).__name__}: {error}")
    finally:
        run.delete()
    return run.tally


def _compare_updates(run: PredictedRun, live: Definition) -> None:
    """Compare the reasons why updates of the definition are refused."""
    for crd in (run.reference.new_crd, *run.pair.refused):
        predicted, answer = validate_update(live, canonical(crd)), run.reference.try_change(crd)
        run.compare(
            "definition",
            "update of the definition",
            *(sorted(_NUMBERED.sub("selfType", each) for each in found) for found in (predicted, answer)),
        )


async def _compare_verdict(run: PredictedRun, live: Definition) -> None:
    """Compare the verdict "safe" with what happened."""
    new = parse_definition(run.reference.live | {"spec": canonical(run.pair.new)["spec"]})
    objects = _StoredObjects(run.data)
    releases = (Release("old", {live.name: live}, is_live=True), Release("new", {live.name: new}))
    options = PlanOptions(grades=Grades(), judges_rollback=False)
    plan = await make_plan(*releases, objects=objects, stored=None, options=options)
    if plan.definitions[0].verdict is Safety.SAFE:
        run.compare("verdict safe", "the plan says safe", [], run.harmed)


class _StoredObjects:
    """The stored objects of a pair, as a source."""

    origin = "etcd"

    def __init__(self, data: dict[str, bytes]) -> None:
        self._objects = [SourceObject(f"default/{name}", json_codec.loads(each), is_stored=True) for name, each in sorted(data.items())]

    async def count(self, _definition: Definition) -> int | None:
        """See ObjectSource.count."""
        return len(self._objects)

    async def pages(self, _definition: Definition) -> AsyncGenerator[Sequence[SourceObject]]:
        """See ObjectSource.pages."""
        yield self._objects

    async def close(self) -> None:
        """See ObjectSource.close."""
