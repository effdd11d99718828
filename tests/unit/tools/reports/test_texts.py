"""Words of reports."""

import pytest

from apiext.tools.reports.texts import counted, printable


@pytest.mark.parametrize("number,text", [(0, "0 objects"), (1, "1 object"), (2, "2 objects")])
def test_numbers(number: int, text: str) -> None:
    """Use singular and plural."""
    assert counted(number, "object") == text


def test_control_characters() -> None:
    """Keep texts on one line, without control characters."""
    assert printable("a\nb\x1b[2J") == "a\ufffdb\ufffd[2J"
