"""A plan as Markdown."""

from typing import Final

import pytest

from apiext.tools.plan import markdown
from apiext.tools.plan.markdown import MAX_CHARACTERS, markdown_of
from tests.support.builders.plans import ListedObjects, created, custom, plan_of, release, shaped

OLD: Final = created(shaped("v1", "a", served=False), shaped("v2", "a", storage=True), stored=["v1", "v2"])
HEAD: Final = """\
### ⚠️ SAFE IN THIS ORDER: 1 CRD. 1 object as it is.

new replaces old, objects of a list

- ⚠️ **`widgets.example.com`**: safe in this order; 1 error, 1 note; 1 object as it is; rollback possible \
\\[1 in v2; storedVersions v1, v2 -\\> v2\\]

**Do, in this order,** for widgets.example.com

1. Store all objects in v2: the new definition does not have v1, so no object may be stored in it
2. Remove v1 from status.storedVersions: kube-apiserver accepts a definition without v1 only then
3. Apply the new definition of widgets.example.com

<details><summary>widgets.example.com: everything</summary>

<details><summary>Steps with commands (FILE: a manifest of apiext plan --steps-dir)</summary>
"""


def test_begins_with_the_verdict() -> None:
    """Show the verdict, a line for each definition, and what to do; fold details."""
    text = markdown_of(plan_of(OLD, created(shaped("v2", "a", storage=True)), ListedObjects(custom("w", "v2", a="x"))))

    assert text.startswith(HEAD)
    assert "<details><summary>Versions: 1 in v2; storedVersions v1, v2 -&gt; v2</summary>" in text
    assert text.count("<details>") == text.count("</details>") == 4


def test_unchanged_definitions_are_counted() -> None:
    """Show no table without changes."""
    text = markdown_of(plan_of(OLD, OLD))

    assert "|" not in text
    assert "- 1 definition unchanged\n" in text


def test_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut tables, lists and the whole text."""
    fields = [f"f{number}" for number in range(200)]
    plan = plan_of(created(shaped("v1", *fields, storage=True)), created(shaped("v1", storage=True)))
    text = markdown_of(plan)
    monkeypatch.setattr(markdown, "MAX_CHARACTERS", 900)

    assert len(text) < MAX_CHARACTERS
    assert "  - ... and 192 more\n" in text
    assert "*... and 150 more*" in text
    assert len(markdown_of(plan)) <= 900
    assert markdown_of(plan).endswith("or `apiext plan -v`.*\n")
    assert "<details>" not in markdown_of(plan)


def test_fits_a_comment() -> None:
    """Show all definitions, and as many details as GitHub takes, of a release with hundreds of changes."""
    names = [f"things{number:03}" for number in range(40)]
    fields = [f"{'long' * 20}{number}" for number in range(60)]
    old, new = (
        release(*(created(shaped("v1", *kept, storage=True), plural=name, kind=name.title()) for name in names), origin=origin)
        for kept, origin in ((fields, "old"), ((), "new"))
    )
    text = markdown_of(plan_of(old, new))

    assert len(text) <= MAX_CHARACTERS < 65_536
    assert [name for name in names if f"**`{name}.example.com`**" not in text] == []
    assert text.count("<details>") == text.count("</details>") > 0
    assert text.endswith("or `apiext plan -v`.*\n")


def test_special_characters_are_shown() -> None:
    """Escape what Markdown and HTML would interpret."""
    plan = plan_of(
        created(shaped("v1", "a", "b", storage=True)), created(shaped("v1", "a", storage=True)), ListedObjects(custom("<b>|*", b="x"))
    )

    assert r"default/\<b\>\|\*" in markdown_of(plan)
