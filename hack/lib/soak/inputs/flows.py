"""Many requests of one user, and requests of more users and groups than a server should cache."""

from functools import partial
from typing import Final

from hack.lib.soak.attack import Attack
from hack.lib.soak.collection import ALL, GROUP, KEPT

_GROUP: Final = "X-Remote-Group"
_MANY_GROUPS: Final = 900
"""Groups that one head can carry."""
_LONG: Final = 7_000
"""Bytes that a header can carry."""


def _as_user(attack: Attack, name: str, *groups: str, path: str = KEPT) -> None:
    """Send a GET to apiext as a user, over a front proxy's connection."""
    lines = "".join(f"{_GROUP}: {group}\r\n" for group in groups)
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Remote-User: {name}\r\n{lines}\r\n"
    attack.send(head.encode(), attack.proxy)


def floods_of_one_user(attack: Attack) -> None:
    """List and watch on many connections as one ordinary user, with more requests than its priority level has seats and queues."""
    paths = (
        KEPT,
        f"{ALL}?resourceVersion=0",
        f"{ALL}?labelSelector=number!=1",
        f"{KEPT}?watch=true&timeoutSeconds=1",
    )
    calls = [partial(_as_user, attack, "flood", path=path) for _ in range(attack.size(200, 10)) for path in paths]
    attack.together(calls, attack.size(100, 10))


def floods_of_impersonated_users(attack: Attack) -> None:
    """List on many connections as many users, whom an administrator impersonates."""
    calls = [
        partial(attack.ask, "GET", KEPT, headers={"Impersonate-User": f"user-{number % 50}"}, access=attack.direct)
        for number in range(attack.size(400, 40))
    ]
    attack.together(calls, attack.size(100, 10))


def many_flows(attack: Attack) -> None:
    """Send each request as another user, to another namespace or path: each is a new flow and a new classification."""
    for number in range(attack.size(500, 20)):
        _as_user(attack, f"flow-{number}", path=f"/apis/{GROUP}/v1/namespaces/n{number}/widgets")
        _as_user(attack, "flow", path=f"/none/{number}")


def odd_flows(attack: Attack) -> None:
    """Send requests of users with long, many, repeated, empty or system names and groups."""
    for name in attack.some(
        ("*", "", "u" * _LONG, "\u00fc\U0001f600", "system:serviceaccount:", "system:serviceaccount:a:b:c", "system:admin")
    ):
        _as_user(attack, name)
        _as_user(attack, name, "*", "", "system:masters ", "system:authenticated", "system:unauthenticated", "g" * _LONG)
    for number in range(attack.size(30, 3)):
        _as_user(attack, "u", *(f"{number}-{group}" for group in range(_MANY_GROUPS)))
        _as_user(attack, "u", *["g"] * _MANY_GROUPS)


INPUTS: Final = (floods_of_one_user, floods_of_impersonated_users, many_flows, odd_flows)
