"""Label and field selectors with many requirements, values or terms."""

from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from typing import Final
from urllib.parse import quote

from hack.lib.soak.attack import Attack
from hack.lib.soak.collection import ALL, ATTACKED, KEPT, widget

_HEAD: Final = 60_000
"""Bytes of a selector that a request line can carry."""


def _list(kind: str, selector: str) -> str:
    return f"{ALL}?{kind}Selector={quote(selector, safe=',!()=')}"


def _cut(parts: Iterable[str], limit: int = _HEAD) -> str:
    """Join the parts with commas, up to a length in bytes."""
    text = ",".join(parts)[:limit]
    return text.rpartition(",")[0] or text


def absent_labels(attack: Attack) -> None:
    """Select objects without any of 1,500 labels, and of as many labels as a request can name."""
    for limit in (9_000, attack.size(_HEAD, 20_000)):
        attack.ask("GET", _list("label", _cut((f"!k{number}" for number in range(20_000)), limit)))


def label_values(attack: Attack) -> None:
    """Select objects by a label with one of many values, or none of them; a second list has 100,000 values."""
    values = _cut(f"v{number}" for number in range(100_000))
    for operator in ("in", "notin"):
        attack.ask("GET", _list("label", f"app {operator} ({values})"))
    attack.ask("GET", _list("label", f"app in ({','.join(str(number) for number in range(100_000))})"))


def label_requirements(attack: Attack) -> None:
    """Select objects with many requirements of every operator, on labels that they have."""
    kinds = ["app", "app=soak", "app!=b", "shard notin (x,y)", "number>-1", "number<99999", "!none"]
    for kind in kinds:
        attack.ask("GET", _list("label", _cut([kind] * 20_000)))


def label_syntax(attack: Attack) -> None:
    """Send selectors that are long and end with an error."""
    for text in (
        "(" * _HEAD,
        "!" * _HEAD,
        "a" * _HEAD,
        "a in (" + "," * (_HEAD - 100),
        "a=b," * (_HEAD // 4) + "=",
        "a in" + " " * 9000 + "(",
    ):
        attack.ask("GET", _list("label", text))


def field_terms(attack: Attack) -> None:
    """Select objects by as many field terms as a request can name, up to 10,000."""
    for term in ("metadata.name!=n{}", "metadata.namespace!=n{}", "spec.shard!=n{}", "metadata.name=kept-1"):
        attack.ask("GET", _list("field", _cut(term.format(number) for number in range(10_000))))
    attack.ask("GET", _list("field", ",".join(f"a!={number}" for number in range(10_000))))
    for text in ("\\" * _HEAD, "=" * _HEAD, "a=" + "\\," * (_HEAD // 2), "a" * _HEAD):
        attack.ask("GET", _list("field", text))


def shard_ranges(attack: Attack) -> None:
    """Select objects by as many ranges of hashes as a request can name, plain and within many parentheses."""
    ranges = [f"shardRange(object.metadata.uid,'0x{number:015x}0','0x{number:015x}1')" for number in range(680)]
    nested = f"{'(' * 200}{ranges[0]}{')' * 200}"
    for text in ("||".join(ranges), "||".join([nested] * 100)):
        attack.ask("GET", f"{ALL}?shardSelector={quote(text, safe='(),')}")
    attack.ask("DELETE", f"{KEPT}?dryRun=All&shardSelector={quote(nested)}")


def selectors_of_clients_that_leave(attack: Attack) -> None:
    """Send many large selections and close each connection without reading the answer."""
    path = _list("label", _cut(f"!k{number}" for number in range(20_000)))
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    for _ in range(attack.size(50, 5)):
        with attack.connect(attack.front) as connection:
            connection.sendall(head)


def selectors_of_watches(attack: Attack) -> None:
    """Watch with many large selectors while objects change, and delete a collection by one."""
    selectors = [
        _cut((f"!k{number}x{watch}" for number in range(20_000)), attack.size(_HEAD, 9_000)) for watch in range(attack.size(40, 5))
    ]
    with ExitStack() as stack:
        for selector in selectors:
            connection = stack.enter_context(attack.connect(attack.front))
            connection.sendall(f"GET {_list('label', selector)}&watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        names = range(attack.size(300, 30))
        attack.together([partial(attack.ask, "POST", ATTACKED, widget(f"seen-{name}", labels={"app": "soak"})) for name in names])
    attack.ask("DELETE", f"{KEPT}?dryRun=All&labelSelector={selectors[0]}")


INPUTS: Final = (
    absent_labels,
    label_values,
    label_requirements,
    label_syntax,
    field_terms,
    shard_ranges,
    selectors_of_clients_that_leave,
    selectors_of_watches,
)
