"""The templates of the chart."""

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import yaml

from apiext import __version__
from hack.lib.chart.choices import Choice, choices, identity
from hack.lib.chart.layers import Fields, condition_of, layered
from hack.lib.chart.rendering import Renderer
from hack.lib.chart.settings import kept, settings_of
from hack.lib.manifests import MANIFESTS, Document

CHART: Final = MANIFESTS / "chart"
TEMPLATES: Final = CHART / "templates"
_HEADER: Final = "{{- /* Made by hack/chart from manifests/%s. Change the files there instead. */ -}}\n"
_KEEP: Final = {"helm.sh/resource-policy": "keep"}


def templates() -> dict[str, str]:
    """Return the templates by their paths below the folder of templates.

    Raises:
        IndistinctError: the values cannot describe where builds differ.
        KustomizeError: a choice cannot be built.
    """
    found: dict[str, dict[Choice, Document]] = {}
    every = list(choices())
    for choice in every:
        for document in choice.documents():
            found.setdefault(identity(document), {})[choice] = _with_policy(document)
    sources, texts = _sources(), dict[str, list[str]]()
    for name, documents in found.items():
        texts.setdefault(sources[name], []).append(_template(documents, every))
    return {path: _HEADER % Path(path).parent + "---\n".join(parts) for path, parts in sorted(texts.items())}


def write(folder: Path) -> None:
    """Replace the made templates in a folder."""
    made = templates()
    for top in {path.partition("/")[0] for path in made}:
        shutil.rmtree(folder / top, ignore_errors=True)
    for path, text in made.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def _template(documents: Mapping[Choice, Document], every: Collection[Choice]) -> str:
    """Return the template of one object, which some of the choices have."""
    condition, (branch,) = condition_of(documents, every), layered(documents)
    assert isinstance(branch.node, Fields)
    renderer = Renderer(settings_of(next(iter(documents.values()))), __version__)
    lines = list(renderer.fields(branch.node, 0, ()))
    return "\n".join([f"{{{{- if {condition} }}}}", *lines, "{{- end }}"] if condition else lines) + "\n"


def _with_policy(document: Document) -> Document:
    if not kept(document):
        return document
    metadata = document["metadata"]
    return document | {"metadata": metadata | {"annotations": metadata.get("annotations", {}) | _KEEP}}


def _sources() -> dict[str, str]:
    """Return the file in manifests/ that has each object, by its identity; for a generated one, a file of its name."""
    found: dict[str, str] = {}
    for kustomization in MANIFESTS.rglob("kustomization.yaml"):
        content = yaml.safe_load(kustomization.read_text())
        for resource in content.get("resources", ()):
            path = kustomization.parent / resource
            if path.is_file():
                found |= {identity(one): str(path.relative_to(MANIFESTS)) for one in yaml.safe_load_all(path.read_text())}
        for generator in content.get("configMapGenerator", ()):
            one = {"kind": "ConfigMap", "metadata": generator}
            found[identity(one)] = str(kustomization.with_name(f"{generator['name']}.yaml").relative_to(MANIFESTS))
    return found
