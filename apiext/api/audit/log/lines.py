"""The lines of most requests, which are made for many at once and at less cost than by events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.audit.event import LINE_HEADS, common_texts, json_text, recorded_reference, response_status
from apiext.api.audit.levels import AuditLevel
from apiext.base.meta.time import micro_time, second_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.api.audit.event import RequestFacts

READ_HEAD: Final = LINE_HEADS[AuditLevel.METADATA]
"""The beginning of a line at level Metadata."""
_NEVER: Final = -(1 << 62)
"""Nanoseconds since 1970 of a second that has no event: a clock that was never set begins in 1970."""
Ended = tuple[str, str, str, str, str, str, str, int, int, str, str, int]
"""A request that has ended and whose lines are not made yet: the beginning of its lines, its Audit-ID, the members from the stage to the
user, the user, those of the client, the reference to the object at the arrival and that at the end, when it arrived and when it ended, in
nanoseconds since 1970, the members of its answer and of its annotations, and how many lines there are: 2 with that of the arrival.

A tuple, and texts only: the objects of a request that are kept until its lines are made cost more than making them.
"""


def arrival_line(context: RequestFacts) -> bytes:
    """Return the line of JSON of the event of a request's arrival. What later stages have added to the context is not in it."""
    head, audit_id, target, user, reference = context.texts or common_texts(context)
    received = micro_time(context.received)
    times = f'"requestReceivedTimestamp":"{received}","stageTimestamp":"{received}"'
    return f'{head}{audit_id}","stage":"RequestReceived{target}{user}{context.client.members}{reference},{times}}}\n'.encode()


def ended(context: RequestFacts, moment: int) -> Ended:
    """Return what `last_lines` needs of a request without objects of its own and impersonation, which ended at a moment."""
    record, status = context.record, context.status
    head, audit_id, target, user, reference = context.texts or common_texts(context)
    recorded = reference if record is None else recorded_reference(context.info, record, reference)
    answer = response_status(status) if status is not None else ""
    client, received, notes = context.client.members, context.received, _notes(context)
    return head, audit_id, target, user, client, reference, recorded, received, moment, answer, notes, context.lines


def last_lines(requests: Iterable[Ended]) -> str:
    """Return the lines of the last events of requests, each after that of the arrival if this is to be made, too.

    That costs less than making them by events.
    """
    found: list[str] = []
    add = found.append
    begin, second = _NEVER, ""
    for head, audit_id, target, user, client, reference, recorded, received, moment, answer, notes, lines in requests:
        micros = (received - begin) // 1000
        if not 0 <= micros < 1_000_000:
            begin, second = second_of(received)
            micros = (received - begin) // 1000
        arrived = f"{second}{micros:06}Z"
        micros = (moment - begin) // 1000
        if not 0 <= micros < 1_000_000:
            begin, second = second_of(moment)
            micros = (moment - begin) // 1000
        if lines > 1:
            add(
                f'{head}{audit_id}","stage":"RequestReceived{target}{user}{client}{reference},'
                f'"requestReceivedTimestamp":"{arrived}","stageTimestamp":"{arrived}"}}\n'
            )
        add(
            f'{head}{audit_id}","stage":"ResponseComplete{target}{user}{client}{recorded}{answer},"requestReceivedTimestamp":"{arrived}",'
            f'"stageTimestamp":"{second}{micros:06}Z"{notes}}}\n'
        )
    return "".join(found)


def _notes(context: RequestFacts) -> str:
    """Return the annotations of the last event as a member."""
    record, annotations, decided = context.record, context.annotations, context.decided
    if record is not None and record.annotations:
        annotations = context.all_annotations()
    if not annotations:
        return ""
    return decided[1] if decided is not None and annotations is decided[0] else f',"annotations":{json_text(annotations)}'


_LINGERING: Final = 25_000_000
"""Nanoseconds for which an arrival is no line yet: most requests end sooner."""


def is_recent(moment: int, now: int) -> bool:
    """Return whether a request that arrived at a moment probably ends soon; both are in nanoseconds since 1970."""
    # a clock that was set back makes no moment recent
    return 0 <= now - moment < _LINGERING
