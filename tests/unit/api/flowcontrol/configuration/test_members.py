"""Typed access to members."""

import pytest

from apiext.api.flowcontrol.configuration import members
from apiext.base.meta.steps import at_once


def test_absent_members() -> None:
    """Count null as absent."""
    for obj in ({}, {"a": None}):
        assert members.text(obj, "a") == ""
        assert members.number(obj, "a", 3) == 3
        assert members.child(obj, "a") is None
        assert at_once(members.texts(obj, "a")) == []
        assert at_once(members.children(obj, "a")) == []


def test_other_types() -> None:
    """Name the member that has another type."""
    with pytest.raises(members.InvalidFlowControlObjectError, match="a has the wrong type"):
        members.number({"a": "1"}, "a", 0)
