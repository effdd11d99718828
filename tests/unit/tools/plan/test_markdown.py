"""A plan as Markdown."""

from typing import Final

import pytest

from apiext.tools.plan import markdown
from apiext.tools.plan.markdown import MAX_CHARACTERS, markdown_of
from tests.support.builders.plans import ListedObjects, created, custom, plan_of, shaped

OLD: Final = created(shaped("v1", "a", served=False), shaped("v2", "a", storage=True), stored=["v1", "v2"])
HEAD: Final = """\
### ⚠️ apiext plan: safe in this order

new replaces old, objects of a list

| definition | verdict | changes | objects | rollback |
| --- | --- | --- | --- | --- |
| `widgets.example.com` | ⚠️ safe in this order | 1 error, 1 note | 1 object, 1 unchanged | safe |

#### `widgets.example.com`

**Do, in this order** (FILE: a manifest of `apiext plan --steps-dir`)

1. Store all objects in v2: v1 goes away
   ```sh
   kubectl get widgets.v2.example.com -A -o json | kubectl replace -f -
   ```
"""


def test_begins_with_the_verdict() -> None:
    """Show the verdict, a table of definitions, and what to do; fold details."""
    text = markdown_of(plan_of(OLD, created(shaped("v2", "a", storage=True)), ListedObjects(custom("w", "v2", a="x"))))

    assert text.startswith(HEAD)
    assert "<details><summary>Versions: 1 in v2; storedVersions v1, v2 -&gt; v2</summary>" in text
    assert text.count("<details>") == text.count("</details>") == 2


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
    assert "*... and 150 more*" in text
    assert len(markdown_of(plan)) <= 900
    assert markdown_of(plan).endswith("see the output of the job.*\n")


def test_special_characters_are_shown() -> None:
    """Escape what Markdown and HTML would interpret."""
    plan = plan_of(
        created(shaped("v1", "a", "b", storage=True)), created(shaped("v1", "a", storage=True)), ListedObjects(custom("<b>|*", b="x"))
    )

    assert r"default/\<b\>\|\*" in markdown_of(plan)
