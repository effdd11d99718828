"""Masks what differs in every two responses: uids, revisions, times, and the order of what runs in parallel."""

import json
import re
from typing import Any, Final

_VOLATILE: Final = frozenset({"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "continue"})
_NUMBERS: Final = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|(?<=version: )\d+|(?<=current: )\d+|(?<=in record \()\d+"
    r"|(?<=selfType)\d+|(?<=resource version: 1 \()\d+|(?<=ParseUint: parsing \")\d+|(?<=\"resourceVersion\": \")\d+"
    r"|(?<=\"resourceVersion\":\")\d+"
)
_AGE: Final = re.compile(r"\d+s")
_TIMES: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\dZ| \d\d:\d\d:\d\d \+0000 UTC)")
_INVALID_TIME: Final = re.compile(
    r'(parsing time \\?"[^"]*")(?: as \\?"[^"]*")?: '
    r'(?:cannot parse \\?"[^"]*" as \\?"[^"]*"|(?:month|day|hour|minute|second) out of range|extra text: \\?"[^"]*"'
    r"|not a time such as [-\d:.TZ]+)"
)
"""The text of an invalid time; the servers describe its fault in words of their own."""
_INVALID_FORMAT: Final = re.compile(
    r'(Invalid date(?:-time)? formatted string .*?): parsing time "[^"]*" <fault>'
    r"|(illegal base64 data) at input byte \d+"
)
"""Values of the wrong format in rules, where apiext leaves the fault of a time and the place in base64 data out."""
_QUOTED: Final = re.compile(r'"\{(?:[^"\\]|\\.)*\}"')
_KINDS: Final = "x-kubernetes-group-version-kind"
_SHARED_GROUPS: Final = ("",)
_CONDITIONS: Final = ("NamesAccepted", "Established", "Terminating", "NonStructuralSchema", "KubernetesAPIApprovalPolicyConformant")


def masked(value: Any) -> Any:
    """Return the value without uids, revisions, times and faults of times, with sorted causes."""
    if isinstance(value, dict):
        if value.get("generateName") and value.get("name"):
            value = value | {"name": "<generated>"}
        return {key: "*" if key in _VOLATILE and member else _member(key, member) for key, member in value.items()}
    if isinstance(value, list):
        return [masked(member) for member in value]
    if isinstance(value, str):
        value = _INVALID_FORMAT.sub(lambda found: found[1] or found[2], _INVALID_TIME.sub(r"\1 <fault>", value))
        return _TIMES.sub("<time>", _NUMBERS.sub("*", _QUOTED.sub(_masked_object, value)))
    return value


def without_prose(value: Any) -> Any:
    """Return an OpenAPI document without descriptions, and without kinds of groups that only one server has."""
    if isinstance(value, dict):
        return {
            key: sorted((kind for kind in member if kind["group"] in _SHARED_GROUPS), key=str)
            if key == _KINDS and isinstance(member, list)
            else without_prose(member)
            for key, member in value.items()
            if key != "description" or not isinstance(member, str)
        }
    return [without_prose(member) for member in value] if isinstance(value, list) else value


def _masked_object(match: re.Match[str]) -> str:
    """Mask an object that a message quotes."""
    try:
        return json.dumps(masked(json.loads(json.loads(match[0]))), sort_keys=True)
    except ValueError:
        return match[0]


def _member(key: str, member: Any) -> Any:
    if key == "causes" and isinstance(member, list):
        return sorted((masked(cause) for cause in member), key=json.dumps)
    if key == "conditions" and isinstance(member, list) and all(isinstance(one, dict) and one.get("type") in _CONDITIONS for one in member):
        # The order of controllers that run in parallel varies.
        return sorted((masked(one) for one in member), key=lambda one: str(one["type"]))
    if key == "managedFields" and isinstance(member, list) and all(isinstance(entry, dict) for entry in member):
        # Their order depends on the second in which each manager wrote.
        return sorted(map(masked, member), key=lambda entry: json.dumps(entry, sort_keys=True))
    if key == "cells":
        return ["<age>" if isinstance(cell, str) and _AGE.fullmatch(cell) else masked(cell) for cell in member]
    if key == "message" and isinstance(member, str) and ": [" in member:
        head, _, tail = member.partition(": [")
        return masked(head) + ": " + str(sorted(masked(tail).rstrip("]").split(", ")))
    return masked(member)
