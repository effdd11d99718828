"""A replay as a JSON document. `replay.schema.json` describes it."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_codec
from apiext.tools.reports.members import members_of

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.replay.outcome import DefinitionReplay, ReleaseChange, ReplayReport, StepReplay

API_VERSION: Final = "lab.apiext.dev/v1alpha1"
"""A member may be added without a new version; none is removed or changed."""
KIND: Final = "Replay"


def document_of(report: ReplayReport) -> Object:
    """Return a replay as a JSON document."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "recording": report.recording,
        "objects": report.objects,
        "lost": report.is_lost,
        "notProved": list(report.not_proved),
        "transitions": list(map(_transition, report.transitions)),
    }


def schema() -> Object:
    """Return the JSON Schema of the document."""
    found: Object = json_codec.loads(files("apiext.tools.replay").joinpath("replay.schema.json").read_bytes())
    return found


def _transition(transition: ReleaseChange) -> Object:
    return {
        "from": transition.old,
        "to": transition.new,
        "wayBack": transition.is_way_back,
        "definitions": list(map(_definition, transition.definitions)),
    }


def _definition(part: DefinitionReplay) -> Object:
    return members_of(part, without="steps problems not_proved") | {
        "steps": list(map(_step, part.steps)),
        "problems": [members_of(problem) | {"harm": problem.is_harm} for problem in part.problems],
        "notProved": part.not_proved,
    }


def _step(taken: StepReplay) -> Object:
    step = taken.step
    return {
        "kind": step.kind,
        "need": step.need,
        "title": step.title,
        "seconds": round(taken.seconds, 3),
        "problem": taken.problem or None,
    }
