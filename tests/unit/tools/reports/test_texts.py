"""Words of reports."""

from apiext.tools.reports.texts import printable


def test_control_characters() -> None:
    """Keep texts on one line, without control characters."""
    assert printable("a\nb\x1b[2J") == "a\ufffdb\ufffd[2J"
