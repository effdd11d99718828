"""Impersonation."""

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import cast

import pytest
from aiohttp import web
from multidict import CIMultiDict

from apiext.api.authorization.authorizer import ALLOWED, NO_OPINION, ReviewError, Verdict
from apiext.api.endpoints.request import USER
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.filters.impersonation import ImpersonationFilter, wanted_user
from apiext.base.meta.request import RequestInfo, UserInfo
from tests.unit.api.filters.conftest import Exchange, Make

BOB = UserInfo("bob", ("system:authenticated",))
LEGACY = ("impersonate users alice", "impersonate groups dev", "impersonate uids 7", "impersonate userextras/scopes view")


class Rules:
    """Allows the listed verbs, resources and names, and records the checks."""

    def __init__(self, *allowed: str) -> None:
        self._allowed = allowed
        self.asked: list[str] = []

    async def decide(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the verdict."""
        resource = f"{info.resource}/{info.subresource}".rstrip("/")
        self.asked.append(f"{info.verb} {resource} {info.name}".strip())
        return ALLOWED if self.asked[-1] in self._allowed or "*" in self._allowed else NO_OPINION


async def _who(request: web.BaseRequest) -> web.StreamResponse:
    user = request[USER]
    extra = {key: list(texts) for key, texts in user.extra.items()}
    return Reply(json.dumps([user.name, list(user.groups), user.uid, extra]).encode())


async def _impersonate(exchange: Make, rules: Rules, *headers: tuple[str, str], user: UserInfo = BOB) -> Exchange:
    fields: Mapping[str, str] = CIMultiDict(headers)
    made = exchange("/apis/example.com/v1/namespaces/default/widgets/a", headers=fields, user=user)
    return await made.through(ImpersonationFilter(_who, authorize=rules.decide))


async def test_does_not_check_without_headers(exchange: Make) -> None:
    """Check nothing without impersonation headers."""
    rules = Rules()

    done = await _impersonate(exchange, rules, ("If-Match", "x"), ("Impersonate-User", ""))

    assert (json.loads(done.body)[0], rules.asked) == ("bob", [])


async def test_checks_every_fact(exchange: Make) -> None:
    """Check name, UID, each group and each extra value."""
    headers = ("Impersonate-User", "alice"), ("Impersonate-Uid", "7"), ("Impersonate-Group", "dev"), ("Impersonate-Extra-Scopes", "view")

    done = await _impersonate(exchange, Rules(*LEGACY), *headers)
    refused = [await _impersonate(exchange, Rules(*(rule for rule in LEGACY if rule != missing)), *headers) for missing in LEGACY]

    assert json.loads(done.body) == ["alice", ["dev", "system:authenticated"], "7", {"scopes": ["view"]}]
    assert [each.status for each in refused] == [403] * 4


@pytest.mark.parametrize(
    "name,groups",
    [
        ("alice", ["system:authenticated"]),
        ("system:anonymous", ["system:unauthenticated"]),
        ("system:serviceaccount:ns:x", ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]),
        ("system:serviceaccount:x", ["system:authenticated"]),
        ("system:node:n1", ["system:nodes", "system:authenticated"]),
        ("system:node:N_", ["system:authenticated"]),
    ],
)
async def test_adds_implied_groups(exchange: Make, name: str, groups: Sequence[str]) -> None:
    """Add the groups that a name implies."""
    done = await _impersonate(exchange, Rules("*"), ("Impersonate-User", name))

    assert json.loads(done.body)[:2] == [name, groups]


@pytest.mark.parametrize(
    "allowed,name",
    [
        (("impersonate-on:user-info:get widgets a", "impersonate:user-info users alice"), "alice"),
        (
            ("impersonate-on:serviceaccount:get widgets a", "impersonate:serviceaccount serviceaccounts x"),
            "system:serviceaccount:ns:x",
        ),
        (("impersonate-on:arbitrary-node:get widgets a", "impersonate:arbitrary-node nodes n1"), "system:node:n1"),
    ],
)
async def test_constrained_modes(exchange: Make, allowed: Sequence[str], name: str) -> None:
    """Allow impersonation for single requests in constrained modes."""
    done = await _impersonate(exchange, Rules(*allowed), ("Impersonate-User", name))
    refused = await _impersonate(exchange, Rules(allowed[1]), ("Impersonate-User", name))

    assert (json.loads(done.body)[0], refused.status) == (name, 403)
    assert f"cannot {allowed[0].split()[0]} resource" in json.loads(refused.body)["message"]


async def test_allows_the_node_of_a_service_account(exchange: Make) -> None:
    """Allow a service account to impersonate its own node, whatever the node's name is."""
    agent = UserInfo("system:serviceaccount:ns:agent", extra={"authentication.kubernetes.io/node-name": ("n1",)})
    rules = Rules("impersonate-on:associated-node:get widgets a", "impersonate:associated-node nodes *")

    own = await _impersonate(exchange, rules, ("Impersonate-User", "system:node:n1"), user=agent)
    other = await _impersonate(exchange, rules, ("Impersonate-User", "system:node:n2"), user=agent)

    assert (own.status, other.status) == (200, 403)


@pytest.mark.parametrize(
    "headers,why",
    [
        ([("Impersonate-Group", "system:masters")], "impersonating the system:masters group is not allowed"),
        ([("Impersonate-Group", "")], "impersonating the empty string group is not allowed"),
        ([("Impersonate-Extra-Scopes", "a")], "must be a domain-prefixed path"),
        ([("Impersonate-Extra-a.b%2Fc", "")], "impersonating the empty string value in extra is not allowed"),
        ([("Impersonate-Extra-a_b%2F<", "x")], "Invalid path"),
        ([("Impersonate-Extra-", "x")], "impersonating the empty string key in extra is not allowed"),
    ],
)
async def test_refuses_users_outside_of_constrained_modes(exchange: Make, headers: list[tuple[str, str]], why: str) -> None:
    """Refuse users that constrained modes exclude, with the reason."""
    rules = Rules("impersonate-on:user-info:get widgets a", "impersonate:user-info users alice")

    done = await _impersonate(exchange, rules, ("Impersonate-User", "alice"), *headers)

    assert done.status == 403
    assert why in json.loads(done.body)["message"]


async def test_checks_many_values_at_once(exchange: Make) -> None:
    """Check four or more groups or values together first."""
    rules = Rules(
        *("impersonate-on:user-info:get widgets a", "impersonate:user-info users alice"),
        *("impersonate:user-info groups *", "impersonate:user-info userextras/* *"),
    )
    groups = [("Impersonate-Group", f"g{number}") for number in range(4)]
    extra = [("Impersonate-Extra-a.b%2Fc", f"v{number}") for number in range(4)]

    done = await _impersonate(exchange, rules, ("Impersonate-User", "alice"), *groups, *extra)

    assert (done.status, len(rules.asked)) == (200, 4)


async def test_tries_the_last_mode_first(exchange: Make) -> None:
    """Try the mode that allowed the user before, and report its refusal."""
    rules = Rules("impersonate users alice")
    chain = ImpersonationFilter(_who, authorize=rules.decide)

    for _ in range(2):
        await exchange(headers={"Impersonate-User": "alice"}, user=BOB).through(chain)
    refused = await exchange(headers={"Impersonate-User": "eve"}, user=BOB).through(chain)

    assert rules.asked[1:3] == ["impersonate users alice"] * 2
    assert json.loads(refused.body)["details"] == {"name": "eve", "kind": "users"}


async def test_rejects_facts_without_a_user(exchange: Make) -> None:
    """Return 400 with the parsed headers for groups without a user name."""
    done = await _impersonate(exchange, Rules("*"), ("Impersonate-Group", 'a"'), ("Impersonate-Extra-X%2fy", "1"), ("Impersonate-Uid", "u"))

    assert done.status == 400
    assert json.loads(done.body)["message"] == (
        'requested &user.DefaultInfo{Name:"", UID:"u", Groups:[]string{"a\\""}, Extra:map[string][]string{"x/y":[]string{"1"}}}'
        " without impersonating a user name"
    )


async def test_refuses_after_a_failed_check(exchange: Make) -> None:
    """Refuse impersonation if the authorizer fails."""

    async def fails(_user: UserInfo, _info: RequestInfo) -> Verdict:
        raise ReviewError("no route")

    made = exchange(headers={"Impersonate-User": "alice"}, user=BOB)
    done = await made.through(ImpersonationFilter(_who, authorize=fails))

    assert (done.status, json.loads(done.body)["message"].endswith(": no route")) == (403, True)


async def test_disables_constrained_modes(exchange: Make) -> None:
    """Check a name once if constrained modes are disabled."""
    rules = Rules("impersonate users alice")
    made = exchange(headers={"Impersonate-User": "alice"}, user=BOB)

    done = await made.through(ImpersonationFilter(_who, authorize=rules.decide, constrained=False))

    assert (done.status, rules.asked) == (200, ["impersonate users alice"])


async def test_keeps_malformed_escapes(exchange: Make) -> None:
    """Keep a key with a malformed escape unchanged, and unescape the others."""
    headers = ("Impersonate-Extra-A%zZ%41", "x"), ("Impersonate-Extra-B%2fC", "y"), ("Impersonate-Extra-%", "z")

    done = await _impersonate(exchange, Rules("*"), ("Impersonate-User", "alice"), *headers)

    assert json.loads(done.body)[3] == {"a%zz%41": ["x"], "b/c": ["y"], "%": ["z"]}


def test_replaces_invalid_utf8_in_names() -> None:
    """Check and use the same name, with replacements for bytes that are not UTF-8."""
    names = "Impersonate-User", "Impersonate-Uid", "Impersonate-Group", "Impersonate-Extra-A"
    request = SimpleNamespace(headers=CIMultiDict((name, "a\udcff\u00e4") for name in names))

    wanted = wanted_user(cast("web.BaseRequest", request))

    assert wanted == UserInfo("a\ufffd\u00e4", ("a\ufffd\u00e4",), uid="a\ufffd\u00e4", extra={"a": ("a\ufffd\u00e4",)})
