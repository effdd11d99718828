"""The file of `--audit-policy-file` (apiserver pkg/audit/policy/reader.go, pkg/apis/audit/validation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.api.audit.levels import LEVELS, AuditStage
from apiext.api.audit.policy import AuditPolicy, AuditRule, AuditSettings, GroupResources
from apiext.base.meta import field
from apiext.base.meta.configuration import json_loader
from apiext.base.meta.golang import formatting
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.golang.type_model import Decoder, describe
from apiext.base.meta.log import get_logger
from apiext.base.meta.names import dns1123_subdomain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object

_LOG: Final = get_logger(__name__)
_VERSION: Final = "audit.k8s.io/v1"
_KIND: Final = "Policy"
_STAGES: Final = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")
_OTHER_KINDS: Final = frozenset({"Event", "EventList", "PolicyList"})
_GO_TYPE_META: Final = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_META: Final = struct(
    "ObjectMeta",
    "name, generateName, namespace, selfLink, uid types.UID, resourceVersion, generation int64, creationTimestamp Time, "
    "labels map[string]string, annotations map[string]string, finalizers []string",
)
_RULE: Final = struct(
    "PolicyRule",
    "level! v1.Level, users []string, userGroups []string, verbs []string, resources []GroupResources, namespaces []string, "
    "nonResourceURLs []string, omitStages []v1.Stage, omitManagedFields *bool",
    struct("GroupResources", "group, resources []string, resourceNames []string"),
)
_POLICY: Final = struct(
    _KIND, "TypeMeta, metadata ObjectMeta, rules! []PolicyRule, omitStages []v1.Stage, omitManagedFields bool", _META, _RULE
)


class PolicyFileError(ValueError):
    """A policy file cannot be used; the message is the reference's."""


def load_policy(path: Path) -> AuditPolicy:
    """Return the policy in a YAML or JSON file. Log unknown and duplicate fields, which are ignored.

    Raises:
        PolicyFileError: the file cannot be read, or has no valid policy.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        shown = formatting.quote(str(path))
        raise PolicyFileError(f"failed to read file path {shown}: open {path}: {(error.strerror or '').lower()}") from error
    try:
        return parse_policy(data)
    except PolicyFileError as error:
        raise PolicyFileError(f"{error}: from file {path}") from error


def parse_policy(data: bytes) -> AuditPolicy:
    """Return the policy in YAML or JSON.

    Raises:
        PolicyFileError: it is no valid policy.
    """
    document = _document(data)
    _check_kind(document)
    try:
        unknown = Decoder(report=True).run(_POLICY, document)
    except ValueError as error:
        raise PolicyFileError(f"failed decoding: {error}") from error
    if unknown:
        reason = f"strict decoding error: {', '.join(unknown)}"
        _LOG.warning("audit policy contains errors, falling back to lenient decoding", error=reason)
    rules = document.get("rules") or []
    if problems := _validate(document, rules):
        raise PolicyFileError(field.aggregate(problems))
    if not rules:
        raise PolicyFileError("loaded illegal policy with 0 rules")
    return AuditPolicy(tuple(_rule(rule or {}, document) for rule in rules))


def _document(data: bytes) -> Object:
    import yaml

    try:
        document = yaml.load(data, Loader=json_loader())  # noqa: S506 -- a safe loader
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line}: " if error.problem_mark is not None else ""
        raise PolicyFileError(f"failed decoding: yaml: {line}{error.problem}") from error
    except yaml.YAMLError as error:
        raise PolicyFileError(f"failed decoding: yaml: {' '.join(str(error).split())}") from error
    if document is not None and not isinstance(document, dict):
        raise _no_kind(document, f"value of type {_GO_TYPE_META}")
    return document or {}


def _no_kind(value: Any, place: str) -> PolicyFileError:
    problem = f"json: cannot unmarshal {describe(value)} into Go {place}"
    return PolicyFileError(f"failed decoding: couldn't get version/kind; json parse error: {problem}")


def _check_kind(document: Object) -> None:
    """Check kind and apiVersion; the reference takes the kind for granted, but not the version."""
    for name in ("apiVersion", "kind"):
        if not isinstance(value := document.get(name), str | None):
            raise _no_kind(value, f"struct field .{name} of type string")
    kind, version = document.get("kind") or _KIND, document.get("apiVersion") or ""
    if not version:
        raise PolicyFileError(f"unknown group version field audit.k8s.io/__internal, Kind={kind} in policy")
    if kind in _OTHER_KINDS and version == _VERSION:
        raise PolicyFileError(f"failed decoding: converting (v1.{kind}) to (audit.Policy): unknown conversion")
    if (kind, version) != (_KIND, _VERSION):
        given = f"no kind {formatting.quote(kind)} is registered for version {formatting.quote(version)}"
        raise PolicyFileError(f'failed decoding: {given} in scheme "pkg/runtime/scheme.go:111"')


def _validate(document: Object, rules: Sequence[Any]) -> list[field.FieldError]:
    found = _stage_errors(document, field.Path("omitStages"))
    for number, rule in enumerate(rules):
        found += _rule_errors(rule or {}, field.Path("rules").index(number))
    return found


def _rule_errors(rule: Object, path: field.Path) -> list[field.FieldError]:
    found = _level_errors(rule.get("level") or "", path.child("level"))
    urls = rule.get("nonResourceURLs") or []
    at = path.child("nonResourceURLs")
    for number, url in enumerate(urls):
        found += _url_errors(url or "", at.index(number))
    for entry in rule.get("resources") or []:
        found += _resource_errors(entry or {}, path.child("resources"))
    found += _stage_errors(rule, path.child("omitStages"))
    if urls and (rule.get("resources") or rule.get("namespaces")):
        found.append(field.invalid(at, urls, "rules cannot apply to both regular resources and non-resource URLs"))
    return found


def _level_errors(level: str, path: field.Path) -> list[field.FieldError]:
    if not level:
        return [field.required(path)]
    return [] if level in LEVELS else [field.not_supported(path, field.typed_text(level), LEVELS)]


def _url_errors(url: str, path: field.Path) -> list[field.FieldError]:
    found = []
    if url != "*" and not url.startswith("/"):
        found.append(field.invalid(path, url, "non-resource URL rules must begin with a '/' character"))
    if "*" in url[:-1]:
        found.append(field.invalid(path, url, "non-resource URL wildcards '*' must be the final character of the rule"))
    return found


def _resource_errors(entry: Object, path: field.Path) -> list[field.FieldError]:
    found = []
    group = entry.get("group") or ""
    if group not in {"", "*"} and (wrong := dns1123_subdomain(group)):
        found.append(field.invalid(path.child("group"), group, ",".join(wrong)))
    if entry.get("resourceNames") and not entry.get("resources"):
        found.append(
            field.invalid(path.child("resourceNames"), entry["resourceNames"], "using resourceNames requires at least one resource")
        )
    return found


def _stage_errors(section: Object, path: field.Path) -> list[field.FieldError]:
    reason = f"allowed stages are {','.join(_STAGES)}"
    stages = enumerate(section.get("omitStages") or [])
    return [field.invalid(path.index(number), stage or "", reason) for number, stage in stages if stage not in _STAGES]


def _rule(rule: Object, document: Object) -> AuditRule:
    own = rule.get("omitManagedFields")
    stages = [*(document.get("omitStages") or ()), *(rule.get("omitStages") or ())]
    return AuditRule(
        AuditSettings(
            LEVELS[rule["level"]],
            frozenset(map(AuditStage, stages)),
            bool(document.get("omitManagedFields")) if own is None else own,
        ),
        users=_texts(rule, "users"),
        groups=_texts(rule, "userGroups"),
        verbs=_texts(rule, "verbs"),
        resources=tuple(map(_group_resources, rule.get("resources") or ())),
        namespaces=_texts(rule, "namespaces"),
        urls=tuple(url or "" for url in rule.get("nonResourceURLs") or ()),
    )


def _group_resources(entry: Object | None) -> GroupResources:
    found = entry or {}
    resources = tuple(resource or "" for resource in found.get("resources") or ())
    return GroupResources(found.get("group") or "", resources, _texts(found, "resourceNames"))


def _texts(section: Object, name: str) -> frozenset[str]:
    return frozenset(text or "" for text in section.get(name) or ())
