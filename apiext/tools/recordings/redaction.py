"""Redaction: replaces the secrets in objects."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_values import is_deeper
from apiext.base.meta.limits import MAX_DEPTH
from apiext.resources.evaluation.compiled_version import value_check
from apiext.tools.recordings.field_path import ITEM, FieldPath, below
from apiext.tools.recordings.object_walk import member_schema, rewrite, rewrite_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.recordings.object_walk import Schema

_HEAD: Final = frozenset({"apiVersion", "kind", "metadata"})
_PACKED: Final = frozenset({"objectset.rio.cattle.io/applied"})
"""Annotations with a packed copy of the object."""
_SECRET_KIND: Final = re.compile(r"Secret$")
_DATA: Final = frozenset({"data", "stringData"})

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET: Final = re.compile(
    r"\b(?:pass(?:wor[dt]|wd|phrase|code)?s?|pwd|tokens?|secrets?|credentials?|creds?|api ?keys?|bearer|authorization|cookie|psk|otp"
    r"|htpasswd|kube ?config|docker ?config ?json|(?:private|secret|access|ssh|encryption) ?keys?|basic auth"
    r"|(?:signing|shared|auth|tls|client|license|account|master|session|host) key|connection (?:string|uri)|secret (?:data|value))$"
)
"""Last words of names of secrets."""
_REFERENCE: Final = re.compile(
    r"\b(?:names?|namespaced?|namespaces|keys?|refs?|references?|selector|kind|group|version|type|mode|paths?|audiences?|operator|optional"
    r"|file|policy|class|provider|engine|format|algorithm|issuer|ttl|seconds|duration)$"
)
"""Last words of names of members that say where or how a secret is."""
_FORMS: Final = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    re.compile(r"\b[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE),
    re.compile(r"\b(?:ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs]|AKIA|ASIA)[-_]?[A-Za-z0-9_-]{12,}"),
)


_MASK: Final = ((re.compile(r"[a-z]"), "x"), (re.compile(r"[A-Z]"), "X"), (re.compile(r"[1-9]"), "0"))
_MAX_PADDING: Final = 4096
"""Characters that a replacement is extended by, to have the minimum length."""


class Replacements:
    """Numbers the secrets of one object: equal secrets get equal replacements, different ones different ones.

    The numbers say nothing about the secrets, and nothing about those of other objects.
    """

    def __init__(self) -> None:
        self._checks: dict[int, tuple[Schema, Callable[[Any], bool] | None]] = {}
        self._numbers: dict[str, int] = {}

    def start(self) -> None:
        """Begin with another object."""
        self._numbers.clear()

    def text(self, secret: str, schema: Schema) -> str:
        """Return the replacement of a text. A value of an enumeration stays, as it is no secret."""
        if not secret or schema.get("enum"):
            return secret
        number = self._numbers.setdefault(secret, len(self._numbers) + 1)
        plain = f"redacted-{number}"
        check = self._check(schema)
        if check is None:
            return plain
        return next((text for text in _candidates(secret, plain, number, schema) if check(text)), plain)

    def number(self, value: float, schema: Schema) -> float:
        """Return the replacement of a number: 0 or a limit of the schema."""
        check = self._check(schema)
        if schema.get("enum"):
            return value
        limits = [schema[name] for name in ("minimum", "maximum", "multipleOf") if isinstance(schema.get(name), int | float)]
        candidates = [kind for one in (0, 1, *limits) for kind in (type(value)(one),)]
        return next((one for one in candidates if check is None or check(one)), candidates[0])

    def _check(self, schema: Schema) -> Callable[[Any], bool] | None:
        if not schema:
            return None
        known = self._checks.get(id(schema))
        if known is None:
            known = self._checks[id(schema)] = schema, value_check(schema)
        return known[1]


def _candidates(secret: str, plain: str, number: int, schema: Schema) -> Iterator[str]:
    """Yield texts that many schemas accept, the clearest one first; the last one has the secret's length and kinds of characters."""
    longer = plain + "x" * min(max(0, (schema.get("minLength") or 0) - len(plain)), _MAX_PADDING)
    yield longer
    yield base64.b64encode(longer.encode()).decode()
    yield longer.replace("-", "")
    yield longer.replace("-", "").upper()
    if schema.get("format"):
        yield f"https://{plain}.invalid"
        yield f"{plain}@example.com"
        yield f"00000000-0000-4000-8000-{number:012}"
        yield f"20{number % 100:02}-01-01T00:00:00Z"
        yield f"20{number % 100:02}-01-01"
        yield f"192.0.2.{number % 256}"
        yield f"2001:db8::{number % 10_000}"
        yield f"192.0.2.{number % 256}/32"
        yield f"{number}s"
    masked = secret
    for pattern, mask in _MASK:
        masked = pattern.sub(mask, masked)
    yield masked


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Report whether a field, variable or annotation of this name has a secret: its last words say so, as in dbPassword or API_KEY."""
    return _SECRET.search(_words(name.rpartition("/")[2])) is not None


@lru_cache(maxsize=4096)
def is_reference_name(name: str) -> bool:
    """Report whether a member of a secret says where it is instead of being one, such as secretKeyRef.name."""
    return _REFERENCE.search(_words(name)) is not None


def has_secret_form(text: str) -> bool:
    """Report whether a text has the form of a secret: a private key, a token, or a URL with a password."""
    return any(form.search(text) for form in _FORMS)


def _words(name: str) -> str:
    """Return the words of a name in camel case or with separators, without a number at its end."""
    return " ".join(_WORD.findall(name.rstrip("0123456789"))).lower()


class _Zone(Enum):
    """What is around a value."""

    PLAIN = auto()
    SECRET = auto()
    """A member of a secret; texts that refer to something else stay."""
    DATA = auto()
    """A member of a secret's data: every text is one."""


@dataclass(frozen=True, slots=True)
class _Spot:
    zone: _Zone = _Zone.PLAIN
    paths: tuple[FieldPath, ...] = ()
    """The rests of the user's paths."""
    is_named: bool = False
    """Whether the user named the place or one above it."""


class Redactor:
    """Replaces secrets in the objects of a definition: fields with format password, and those whose names or texts say so.

    The same values are replaced in managedFields and in annotations that repeat the object.
    """

    def __init__(self, definition: Definition, paths: Sequence[FieldPath] = ()) -> None:
        self._group = definition.group
        self._kind = definition.names.kind
        self._paths = tuple(paths)
        self._schemas = {version.name: dict(version.schema or {}) for version in definition.versions}
        self._replacements = Replacements()

    def redact(self, obj: Object) -> Object:
        """Return an object without its secrets. The object must not be nested deeper than MAX_DEPTH."""
        self._replacements.start()
        return self._object(obj)

    def _object(self, obj: Object) -> Object:
        schema, root = self._schema(obj), _Spot(paths=self._paths)
        new: Object = {}
        for name, value in obj.items():
            if name == "metadata" and isinstance(value, dict):
                new[name] = self._metadata(value, self.member(root, name, obj), schema, root)
            elif name in _HEAD:
                new[name] = value
            else:
                new[name] = rewrite(value, self.member(root, name, obj), member_schema(schema, name), self)
        return new

    def _schema(self, obj: Object) -> Schema:
        group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
        return self._schemas.get(version, {}) if group == self._group and obj.get("kind") == self._kind else {}

    def _metadata(self, metadata: Object, spot: _Spot, schema: Schema, root: _Spot) -> Object:
        new = dict(metadata)
        for name in ("labels", "annotations"):
            values = metadata.get(name)
            if isinstance(values, dict):
                inner = self.member(spot, name, metadata)
                new[name] = {key: self._note(key, value, self.member(inner, key, values)) for key, value in values.items()}
        entries = metadata.get("managedFields")
        if isinstance(entries, list):
            new["managedFields"] = [self._entry(entry, root, schema) for entry in entries]
        return new

    def _note(self, key: str, value: Any, spot: _Spot) -> Any:
        """Return the value of a label or an annotation. One with JSON of an object is redacted as that object."""
        if not isinstance(value, str):
            return value
        if key in _PACKED:
            return self._replacements.text(value, {})
        if value.lstrip()[:1] == "{" and spot.zone is _Zone.PLAIN and not spot.is_named:
            try:
                parsed = json_codec.loads(value.encode())
            except ValueError:
                return self.leaf(value, spot, {})
            if is_deeper(parsed, MAX_DEPTH):
                return self._replacements.text(value, {})
            return json_codec.dumps(self._object(parsed), sort_keys=False).decode() + "\n" * value.endswith("\n")
        return self.leaf(value, spot, {})

    def _entry(self, entry: Any, root: _Spot, schema: Schema) -> Any:
        fields = entry.get("fieldsV1") if isinstance(entry, dict) else None
        return entry | {"fieldsV1": rewrite_fields(fields, root, schema, self)} if isinstance(fields, dict) else entry

    # --- the rewriter -----------------------------------------------------------------------------------------------------

    def member(self, spot: _Spot, name: str, owner: Object) -> _Spot:
        """Implement Rewriter.member."""
        zone = spot.zone
        if zone is _Zone.SECRET and is_reference_name(name):
            zone = _Zone.PLAIN
        elif zone is _Zone.PLAIN and (is_secret_name(name) or (name == "value" and is_secret_name(_named(owner)))):
            zone = _Zone.SECRET
        if name in _DATA and (zone is _Zone.SECRET or _SECRET_KIND.search(str(owner.get("kind", "")))):
            zone = _Zone.DATA
        return self._moved(spot, zone, name)

    def item(self, spot: _Spot) -> _Spot:
        """Implement Rewriter.item."""
        return self._moved(spot, spot.zone, ITEM)

    def leaf(self, value: Any, spot: _Spot, schema: Schema) -> Any:
        """Implement Rewriter.leaf."""
        if type(value) is str:
            if spot.is_named or spot.zone is not _Zone.PLAIN or schema.get("format") == "password" or has_secret_form(value):
                return self._replacements.text(value, schema)
        elif spot.is_named and type(value) in (int, float):
            return self._replacements.number(value, schema)
        return value

    @staticmethod
    def _moved(spot: _Spot, zone: _Zone, segment: str) -> _Spot:
        if not spot.paths and zone is spot.zone:
            return spot
        paths = below(spot.paths, segment)
        return replace(spot, zone=zone, paths=paths, is_named=spot.is_named or () in paths)


def _named(owner: Object) -> str:
    """Return the name in an item such as {name: DB_PASSWORD, value: x}."""
    name = owner.get("name")
    return name if isinstance(name, str) else ""
