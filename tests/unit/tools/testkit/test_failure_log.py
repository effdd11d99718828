"""Tests of apiext.tools.testkit.failure_log."""

from apiext.tools.testkit.failure_log import shown_log

REQUEST = (
    "timestamp=2026-01-01T00:00:00Z level=info logger=apiext.api.filters.request_logging event=request verb=get uri=/version resource= "
    "code={code} latency_ms=0.3 user=admin user_agent={agent} source=127.0.0.1 audit_id=1 apf_pl=exempt apf_fs=exempt apf_iseats=1\n"
)


def test_shortens_requests() -> None:
    """Leave out what tells nothing about a test, and the kit's own requests that succeed."""
    log = REQUEST.format(code=200, agent="kopf/1") + REQUEST.format(code=200, agent="apiext") + REQUEST.format(code=422, agent="apiext")

    start = "timestamp=2026-01-01T00:00:00Z level=info verb=get uri=/version resource="
    assert shown_log(log).splitlines() == [
        f"{start} code=200 latency_ms=0.3 user=admin user_agent=kopf/1",
        f"{start} code=422 latency_ms=0.3 user=admin user_agent=apiext",
    ]


def test_limits_lines() -> None:
    """Show the last lines, and say how many are left out."""
    shown = shown_log("".join(f"line {number}\n" for number in range(500))).splitlines()

    assert shown[0] == "... 300 lines are left out"
    assert shown[1:] == [f"line {number}" for number in range(300, 500)]
