"""Configuration files."""

from pathlib import Path

import pytest

from apiext.server.configuration_file import ConfigurationError, read_configuration_file

SCHEMA = {
    "type": "object",
    "properties": {"rules": {"type": "array", "items": {"type": "object", "properties": {"level": {"enum": ["None", "Metadata"]}}}}},
}


@pytest.mark.parametrize("text", ['{"rules": [{"level": "None"}]}', "rules:\n- level: None\n"])
def test_reads_json_and_yaml(tmp_path: Path, text: str) -> None:
    """Return the object of a JSON and of a YAML file."""
    path = tmp_path / "file"
    path.write_text(text)

    assert read_configuration_file(path, SCHEMA) == {"rules": [{"level": "None"}]}


@pytest.mark.parametrize(
    "text,reason",
    [
        ("rules:\n- level: x\n- level: y\n", "rules[0].level: 'x' is not one of ['None', 'Metadata']; rules[1].level: 'y' is not one of"),
        ("", "None is not of type 'object'"),
        ("{", "invalid YAML: while parsing a flow node"),
    ],
)
def test_reports_file_path_and_reason(tmp_path: Path, text: str, reason: str) -> None:
    """Name the file, and the path and the reason of each error, in one line."""
    path = tmp_path / "file"
    path.write_text(text)

    with pytest.raises(ConfigurationError) as found:
        read_configuration_file(path, SCHEMA)

    assert str(found.value).startswith(f"{path}: {reason}")
    assert "\n" not in str(found.value)


def test_reports_a_missing_file(tmp_path: Path) -> None:
    """Name the file that cannot be read."""
    with pytest.raises(ConfigurationError, match="none: No such file or directory"):
        read_configuration_file(tmp_path / "none", SCHEMA)
