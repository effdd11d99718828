"""CRDs with several versions, and the rules between these."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from pathlib import Path
from typing import Any, Final

import yaml

from apiext.base.meta.encoding import json_codec
from apiext.resources.authoring.tried_rules import TriedRules
from apiext.resources.conversion.rules.check.choices import RandomChoices
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from apiext.resources.definitions.codec import canonical
from apiext.resources.definitions.definition import Definition
from apiext.storage.interface import Item
from hack.lib.conversions.gadgets import gadget_crd, gadget_rules
from hack.lib.real_crds import real_crds, without_rules

_ATTEMPTS: Final = 20
"""Objects to make for each one that is wanted, at most: some that are made up are invalid."""
Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A CRD with several versions, and its Conversion object."""

    crd: Json
    conversion: Json

    @property
    def name(self) -> str:
        """Return the name of both."""
        return str(self.crd["metadata"]["name"])

    @property
    def has_losses(self) -> bool:
        """Return whether rules drop fields on purpose."""
        return '"drop":' in json.dumps(self.conversion["spec"])

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return each pair of versions once."""
        return list(combinations([version["name"] for version in self.crd["spec"]["versions"]], 2))

    @property
    def storage(self) -> str:
        """Return the storage version."""
        return str(next(version["name"] for version in self.crd["spec"]["versions"] if version["storage"]))

    @cached_property
    def rules(self) -> TriedRules:
        """Return the compiled rules."""
        item = Item(key=self.name, revision=1, data=json_codec.dumps(canonical(self.crd)), labels={}, fields={})
        return TriedRules(parse_rules(self.conversion), Definition.from_item(item))

    def made(self, version: str, count: int, choices: RandomChoices) -> Iterator[Json]:
        """Yield generated valid objects of a version with names of their own; fewer if they are hard to find."""
        samples = self.rules.samples(version)
        made = filter(None, (samples.make(choices) for _ in range(_ATTEMPTS * count)))
        for number, one in enumerate(islice(made, count)):
            one["metadata"]["name"] = f"n{number}"
            yield one

    def collection(self, version: str) -> str:
        """Return the path of the objects of a version in the namespace `default`."""
        spec = self.crd["spec"]
        where = "" if spec["scope"] == "Cluster" else "namespaces/default/"
        return f"/apis/{spec['group']}/{version}/{where}{spec['names']['plural']}"


def gadget_case() -> Case:
    """Return the case without a file."""
    return Case(gadget_crd("prove.example.com"), gadget_rules("prove.example.com"))


def read_cases(paths: Sequence[Path]) -> list[Case]:
    """Return the cases of YAML files, or of all files of folders: each Conversion object with the CRD of its name, there or a real one."""
    files = [file for path in paths for file in (sorted(path.rglob("*.y*ml")) if path.is_dir() else [path])]
    documents = [found for file in files for found in yaml.load_all(file.read_text(), yaml.CSafeLoader) if isinstance(found, dict)]
    written = [found for found in documents if found.get("kind") == "CustomResourceDefinition"]
    crds = {found["metadata"]["name"]: found for found in [*real_crds(), *written]}
    conversions = {found["metadata"]["name"]: found for found in documents if found.get("kind") == "Conversion"}
    return [Case(_served(crds[name]), conversion) for name, conversion in conversions.items() if name in crds]


def _served(crd: Json) -> Json:
    """Return a CRD that serves all of its versions, without a webhook, CEL rules and subresources: one request writes a status, too."""
    versions = [
        {name: value for name, value in version.items() if name != "subresources"} | {"served": True} for version in crd["spec"]["versions"]
    ]
    spec: Json = without_rules({**crd["spec"], "versions": versions, "conversion": {"strategy": "None"}})
    return {**crd, "spec": spec}
