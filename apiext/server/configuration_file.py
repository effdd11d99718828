"""Configuration files: YAML or JSON, validated with a JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class ConfigurationError(Exception):
    """A configuration file is invalid. The message has one line with the file, and the path and the reason of each error."""


def read_configuration_file(path: Path, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object in a YAML or JSON file that follows a schema (draft 2020-12), which has to require an object.

    Raises:
        ConfigurationError: the file cannot be read, is not YAML, or does not follow the schema.
    """
    # imported with the first file: most servers read none, and both take about 100 ms
    import yaml
    from jsonschema import Draft202012Validator

    try:
        found = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path}: invalid YAML: {' '.join(str(error).split())}") from error
    errors = sorted(Draft202012Validator(schema).iter_errors(found), key=lambda error: error.json_path)
    if errors:
        raise ConfigurationError(f"{path}: {'; '.join(_text(error.json_path, error.message) for error in errors)}")
    result: dict[str, Any] = found
    return result


def _text(json_path: str, message: str) -> str:
    path = json_path.removeprefix("$").removeprefix(".")
    return f"{path}: {message}" if path else message
