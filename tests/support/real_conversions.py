"""Rules between the versions of real CRDs. Their Conversions are in `conversions/`; versions with the same fields need no rules.

`python -m tests.support.real_conversions FOLDER` writes all of them to files for `hack/conversions`.
"""

import json
import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from apiext.base.meta.encoding import json_values
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.authoring.laws import TrialCounts
from apiext.resources.authoring.trials import PairTrial
from apiext.resources.authoring.tried_rules import TriedRules
from apiext.resources.conversion.rules.building import build_rules
from apiext.resources.conversion.rules.check.choices import RandomChoices
from apiext.resources.conversion.rules.model import API_VERSION, KIND
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from apiext.resources.evaluation.compiled_version import version_schemas
from hack.lib.conversions.in_process import convert_samples
from hack.lib.real_crds import real_crds
from tests.support.builders.crds import definition
from tests.support.derived_versions import RULES, with_earlier_version

_WRITTEN: Final = Path(__file__).with_name("conversions")
_TESTED: Final = ("test.cluster.x-k8s.io", "deprecatedtest.cluster.x-k8s.io")
"""Groups of a project's own tests."""


class RealConversion(NamedTuple):
    """A CRD with several versions, and the Conversion of its name."""

    crd: dict[str, Any]
    document: dict[str, Any]

    @property
    def name(self) -> str:
        """Return the name of the CRD."""
        name: str = self.crd["metadata"]["name"]
        return name

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return each pair of versions in both directions."""
        return list(permutations([version["name"] for version in self.crd["spec"]["versions"]], 2))

    @property
    def is_written(self) -> bool:
        """Return whether there is a file with rules: the versions have different fields."""
        return _file(self.crd).exists()

    def written_unchanged(self, version: str, objects: int, seed: int) -> Iterator[tuple[Object, Object]]:
        """Yield stored objects before and after a client of another version has written them as it read them, with its defaults."""
        crd = definition(self.crd)
        schemas, stored = version_schemas(crd), crd.storage_version.name
        converter = build_rules(self.name, self.document, schemas, stored).converter
        samples, choices = TriedRules(parse_rules(self.document), crd).samples(stored), RandomChoices(seed)
        for before in filter(None, (samples.make(choices) for _ in range(objects))):
            schemas[stored].coerce(before, defaults=True)
            read = converter.convert_inline(json_values.copy(before), f"{crd.group}/{version}")
            schemas[version].coerce(read, defaults=True)
            yield before, converter.convert_inline(read, f"{crd.group}/{stored}")

    def prove(self, source: str, target: str, objects: int, seed: int) -> TrialCounts:
        """Convert generated objects of a version to another one and back, with and without a change in between.

        Raises:
            BrokenLawError: an object loses what the rules do not declare, or cannot be converted.
        """
        trial = PairTrial(self.name, source, target, TrialCounts())
        convert_samples(TriedRules(parse_rules(self.document), definition(self.crd)), trial, objects, seed)
        return trial.counts


def real_conversions() -> Iterator[RealConversion]:
    """Yield the real CRDs with several versions, and the rules between these."""
    for crd in real_crds():
        if len(crd["spec"]["versions"]) > 1 and crd["spec"]["group"] not in _TESTED:
            written = _file(crd)
            yield RealConversion(crd, yaml.safe_load(written.read_text()) if written.exists() else _without_rules(crd))


def derived_conversions() -> Iterator[RealConversion]:
    """Yield real CRDs with one version, another one that is derived from it, and the rules between these."""
    for crd in real_crds():
        if crd["metadata"]["name"] in RULES:
            yield RealConversion(*with_earlier_version(crd))


def _file(crd: dict[str, Any]) -> Path:
    return _WRITTEN / f"{crd['metadata']['name']}.yaml"


def _without_rules(crd: dict[str, Any]) -> dict[str, Any]:
    """Return the Conversion of versions with the same fields."""
    hub = next(version["name"] for version in crd["spec"]["versions"] if version["storage"])
    spokes = [{"version": version["name"]} for version in crd["spec"]["versions"] if version["name"] != hub]
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": crd["metadata"]["name"]}, "spec": {"hub": hub, "spokes": spokes}}


def _main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for conversion in (*derived_conversions(), *real_conversions()):
        documents = [{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **conversion.crd}, conversion.document]
        (folder / f"{conversion.name}.yaml").write_text("\n---\n".join(json.dumps(document) for document in documents))


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
