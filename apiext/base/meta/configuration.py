"""Configuration files: YAML or JSON, validated with a JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jsonschema import ValidationError

_NOT_OF_JSON: Final = frozenset({"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value"})
"""Tags of texts that look like a date, and of the text "=", which PyYAML knows and does not construct."""


class ConfigurationError(ValueError):
    """A configuration is invalid. The message is one line with the path and the reason of each error."""


def parse_configuration(data: bytes, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object in a YAML or JSON file after validation by a schema (draft 2020-12) that requires an object.

    Raises:
        ConfigurationError: the data is not YAML, or does not follow the schema.
    """
    # imported with the first file: most servers read none, and both take about 100 ms
    import yaml
    from jsonschema import Draft202012Validator

    try:
        found = yaml.load(data, Loader=json_loader())  # noqa: S506 -- a safe loader
    except yaml.YAMLError as error:
        raise ConfigurationError(f"invalid YAML: {' '.join(str(error).split())}") from error
    except ValueError:
        # the error would quote the value
        raise ConfigurationError("invalid YAML: a value does not fit its tag") from None
    errors = sorted(Draft202012Validator(schema).iter_errors(found), key=lambda error: error.json_path)
    if errors:
        raise ConfigurationError("; ".join(map(_text, errors)))
    result: dict[str, Any] = found
    return result


def json_loader() -> type[Any]:
    """Return PyYAML's safe loader, changed to read timestamps and "=" as strings, as JSON has them."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolvers = {
        first: [(tag, pattern) for tag, pattern in known if tag not in _NOT_OF_JSON]
        for first, known in base.yaml_implicit_resolvers.items()
    }
    return type("_Loader", (base,), {"yaml_implicit_resolvers": resolvers})


def _text(error: ValidationError) -> str:
    """Return an error without the invalid value, which may be a secret or contain secrets."""
    path, reason = error.json_path.removeprefix("$").removeprefix("."), error.message
    if error.validator == "type":
        expected: Any = error.validator_value
        reason = f"not of type {expected if isinstance(expected, str) else ' or '.join(expected)}"
    elif error.validator == "oneOf":
        reasons = ", ".join(map(_text, error.context or ()))
        reason = f"matches none of the alternatives ({reasons})" if reasons else "matches several alternatives"
    return f"{path}: {reason}" if path else reason
