"""The page of the version map."""

from apiext.server.version_map import page


def test_the_headers_keep_others_out() -> None:
    """Send the policy as a header too, with what only a header can say."""
    headers = page.headers()

    assert headers["Content-Security-Policy"].endswith("; frame-ancestors 'none'")
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_only_the_live_page_connects() -> None:
    """Let the page of a server read its data from there, and a saved one nothing."""
    assert b"connect-src 'self'" in page.live_page()
    assert b"connect-src 'none'" in page.saved_page({"definitions": []})
