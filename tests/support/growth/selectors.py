"""Inputs of selectors: texts with many requirements, and objects with many labels."""

import contextlib
from collections.abc import Callable
from itertools import count
from typing import Final

from apiext.base.meta.selector_parser import parse_field_selector, parse_label_selector
from apiext.base.meta.selectors import FieldSelector, LabelSelector
from tests.support.growth.measure import Case

_LABELS: Final = {
    "absent labels": lambda size: ",".join(f"!k{number}" for number in range(size)),
    "one absent label": lambda size: ",".join(["!k"] * size),
    "labels of a value": lambda size: ",".join(f"k{number}=v" for number in range(size)),
    "a label of many values": lambda size: f"k in ({','.join(map(str, range(size)))})",
    "excluded values": lambda size: ",".join(f"k!={number}" for number in range(size)),
    "sets of values": lambda size: ",".join("k in (a,b,c)" for _ in range(size)),
    "bounds": lambda size: ",".join(f"k>{number}" for number in range(size)),
    "digits": lambda size: f"k>{'0' * size}",
    "commas": lambda size: f"k in ({',' * size})",
    "invalid values": lambda size: f"k in ({','.join(f'-{number}' for number in range(size))})",
    "a long key": lambda size: "k" * size + "/",
}
_FIELDS: Final = {
    "terms": lambda size: ",".join(f"f{number}=v" for number in range(size)),
    "excluded values": lambda size: ",".join(f"f!={number}" for number in range(size)),
    "commas": lambda size: "," * size,
    "backslashes": lambda size: "f=" + "\\\\" * size,
    "escaped commas": lambda size: "f=" + "\\," * size,
    "exclamation marks": lambda size: "!" * size,
}
_NUMBERS: Final = count()


def _parsed(parse: Callable[[str], LabelSelector | FieldSelector]) -> Callable[[str], None]:
    def run(text: str) -> None:
        with contextlib.suppress(ValueError):
            selector = parse(text)
            selector.matches({"k": "1", "f": "1"})

    return run


def _new(make: Callable[[int], str]) -> Callable[[int], str]:
    """Return a maker of texts that the parser does not remember."""
    return lambda size: f"{make(size)},u=u{next(_NUMBERS)}"


CASES: Final = (
    *(Case(f"label selector: {name}", _new(make), _parsed(parse_label_selector)) for name, make in _LABELS.items()),
    *(Case(f"field selector: {name}", _new(make), _parsed(parse_field_selector)) for name, make in _FIELDS.items()),
)
