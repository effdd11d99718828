"""Reads suite files. `suite.schema.json` describes them."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.tools.releases.located_yaml import LocatedYAMLError, located
from apiext.tools.suites.model import CaseKind, Suite, SuiteCase, SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jsonschema import ValidationError

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.releases.located_yaml import LocatedDocument

_LONGEST: Final = 200
"""Characters of a value in a message."""


class SuiteFiles:
    """Reads suite files; the schema is compiled once."""

    def __init__(self) -> None:
        # takes 100 ms
        from jsonschema import Draft202012Validator

        self._validator = Draft202012Validator(schema())

    def read(self, path: Path) -> Suite:
        """Return the suite of a file.

        Members that the schema does not know are warnings: the runner of openshift/api ignores them.

        Raises:
            SuiteError: the file cannot be read, or does not follow the schema.
        """
        try:
            found = located(path.read_bytes())
        except OSError as error:
            raise SuiteError(f"{path}: {error.strerror}") from error
        except LocatedYAMLError as error:
            raise SuiteError(f"{path}: {error}") from error
        warnings = self._check(path, found)
        document = found.value
        webhook = document.get("conversion") or {}
        if "caFile" in webhook:
            webhook = webhook | {"caFile": str(path.parent / webhook["caFile"])}
        return Suite(
            path=path,
            name=document.get("name") or path.name.removesuffix(".yaml").removesuffix(".testsuite"),
            crd_name=document.get("crdName") or "",
            version=document.get("version") or "",
            feature_gates=tuple(document.get("featureGates") or ()),
            crds=tuple(path.parent / each for each in document.get("crds") or filter(None, [document.get("crd")])),
            conversion=webhook,
            cases=tuple(_cases(found)),
            warnings=warnings,
            has_all_versions="crdName" not in document,
        )

    def _check(self, path: Path, found: LocatedDocument) -> list[str]:
        """Return the warnings about a document. Raise SuiteError for its first mistake."""
        warnings: list[str] = []
        mistakes: list[tuple[int, str]] = []
        for error in self._validator.iter_errors(found.value):
            line = found.line(tuple(error.absolute_path))
            if error.validator == "additionalProperties":
                schema: Any = error.schema
                known, at = schema["properties"], tuple(error.absolute_path)
                warnings += [f"{path}:{found.line((*at, name))}: unknown member {name!r}" for name in error.instance if name not in known]
            else:
                mistakes.append((line, _text(error)))
        if mistakes:
            line, text = min(mistakes)
            raise SuiteError(f"{path}:{line}: {text}")
        return warnings


def schema() -> Object:
    """Return the JSON Schema of suite files."""
    found: Object = json_codec.loads(files("apiext.tools.suites").joinpath("suite.schema.json").read_bytes())
    return found


def _text(error: ValidationError) -> str:
    place = error.json_path.removeprefix("$").removeprefix(".")
    schema: Any = error.schema
    if error.validator in ("anyOf", "oneOf") and "$comment" in schema:
        reason = schema["$comment"]
    else:
        reason = error.message if len(error.message) <= _LONGEST else f"{error.message[:_LONGEST]}..."
    return f"{place}: {reason}" if place else reason


def _cases(found: LocatedDocument) -> Iterator[SuiteCase]:
    tests: dict[str, Any] = found.value.get("tests") or {}
    for kind in CaseKind:
        for index, spec in enumerate(tests.get(kind) or ()):
            yield SuiteCase(kind, index, spec["name"], found.line(("tests", kind, index)), spec)
