"""The share of the proxy in the table of the benchmark."""

from dataclasses import dataclass, field

from hack.lib.bench.loadgen import Result
from hack.lib.bench.report import Processors, proxy_shares


@dataclass
class _Found:
    cpu: dict[str, Processors]
    results: dict[str, Result] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def test_shows_the_share_of_the_proxy() -> None:
    """Compare the host's time for a server that does nothing with the time of all servers, for rows of both."""
    null = _Found({"get": Processors(0.1, 0.0, 0.1, 0.3)})
    found = _Found({"get": Processors(0.2, 0.1, 0.1, 0.3), "apply": Processors(1.0, 1.0, 1.0, 1.0)})

    assert proxy_shares(null, found).endswith(": get 0.30 of 0.60 ms (50 %)")
    assert proxy_shares(_Found({}), found) == ""
