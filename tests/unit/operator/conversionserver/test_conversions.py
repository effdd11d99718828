"""The compiled rules of the cluster's CRDs."""

from apiext.operator.conversionserver.conversions import Conversions, MadeConverter
from tests.unit.operator.conversionserver.parts import GROUP, NAME, Followed, Json, Renaming, conversion, crd


class _Compiler:
    """Counts compilations; generation 13 of a CRD or a Conversion does not fit the other."""

    def __init__(self) -> None:
        self.compiled: list[tuple[str, int, int]] = []

    def __call__(self, crd: Json, conversion: Json, *, in_use: bool) -> MadeConverter:
        generations = crd["metadata"]["generation"], conversion["metadata"]["generation"]
        self.compiled.append((crd["metadata"]["name"], *generations))
        problem = "no such field" if 13 in generations else ""
        return MadeConverter(Renaming(f"was{generations[1]}"), problem, converts=in_use or not problem)


async def test_compiles_what_changes() -> None:
    """Compile for a CRD and its Conversion object, again when either changes, and not otherwise."""
    compiler = _Compiler()
    followed = Followed(compiler)

    await followed.put(conversion())
    await followed.put(crd())
    await followed.put(crd(), conversion())
    await followed.put(crd("webhook"))
    await followed.put(crd(generation=2))
    await followed.put(conversion(2))

    assert compiler.compiled == [(NAME, 1, 1), (NAME, 2, 1), (NAME, 2, 2)]


async def test_finds_rules_by_kind() -> None:
    """Find the rules of a group and kind until the CRD or its Conversion object is deleted."""
    followed = Followed()
    await followed.put(crd(), conversion(), crd(name="gadgets.example.org"), conversion(name="gadgets.example.org"))
    conversions = followed.conversions

    def found(group: str, kind: str) -> str:
        compiled = conversions.find(group, kind)
        return compiled.name if compiled else ""

    assert [found(GROUP, "Widget"), found("example.org", "Gadget"), found(GROUP, "Gadget")] == [NAME, "gadgets.example.org", ""]

    followed.objects.deleted(conversion())
    followed.crds.deleted(crd(name="gadgets.example.org"))
    await followed.sync()

    assert [found(GROUP, "Widget"), found("example.org", "Gadget")] == ["", ""]


async def test_follows_an_accepted_kind() -> None:
    """Find the rules by the kind that the status of the CRD accepts, also when it changes later, without another compilation."""
    compiler = _Compiler()
    followed = Followed(compiler)
    refused = {**crd(name=f"gizmos.{GROUP}"), "status": {"acceptedNames": {"kind": ""}}}
    await followed.put(crd(), conversion(), refused, conversion(name=f"gizmos.{GROUP}"))
    before = followed.conversions.find(GROUP, "Gizmo")
    await followed.put({**crd(), "status": {"acceptedNames": {"kind": "Gizmo"}}})

    assert before is None
    assert (followed.conversions.find(GROUP, "Gizmo"), followed.conversions.find(GROUP, "Widget")) == (followed.conversions.get(NAME), None)
    assert len(compiler.compiled) == 2


async def test_invalid_rules_replace_valid_ones() -> None:
    """Say why rules do not convert, and use no earlier ones: a replica that starts now has none."""
    followed = Followed(_Compiler())
    await followed.put(crd(), conversion())
    await followed.put(conversion(13))

    assert _state(followed) == (False, "no such field")
    assert followed.conversions.usable() == {NAME: False}


def _state(followed: Followed) -> tuple[bool, str]:
    found = followed.conversions.get(NAME)
    assert found is not None
    return found.converts, found.problem


async def test_rules_in_use_go_on() -> None:
    """Convert by the same rules when the CRD changes under them, and not by other ones that do not fit it."""
    followed = Followed(_Compiler())
    await followed.put(crd(), conversion())
    await followed.put(crd(generation=13))
    same = _state(followed)
    await followed.put(conversion(2))

    assert same == (True, "no such field")
    assert _state(followed) == (False, "no such field")


async def test_rules_that_were_in_use_before_the_start_go_on() -> None:
    """Convert by rules that are in use by their status, also if the status comes later, and not by those of another generation."""
    followed = Followed(_Compiler())
    await followed.put(crd(generation=13), conversion())
    states = [_state(followed)[0]]
    other, same = (
        conversion() | {"status": {"conditions": [{"type": "InUse", "status": "True", "observedGeneration": number}]}} for number in (2, 1)
    )
    for found in (other, same):
        await followed.put(found)
        states.append(_state(followed)[0])
    starting = Followed(_Compiler())
    starting.objects.changed(same)

    assert states == [False, False, True]
    assert [starting.conversions.converts(NAME), followed.conversions.converts(NAME), followed.conversions.converts("x")] == [
        True,
        True,
        False,
    ]


async def test_readiness_waits_for_the_first_compilation_only() -> None:
    """Miss rules until all that were listed are compiled; a later CRD makes no replica unready."""
    followed = Followed()
    followed.full[NAME] = crd()
    followed.crds.replaced([crd()])
    followed.objects.replaced([conversion(), conversion(name="lonely.example.com")])

    assert followed.conversions.missing() == [NAME]
    await followed.sync()
    assert followed.conversions.missing() == []
    followed.crds.changed(crd(name="lonely.example.com"))
    assert followed.conversions.missing() == []


async def test_a_crd_that_vanished_has_no_rules() -> None:
    """Keep what is known until the deletion is seen, when a CRD is gone between the event and its reading."""
    followed = Followed()

    async def nothing(_name: str) -> None:
        return None

    conversions = Conversions(followed.crds, followed.objects, nothing, lambda _crd, _conversion, **_: MadeConverter(Renaming()))
    followed.crds.changed(crd())
    followed.objects.changed(conversion())
    await conversions.sync(NAME)

    assert conversions.get(NAME) is None
    assert conversions.has_object(NAME)
