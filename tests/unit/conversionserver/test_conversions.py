"""The compiled rules of the cluster's CRDs."""

from apiext.conversionserver.conversions import Conversions
from tests.unit.conversionserver.parts import GROUP, NAME, Followed, Json, Renaming, conversion, crd


class _Compiler:
    """Counts compilations; generation 13 of a Conversion is invalid."""

    def __init__(self) -> None:
        self.compiled: list[tuple[str, int, int]] = []

    def __call__(self, found: Json, rules: Json) -> tuple[Renaming | None, str]:
        generations = found["metadata"]["generation"], rules["metadata"]["generation"]
        self.compiled.append((found["metadata"]["name"], *generations))
        if generations[1] == 13:
            return None, "no such field"
        return Renaming(f"was{generations[1]}"), ""


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


async def test_invalid_rules_replace_valid_ones() -> None:
    """Say why rules cannot be used, and use no earlier ones: a replica that starts now has none."""
    followed = Followed(_Compiler())
    await followed.put(crd(), conversion())
    await followed.put(conversion(13))

    found = followed.conversions.get(NAME)

    assert found is not None
    assert (found.converter, found.problem) == (None, "no such field")
    assert followed.conversions.usable() == {NAME: False}


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

    conversions = Conversions(followed.crds, followed.objects, nothing, lambda _crd, _conversion: (Renaming(), ""))
    followed.crds.changed(crd())
    followed.objects.changed(conversion())
    await conversions.sync(NAME)

    assert conversions.get(NAME) is None
    assert conversions.has_object(NAME)
