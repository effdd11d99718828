"""Tests of the data of built-in kinds."""

import pytest

from hack.lib.builtin_kinds import archive
from hack.lib.reference.golang import BuildError
from hack.lib.servers.controlplane import ControlPlane

_MAX_BYTES = 400_000


def test_size() -> None:
    """Keep the file small, and without descriptions."""
    assert archive.TARGET.stat().st_size < _MAX_BYTES
    assert b'"description":"' not in archive.read()["schemas.json"]


@pytest.mark.slow
def test_up_to_date(control_plane: ControlPlane) -> None:
    """Make the same data again from the reference."""
    try:
        members = archive.collect(control_plane)
    except BuildError as error:
        pytest.skip(str(error))
    assert {name: data == members[name] for name, data in archive.read().items()} == dict.fromkeys(members, True)
