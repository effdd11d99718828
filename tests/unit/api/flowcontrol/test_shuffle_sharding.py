"""Tests of shuffle sharding."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.api.flowcontrol import shuffle_sharding
from apiext.api.flowcontrol.shuffle_sharding import Dealer, Hands, flow_hash, required_entropy_bits


@pytest.mark.parametrize("deck, hand, bits", [(1, 1, 0), (64, 8, 48), (128, 6, 42), (512, 6, 54), (100, 9, 60)])
def test_entropy(deck: int, hand: int, bits: int) -> None:
    """Estimate the bits that a hand consumes."""
    assert required_entropy_bits(deck, hand) == bits


@pytest.mark.parametrize(
    "deck, hand, message",
    [
        (-100, 8, "is not positive"),
        (100, -8, "is not positive"),
        (0, 0, "is not positive"),
        (100, 101, "handSize 101 is greater than deckSize 100"),
        (1 << 27, 2, "impractically large"),
        (512, 8, "required entropy bits of deckSize 512 and handSize 8 is greater than 60"),
    ],
)
def test_invalid_sizes(deck: int, hand: int, message: str) -> None:
    """Refuse sizes that cannot be dealt from 60 bits."""
    with pytest.raises(ValueError, match=message):
        Dealer(deck, hand)


@pytest.mark.parametrize(
    "deck, hand, hash_value, cards",
    [
        (6, 6, 411, (3, 4, 1, 0, 5, 2)),
        (128, 3, 1 << 60, (0, 17, 18)),
        (64, 8, flow_hash("global-default", "alice"), (55, 56, 51, 36, 11, 5, 38, 52)),
        (128, 6, 0xFEDCBA9876543210, (16, 96, 60, 118, 5, 4)),
        (1, 1, 5, (0,)),
    ],
)
def test_known_hands(deck: int, hand: int, hash_value: int, cards: tuple[int, ...]) -> None:
    """Deal the hands that the reference deals."""
    assert Dealer(deck, hand).deal(hash_value) == cards


@given(st.integers(1, 200), st.integers(1, 7), st.integers(0, (1 << 64) - 1))
def test_cards_differ(deck: int, hand: int, hash_value: int) -> None:
    """Deal each card of the deck at most once."""
    dealer = Dealer(deck, min(deck, hand))

    cards = dealer.deal(hash_value)

    assert len(set(cards)) == min(deck, hand)
    assert all(0 <= card < deck for card in cards)


def test_every_card_is_as_likely() -> None:
    """Distribute the cards of all hashes evenly."""
    dealer, counts = Dealer(6, 3), Counter[tuple[int, ...]]()
    for hash_value in range(6 * 5 * 4 * 10):
        counts[dealer.deal(hash_value)] += 1

    assert set(counts.values()) == {10}
    assert len(counts) == 6 * 5 * 4


def test_flow_hash_separates_schema_and_distinguisher() -> None:
    """Hash the name and the distinguisher, which contain no zero byte, as two texts."""
    assert flow_hash("ab", "c") != flow_hash("a", "bc")
    assert flow_hash("global-default", "alice") == 17644606172554983095


def test_remembers_hands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deal a flow the same hand each time, and keep a limited number of hands, none of a long distinguisher."""
    monkeypatch.setattr(shuffle_sharding, "MAX_CACHED_HANDS", 2)
    hands, flows = Hands(Dealer(64, 8)), [("schema", "a"), ("schema", "b"), ("schema", "c"), ("schema", "d" * 1_000_000)]

    assert [hands[flow] for flow in (*flows, *flows)] == [Dealer(64, 8).deal(flow_hash(*flow)) for flow in (*flows, *flows)]
    assert len(hands) <= 2
    assert flows[-1] not in hands
