"""Plays upgrades of real projects on kube-apiserver with their samples and generated objects, and compares the harm with the plans."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from apiext.tools.plan.plan import Safety
from apiext.tools.releases.interface import SourceError
from hack.lib.operator_manifests import UnavailableManifestError
from hack.lib.reference import binaries
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.process import ProcessError
from hack.lib.upgrades.planned import PlannedDefinition, PlannedUpgrade, plan_upgrade
from hack.lib.upgrades.played import Harms, PlayedDefinition
from hack.lib.upgrades.projects import UPGRADES, Upgrade


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdict on a definition, and what happened."""

    planned: PlannedDefinition
    objects: tuple[int, int]
    """Samples and generated objects."""
    refused: tuple[str, ...]
    """Why samples were not accepted before the upgrade."""
    harms: Harms
    failure: str = ""
    """Why the upgrade could not be played."""

    @property
    def is_equal(self) -> bool:
        """Return whether the plan says BREAKING if and only if something was harmed."""
        return not self.failure and (self.planned.plan.verdict is Safety.BREAKING) == bool(self.harms)

    def lines(self) -> list[str]:
        """Return the verdict, its reasons and the harm as lines."""
        plan = self.planned.plan
        harms = [f"    harm to {len(names)}: {text}" for text, names in sorted(self.harms.items(), key=lambda one: -len(one[1]))]
        reasons = [f"    plan: {reason}" for reason in plan.breaks]
        others = [f"    sample refused: {reason}" for reason in self.refused] + ([f"    failed: {self.failure}"] if self.failure else [])
        mark = "" if self.is_equal else "  <-- differs"
        return [f"  {plan.name}: {plan.verdict}, {self.objects[0]} samples, {self.objects[1]} generated{mark}", *reasons, *harms, *others]


def main() -> int:
    """Play the upgrades and return the exit code: 1 if a verdict is wrong, or an upgrade could not be played."""
    options = _parser().parse_args()
    chosen = [each for number, each in enumerate(UPGRADES) if not options.only or number in options.only]
    rows: list[list[str]] = []
    try:
        with tempfile.TemporaryDirectory(prefix="apiext-upgrades-") as scratch, ControlPlane(Path(scratch), durable=False) as plane:
            for upgrade in chosen:
                try:
                    planned = asyncio.run(plan_upgrade(upgrade, *upgrade.folders(options.sources), options.seed))
                except (SourceError, UnavailableManifestError) as error:
                    rows.append([*_titles(upgrade), "-", "-", "-", _short(str(error).partition("\n")[0]), "no"])
                    continue
                with ThreadPoolExecutor(options.jobs) as pool:
                    found = list(pool.map(lambda one: _play(plane, one), planned.definitions))
                rows.append(_row(upgrade, planned, found))
                lines = [line for one in found for line in one.lines()] + [f"  not played: {text}" for text in planned.unplayed]
                _say("\n".join([" | ".join(rows[-1]), *lines]))
    except (binaries.ProvideError, ProcessError) as error:
        print(f"hack/upgrades: {error}", file=sys.stderr)
        return 1
    print(_table([["project", "from", "to", "plan", "CRDs", "objects", "harm on kube-apiserver", "agree"], *rows]))
    return 1 if any(row[-1] != "yes" for row in rows) else 0


def _parser() -> argparse.ArgumentParser:
    numbers = "; ".join(f"{number}: {upgrade.name}" for number, upgrade in enumerate(UPGRADES))
    parser = argparse.ArgumentParser(prog="hack/upgrades", description=__doc__, epilog=f"Upgrades: {numbers}.")
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="only the upgrades with these numbers")
    parser.add_argument("--sources", type=Path, metavar="FOLDER", help="folder with checkouts NAME/TAG, instead of Go modules")
    parser.add_argument("--seed", type=int, default=1, help="seed of the generated objects (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=4, help="definitions at the same time (default: %(default)s)")
    return parser


def _play(plane: ControlPlane, planned: PlannedDefinition) -> Comparison:
    played, failure = PlayedDefinition(plane, planned), ""
    try:
        played.play()
    except Exception as error:  # noqa: BLE001 other definitions are played all the same
        failure = f"{type(error).__name__}: {error}"
    return Comparison(planned, played.objects, tuple(played.refused), played.harms, failure)


def _titles(upgrade: Upgrade) -> list[str]:
    return [upgrade.project, upgrade.old, upgrade.new]


def _row(upgrade: Upgrade, planned: PlannedUpgrade, found: list[Comparison]) -> list[str]:
    """Return the row of an upgrade in the table."""
    verdicts = Counter(one.planned.plan.verdict for one in found)
    crds = ", ".join(f"{verdicts[each]} {each}" for each in Safety if verdicts[each]) or "none changed"
    samples, generated = (sum(one.objects[place] for one in found) for place in (0, 1))
    harmed = [one for one in found if one.harms]
    kinds = Counter(text for one in harmed for text in one.harms)
    harm = f"{len(harmed)} CRDs: {_short(kinds.most_common(1)[0][0])}" if harmed else "none"
    wrong = sum(not one.is_equal for one in found)
    return [
        *_titles(upgrade),
        planned.release.verdict.upper(),
        crds,
        f"{samples} samples, {generated} generated",
        harm,
        "yes" if not wrong else f"no: {wrong} of {len(found)}",
    ]


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _table(rows: list[list[str]]) -> str:
    """Return rows in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
