"""What an object carries ends with the object, list or item that it was in, whatever writes there are in any version."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from apiext.base.meta.encoding import json_values
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.scheduling.call_log import CallLog
from apiext.operator.conversionserver.conversions import compile_conversion
from apiext.resources.conversion.interface import ConversionError, Converted, Converter
from apiext.resources.conversion.known import Origin
from tests.support.builders.conversions import conversion, fields, items
from tests.support.builders.crds import crd, version
from tests.support.servers.in_process import Answer, InProcess

Json = dict[str, Any]
Key = tuple[str, str]
"""What holds private fields: the member of an object, and the key of an item."""

VERSIONS: Final = ("v1", "v2", "v3")
MEDIA: Final = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
NAMES: Final = {"v1": {"list": "l"}, "v2": {}, "v3": {"sub": "box"}}
"""Members of spec that have another name than in v2."""
ATOMIC: Final = {"named", "bare"}
"""Lists that have one manager as a whole: behind a webhook, nobody knows whether an item was made anew."""
RULES: Final = conversion(
    v1=[{"rename": {"path": "spec.size", "to": "capacity"}}, {"rename": {"path": "spec.l", "to": "list"}}],
    v3=[{"rename": {"path": "spec.box", "to": "sub"}}],
)
_NUMBERS: Final = count()


def _own(name: str) -> str:
    """Return the name of the fields that only one version has."""
    return f"own{name}"


def _schema(name: str) -> Json:
    own = {_own(name): "string"}
    keyed = items(fields(name="string", n="integer", **own) | {"required": ["name"]})
    associative = keyed | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    members = {
        "list": associative,
        "sub": fields(a="integer", **own),
        "named": keyed,
        "bare": items(fields(c="integer", **own)),
        ("size" if name == "v1" else "capacity"): "integer",
    }
    spec = {NAMES[name].get(member, member): schema for member, schema in members.items()}
    return fields(spec=fields(**spec, **own), status=fields(phase="string", **own))


def _crd(storage: str) -> Json:
    served = [version(name, storage=name == storage, schema=_schema(name), subresources={"status": {}}) for name in VERSIONS]
    return crd("widgets", *served)


def _holders(name: str, obj: Json) -> dict[Key, Json]:
    """Return what holds private fields in an object of a version, by the names of v2."""
    spec, found = obj.get("spec"), {}
    if "status" in obj:
        found["status", ""] = obj["status"]
    if spec is None:
        return found
    found["spec", ""] = spec
    for member in ("sub", "list", "named", "bare"):
        value = spec.get(NAMES[name].get(member, member))
        if type(value) is dict:
            found[member, ""] = value
        for item in value if type(value) is list else ():
            found[member, str(item.get("name", item.get("c")))] = item
    return found


def _private(name: str, obj: Json) -> dict[Key, str | None]:
    return {key: holder.get(_own(name)) for key, holder in _holders(name, obj).items()}


# --- writes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Write:
    """A write of a client in a version."""

    verb: str
    version: str
    content: Json | None
    """The spec, or what a patch changes of it; for status, the status."""


_TEXT = st.sampled_from(["A", "B"])
_NUMBER = st.integers(0, 2)


def _optional(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional=members)


def _items(key: str, keys: Sequence[Any], **members: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Json]]:
    item = st.fixed_dictionaries({key: st.sampled_from(keys)}, optional=members)
    return st.lists(item, max_size=3, unique_by=lambda found: found[key])


def _specs(name: str, verb: str) -> st.SearchStrategy[Json]:
    own = {_own(name): _TEXT}
    keyed = _items("name", ["n1", "n2", "n3"], n=_NUMBER, **own)
    members: dict[str, st.SearchStrategy[Any]] = {
        "list": keyed,
        "sub": _optional(a=_NUMBER, **own),
        "named": keyed,
        "bare": _items("c", [1, 2, 3], **own),
        ("size" if name == "v1" else "capacity"): _NUMBER,
    }
    named = {NAMES[name].get(member, member): found for member, found in members.items()} | own
    if verb == "merge":
        named = {member: st.one_of(st.none(), found) for member, found in named.items()}
    return _optional(**named)


def _writes(name: str, verb: str) -> st.SearchStrategy[Write]:
    if verb == "status":
        content = st.one_of(st.none(), _optional(phase=_TEXT, **{_own(name): _TEXT}))
    elif verb in ("merge", "json"):
        content = st.one_of(st.none(), _specs(name, verb))
    else:
        content = _specs(name, verb)
    return st.builds(Write, st.just(verb), st.just(name), content)


_VERBS: Final = ("put", "merge", "json", "apply", "status")
_SEQUENCES: Final = st.lists(st.one_of([_writes(name, verb) for name in VERSIONS for verb in _VERBS]), min_size=2, max_size=7)


def _place(name: str, of: str = "") -> str:
    return f"/apis/example.com/{name}/namespaces/default/widgets{of and '/'}{of}"


def _widget(name: str, of: str, **members: Any) -> Json:
    return {"apiVersion": f"example.com/{name}", "kind": "Widget", "metadata": {"name": of}, **members}


class Client:
    """Writes one object in all versions."""

    def __init__(self, server: InProcess, name: str, *, keeps_annotation: bool) -> None:
        """Create the client of an object with a name. With `keeps_annotation` it puts what it has read, with another spec."""
        self._server = server
        self._name = name
        self._keeps_annotation = keeps_annotation

    async def views(self) -> dict[str, Json]:
        """Return the object in all versions."""
        return {name: (await self._sent("GET", name)).json for name in VERSIONS}

    async def create(self, name: str, spec: Json) -> None:
        """Create the object in a version."""
        await self._sent("POST", name, _widget(name, self._name, spec=spec))
        for other in VERSIONS:
            # a webhook learns what was removed from the managers that a version still has
            await self._patch("merge", other, {"metadata": {"labels": {other: "x"}}})

    async def write(self, write: Write) -> None:
        """Make a write."""
        name, content = write.version, write.content
        match write.verb:
            case "put":
                body = (await self._sent("GET", name)).json
                if not self._keeps_annotation:
                    body["metadata"].pop("annotations", None)
                await self._sent("PUT", name, body | {"spec": content})
            case "merge":
                await self._patch("merge", name, {"spec": content})
            case "json":
                shown = (await self._sent("GET", name)).json
                change: list[Json] = [{"op": "add", "path": "/spec", "value": content}]
                if content is None:
                    change = [{"op": "remove", "path": "/spec"}] if "spec" in shown else []
                await self._patch("json", name, change)
            case "apply":
                await self._patch("apply", name, _widget(name, self._name, spec=content), query="&force=true")
            case _:
                await self._patch("merge", name, {"status": content}, "/status")

    async def _patch(self, kind: str, name: str, body: Any, subresource: str = "", query: str = "") -> None:
        await self._sent("PATCH", name, body, f"{subresource}?fieldManager=m-{kind}-{name}{query}", Content_Type=MEDIA[kind])

    async def _sent(self, method: str, name: str, body: Any = None, suffix: str = "", **headers: str) -> Answer:
        if method in ("PUT", "POST"):
            suffix = f"?fieldManager=m-{name}"
        path = _place(name, "" if method == "POST" else self._name)
        answer = await self._server.ask(method, path + suffix, body, **headers)
        assert answer.status in (200, 201), answer.body
        return answer


def _check(before: Mapping[str, Json], after: Mapping[str, Json], write: Write, atomic: set[str]) -> None:
    """Assert that a write in a version changes no private field of another one, apart from what is gone with its holder.

    Private fields in the items of `atomic` lists may come back.
    """
    for name in VERSIONS:
        if name == write.version:
            continue
        known = _private(name, before[name])
        for key, shown in _private(name, after[name]).items():
            if key[0] not in atomic or known.get(key) is not None:
                assert shown == known.get(key), f"{name} {key}"


async def _play(server: InProcess, first: str, spec: Json, writes: Sequence[Write], *, webhook: bool) -> None:
    client = Client(server, f"w{next(_NUMBERS)}", keeps_annotation=webhook)
    await client.create(first, spec)
    views = await client.views()
    for write in writes:
        await client.write(write)
        before, views = views, await client.views()
        _check(before, views, write, ATOMIC if webhook else set())
        if write.verb == "put":
            assert views[write.version].get("spec") == write.content


# --- servers ----------------------------------------------------------------------------------------------------------


class ReviewConverter(Converter):
    """Converts as `apiext convert serve` does for kube-apiserver: it sees no writes."""

    def __init__(self, definition: Json) -> None:
        made = compile_conversion(definition, RULES, in_use=False)
        assert made.converts, made.problem
        self._converter = made.converter

    async def convert(self, objects: Sequence[Object], api_version: str, log: CallLog | None = None) -> Sequence[Converted]:
        """Implement Converter.convert."""
        return [self._one(json_values.copy(obj), api_version) for obj in objects]

    def _one(self, obj: Object, api_version: str) -> Converted:
        try:
            return self._converter.convert_inline(obj, api_version)
        except ConversionError as error:
            return error


async def _started(storage: str, *, webhook: bool) -> InProcess:
    server = await InProcess().__aenter__()
    definition = _crd(storage)
    if webhook:
        converter = ReviewConverter(definition)
        server.converters.converter = lambda *_: converter  # type: ignore[method-assign]
    else:
        server.converters.known.put(Origin.FILE, RULES)
    await server.define(definition)
    return server


@pytest.mark.parametrize("storage", VERSIONS)
@pytest.mark.parametrize("webhook", [False, True], ids=["rules", "webhook"])
def test_carried_fields_end_with_what_holds_them(storage: str, webhook: bool) -> None:  # noqa: FBT001
    """Show a field that only one version has as long as what holds it is there without a break, and not any longer."""
    with asyncio.Runner() as runner:
        server = runner.run(_started(storage, webhook=webhook))

        @settings(max_examples=25, phases=[Phase.generate])
        @given(st.sampled_from(VERSIONS).flatmap(lambda name: st.tuples(st.just(name), _specs(name, "put"))), _SEQUENCES)
        def play(first: tuple[str, Json], writes: list[Write]) -> None:
            runner.run(_play(server, *first, writes, webhook=webhook))

        try:
            play()
        finally:
            runner.run(server.__aexit__())
