"""Values of the chart besides the choice of components: what replaces, or joins, a part of the manifests."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hack.lib.manifests import NAMESPACE, Document

_POD: Final = ("spec", "template", "spec")
_JOB_POD: Final = ("spec", "jobTemplate", *_POD)
_CLAIM: Final = ("spec",)
_SIZE: Final = ("resources", "requests", "storage")

Path = tuple[str, ...]
"""The fields that lead to a part; items of lists have their name, or nothing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The values that concern one object, by the path of what they change."""

    replaced: Mapping[Path, str]
    """A value that, if it is set, replaces the field."""
    added: Mapping[Path, Mapping[str, str]]
    """Values that, if they are set, become fields of the mapping."""
    joined: Mapping[Path, str]
    """A value whose items join the list or mapping."""


def settings_of(document: Document) -> Settings:
    """Return the settings of an object."""
    kind, name = document["kind"], document["metadata"]["name"]
    if (kind, name) in _WORKLOADS:
        return _of_workload(*_WORKLOADS[kind, name])
    if kind == "PersistentVolumeClaim":
        section = {"apiext-data": "sqlite", "apiext-backups": "backup"}[name]
        return Settings(*_of_claim(_CLAIM, section), {})
    if kind in {"PodMonitor", "PrometheusRule"}:
        return Settings({}, {}, {("metadata", "labels"): ".Values.monitoring.labels"})
    return Settings({}, {}, {})


_WORKLOADS: Final = {
    ("Deployment", "apiext"): ("servers", "apiext", ".Values.servers.replicas"),
    ("Deployment", "apiext-operator"): ("operators", "operator", ".Values.operators.replicas"),
    ("Deployment", "apiext-conversions"): ("conversions", "conversions", ".Values.conversions.replicas"),
    ("StatefulSet", "apiext-etcd"): ("etcd", "etcd", ""),
    ("CronJob", "apiext-backup"): ("backup", "backup", ""),
}
"""The section of the values, the container, and the value of the replicas of each workload."""


def _of_workload(section: str, container: str, replicas: str) -> Settings:
    pod = _JOB_POD if section == "backup" else _POD
    values = f".Values.{section}"
    replaced = {(*pod, "containers", container, "resources"): f"{values}.resources"}
    added: dict[Path, Mapping[str, str]] = {
        pod: {
            "imagePullSecrets": ".Values.imagePullSecrets",
            "nodeSelector": f"{values}.nodeSelector",
            "tolerations": f"{values}.tolerations",
            "affinity": f"{values}.affinity",
        }
    }
    if replicas:
        replaced["spec", "replicas"] = replicas
    if section == "backup":
        replaced["spec", "schedule"] = f"{values}.schedule"
    if section == "etcd":
        claim = _of_claim(("spec", "volumeClaimTemplates", "", "spec"), section)
        replaced, added = replaced | claim[0], added | claim[1]
        replaced[*pod, "containers", container, "image"] = f"{values}.image"
    return Settings(replaced, added, {(*pod, "containers", container, "args"): f"{values}.extraArgs"})


def _of_claim(spec: Path, section: str) -> tuple[dict[Path, str], dict[Path, Mapping[str, str]]]:
    values = f".Values.{section}.storage"
    return {(*spec, *_SIZE): f"{values}.size"}, {spec: {"storageClassName": f"{values}.className"}}


def kept(document: Document) -> bool:
    """Report whether an object, and the data below it, outlives the release."""
    return document["kind"] in {"CustomResourceDefinition", "PersistentVolumeClaim"}


def with_values(text: str, release: str) -> str:
    """Return a text with the chart's expressions in place of what values change. Braces of the text itself are kept from Helm."""
    escaped = text.replace("{{", '{{ "{{" }}')
    if re.fullmatch(rf"apiext:{re.escape(release)}", escaped):
        return '{{ include "apiext.image" . }}'
    if escaped == release:
        return "{{ .Chart.AppVersion }}"
    for pattern, value in _TEXTS.items():
        escaped = re.sub(pattern, lambda found: f"{{{{ {value} | default {_quoted(found[0])} }}}}", escaped)  # noqa: B023 -- called at once
    return escaped.replace(NAMESPACE, "{{ .Release.Namespace }}")


_TEXTS: Final[Mapping[str, str]] = {
    r"(?<=^--crd-selector=).+": ".Values.crdSelector",
    r"(?<=^--keep=)\d+": ".Values.backup.keep",
    r"^manifests/RUNBOOK\.md(?=#)": ".Values.monitoring.runbookUrl",
}
"""Values that replace a part of a text, by the pattern of that part."""


def _quoted(text: str) -> Any:
    return text if text.isdecimal() else f'"{text}"'
