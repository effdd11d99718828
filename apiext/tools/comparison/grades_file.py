"""Files of grades: YAML or JSON that follows `data/grades.json`, or a configuration file of crdify."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import orjson

from apiext.base.meta.configuration import ConfigurationError, parse_configuration
from apiext.tools.comparison.change import Grade
from apiext.tools.comparison.crdify_config import OLM, crdify_grades
from apiext.tools.comparison.grades import ExceptionAt, Grades, GradesAt, Place

_OF_CRDIFY: Final = frozenset({"validations", "unhandledEnforcement"})
"""Members that only a configuration of crdify has."""


def read_grades(path: Path | str) -> Grades:
    """Return the grades of a file.

    Raises:
        ConfigurationError: the file cannot be read, or does not follow the schema. The message is one line with the file's name and
            the path of each error in it.
    """
    try:
        data = Path(path).read_bytes()
        found = parse_configuration(data, {"type": "object"})
        return _from_crdify(data) if _OF_CRDIFY & found.keys() else _from_grades(data)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from error
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def named_grades(name: str) -> Grades:
    """Return the grades `default`, `crdify` or `olm`.

    Raises:
        KeyError: there are no grades of this name.
    """
    return {"default": Grades(), "crdify": crdify_grades({}), "olm": crdify_grades(OLM)}[name]


@cache
def grades_schema() -> Mapping[str, Any]:
    """Return the JSON Schema of files of grades."""
    return _schema("grades")


def _schema(name: str) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = orjson.loads((files("apiext.tools.comparison") / "data" / f"{name}.json").read_bytes())
    return schema


def _from_crdify(data: bytes) -> Grades:
    return crdify_grades(parse_configuration(data, _schema("crdify")))


def _from_grades(data: bytes) -> Grades:
    found = parse_configuration(data, grades_schema())
    base = named_grades(found.get("base", "default"))
    converted = found.get("compareConvertedVersions", base.compares_converted_versions)
    return Grades(
        {**base.rules, **_by_rule(found.get("rules", {}))},
        tuple(GradesAt(_place(place), _by_rule(place["rules"])) for place in found.get("places", ())),
        tuple(ExceptionAt(_place(place), frozenset(place.get("rules", ())), place["reason"]) for place in found.get("exceptions", ())),
        compares_converted_versions=converted,
    )


def _by_rule(grades: Mapping[str, str]) -> dict[str, Grade]:
    return {name: Grade(grade) for name, grade in grades.items()}


def _place(place: Mapping[str, Any]) -> Place:
    return Place(**{key: place[key] for key in ("definition", "version", "path") if key in place})
