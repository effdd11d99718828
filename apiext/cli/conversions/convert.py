"""The group `apiext convert`."""

from __future__ import annotations

import click

from apiext.cli.conversions.check import check
from apiext.cli.conversions.definition import definition
from apiext.cli.conversions.init import init
from apiext.cli.conversions.serve import serve
from apiext.cli.conversions.test import test
from apiext.cli.sections import SectionedGroup


@click.group(cls=SectionedGroup, short_help="Convert between versions by rules, without a webhook.")
def convert() -> None:
    """Convert custom resources between versions by rules, without a webhook of your own.

    The rules are in objects of kind Conversion (conversions.apiext.dev), named after their CRDs. An author begins with `init CRD`, runs
    `check` after each change, and proves with `test` that nothing is lost. apiext converts by them itself, `serve` does it for any cluster.
    """


convert.add_command(init)
convert.add_command(check)
convert.add_command(test)
convert.add_command(definition)
convert.add_command(serve)
