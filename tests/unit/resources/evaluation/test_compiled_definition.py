"""Converters of the old and the new definition."""

from pathlib import Path
from typing import Any, Final

from apiext.resources.conversion.interface import ConversionError
from apiext.resources.definitions.definition import Definition
from apiext.resources.evaluation.compiled_definition import NOT_CALLED, open_converters
from tests.support.builders.conversions import conversion
from tests.support.builders.crds import crd, definition, version
from tests.support.builders.plans import shaped
from tests.support.conversion_webhook import BREAK, conversion_webhook

VERSIONS: Final = (version("v1", storage=True), version("v2"))
PLAIN: Final = definition(crd("widgets", *VERSIONS, conversion={"strategy": "None"}))
OBJECT: Final[dict[str, Any]] = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {}}


def _hooked(client: dict[str, Any]) -> Definition:
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    return definition(crd("widgets", *VERSIONS, conversion={"strategy": "Webhook", "webhook": webhook}))


async def test_strategy_none_needs_no_webhook() -> None:
    """Convert in place."""
    async with open_converters(None, PLAIN) as converters:
        assert not converters.old.is_webhook
        assert not converters.new.is_webhook
        assert converters.new.missing == ""


async def test_no_webhook_is_called_unless_asked() -> None:
    """Refuse all conversions if no webhook may be called."""
    async with open_converters(PLAIN, _hooked({"url": "https://127.0.0.1:1/"}), calls=False) as converters:
        (answer,) = await converters.new.converter.convert([dict(OBJECT)], "example.com/v2")

        assert converters.new.is_webhook
        assert converters.new.missing == NOT_CALLED
        assert str(answer) == NOT_CALLED


async def test_an_invalid_client_config_is_a_reason() -> None:
    """Say why a webhook cannot be called."""
    async with open_converters(None, _hooked({"url": "https://127.0.0.1:1/", "caBundle": "eA=="})) as converters:
        assert "no valid certificate authority data" in converters.new.missing


async def test_another_address_can_be_given(tmp_path: Path) -> None:
    """Call a webhook at another address than the definition's."""
    with conversion_webhook(tmp_path) as webhook:
        given = _hooked({"service": {"name": "gone", "namespace": "gone"}})
        async with open_converters(None, given, webhook=webhook.client_config(), calls=False) as converters:
            (answer,) = await converters.new.converter.convert([dict(OBJECT)], "example.com/v2")

        assert not isinstance(answer, ConversionError)
        assert answer["apiVersion"] == "example.com/v2"


async def test_a_silent_webhook_is_called_twice(tmp_path: Path) -> None:
    """Repeat an unanswered call once, and then call no more."""
    with conversion_webhook(tmp_path, answer=lambda _call: BREAK) as webhook:
        async with open_converters(None, _hooked(webhook.client_config())) as converters:
            for _ in range(3):
                (answer,) = await converters.new.converter.convert([dict(OBJECT)], "example.com/v2")
                assert isinstance(answer, ConversionError)

            assert "does not answer" in converters.new.missing
            assert len(webhook.calls) <= 4


async def test_rules_in_use_go_on() -> None:
    """Convert by unchanged rules under a definition that they do not fit, as a server does, and not by changed ones."""
    strict = shaped("v2", "a", storage=True)
    strict["schema"]["openAPIV3Schema"]["properties"]["spec"] |= {"required": ["a"]}
    before, after = (definition(crd("widgets", shaped("v1"), hub)) for hub in (shaped("v2", "a", storage=True), strict))
    answers: list[Any] = []
    for added in ({"path": "spec.c", "reason": "unused"}, None):
        rules = conversion(v1=[]), conversion(v1=[{"drop": added}] if added else [])
        async with open_converters(before, after, rules=rules) as converters:
            answers += await converters.new.converter.convert([dict(OBJECT)], "example.com/v2")

    assert [isinstance(answer, ConversionError) for answer in answers] == [True, False]
