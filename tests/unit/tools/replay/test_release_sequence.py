"""The definitions that a replay can walk."""

from typing import Any

from apiext.tools.releases.interface import Release
from apiext.tools.replay.release_sequence import ReleaseSequence, sequence_of
from tests.support.builders.plans import NAME, WEBHOOK, created, release, shaped

PLAIN = release(created(shaped("v1", "a", storage=True)), origin="plain")
HOOKED = release(created(shaped("v1", "a", storage=True), shaped("v2", "b"), conversion=WEBHOOK), origin="hooked")


def _sequence(*releases: Release, webhook: dict[str, Any] | None = None, calls: bool = False) -> ReleaseSequence:
    return sequence_of(PLAIN, releases, webhook=webhook, calls=calls)


def test_labels() -> None:
    """Name the releases."""
    assert _sequence(HOOKED, calls=True).labels == ["recording", "hooked"]


def test_leaves_out_webhooks() -> None:
    """Leave out a definition if a release of it has a webhook without an address."""
    sequence = _sequence(PLAIN, HOOKED)

    assert sequence.recorded.definitions == {}
    assert [text.partition(":")[0] for text in sequence.not_proved] == [NAME]


def test_calls_services() -> None:
    """Keep the webhook of a definition whose Services have addresses."""
    (found,) = _sequence(HOOKED, calls=True).releases

    assert found.definitions[NAME].head["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["name"] == "hook"


def test_webhook_elsewhere() -> None:
    """Put another webhook in the place of those of all definitions."""
    sequence = _sequence(HOOKED, webhook={"url": "https://localhost"})

    assert sequence.releases[0].definitions[NAME].object["spec"]["conversion"]["webhook"]["clientConfig"] == {"url": "https://localhost"}
    assert sequence.recorded.definitions[NAME].head["spec"]["conversion"]["strategy"] == "None"


def test_refused_definitions() -> None:
    """Move the webhook of a definition that a server refuses to create, too."""
    draft = HOOKED.definitions[NAME].object
    refused = Release("refused", {}, {NAME: ["no"], "other": ["no"]}, drafts={NAME: draft, "other": draft})

    (found,) = _sequence(refused, webhook={"url": "https://localhost"}).releases

    assert list(found.refused) == [NAME]
    assert found.drafts[NAME]["spec"]["conversion"]["webhook"]["clientConfig"] == {"url": "https://localhost"}


def test_missing_definitions() -> None:
    """Say which definitions a release does not have."""
    assert _sequence(Release("none", {})).not_proved == [f"{NAME}: none does not have it, so that it stays as it is"]
