"""`apiext convert definition`."""

from __future__ import annotations

import click


@click.command()
def definition() -> None:
    """Print the CRD of Conversion objects, for kubectl apply."""
    import yaml

    from apiext.resources.conversion.rules.definition import conversion_definition

    class _Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    click.echo(yaml.dump(conversion_definition(), Dumper=_Dumper, sort_keys=False, width=140), nl=False)
