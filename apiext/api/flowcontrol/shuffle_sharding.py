"""Shuffle sharding: the few queues that a flow may use (apiserver pkg/util/shufflesharding)."""

from __future__ import annotations

import hashlib
import math
from typing import Final

from apiext.base.meta.limits import MAX_CACHED_HANDS, MAX_CLASSIFICATION_CHARACTERS

MAX_HASH_BITS: Final = 60
"""Used bits of a hash. The remaining four keep the last cards evenly distributed."""
MAX_DECK_SIZE: Final = 1 << 26


def required_entropy_bits(deck_size: int, hand_size: int) -> int:
    """Return the approximate number of hash bits that a hand consumes."""
    return math.ceil(math.log2(deck_size) * hand_size)


def flow_hash(flow_schema: str, distinguisher: str) -> int:
    """Return the 64-bit hash of a flow: the name of its flow schema, and its distinguisher."""
    digest = hashlib.sha256(b"\0".join((flow_schema.encode(), distinguisher.encode(errors="surrogateescape")))).digest()
    return int.from_bytes(digest[:8], "little")


class Dealer:
    """Deals hands of different cards from a deck.

    Raises:
        ValueError: the sizes are invalid, or a hash has too few bits for them.
    """

    __slots__ = ("deck_size", "hand_size")

    def __init__(self, deck_size: int, hand_size: int) -> None:
        if deck_size <= 0 or hand_size <= 0:
            msg = f"deckSize {deck_size} or handSize {hand_size} is not positive"
            raise ValueError(msg)
        if hand_size > deck_size:
            msg = f"handSize {hand_size} is greater than deckSize {deck_size}"
            raise ValueError(msg)
        if deck_size > MAX_DECK_SIZE:
            msg = f"deckSize {deck_size} is impractically large"
            raise ValueError(msg)
        if required_entropy_bits(deck_size, hand_size) > MAX_HASH_BITS:
            msg = f"required entropy bits of deckSize {deck_size} and handSize {hand_size} is greater than {MAX_HASH_BITS}"
            raise ValueError(msg)
        self.deck_size = deck_size
        self.hand_size = hand_size

    def deal(self, hash_value: int) -> tuple[int, ...]:
        """Return the hand for a hash: different numbers below the size of the deck."""
        hand: list[int] = []
        remainders: list[int] = []
        for left in range(self.deck_size, self.deck_size - self.hand_size, -1):
            hash_value, card = divmod(hash_value, left)
            remainders.append(card)
            # the n-th card counts only the cards that are still in the deck
            for earlier in reversed(remainders[:-1]):
                card += card >= earlier
            hand.append(card)
        return tuple(hand)


class Hands(dict[tuple[str, str], tuple[int, ...]]):
    """A cache of at most MAX_CACHED_HANDS hands, by flow schema and distinguisher."""

    def __init__(self, dealer: Dealer) -> None:
        super().__init__()
        self._dealer = dealer

    def __missing__(self, flow: tuple[str, str]) -> tuple[int, ...]:
        """Deal the hand of a flow."""
        if len(self) >= MAX_CACHED_HANDS:
            self.clear()
        hand = self._dealer.deal(flow_hash(*flow))
        if len(flow[1]) <= MAX_CLASSIFICATION_CHARACTERS:
            self[flow] = hand
        return hand
