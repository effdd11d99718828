"""A chain of admission plug-ins (apiserver pkg/admission/chain.go, reinvocation.go, and metrics of metrics/metrics.go)."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.api.admission.attributes import Admission, Attributes
from apiext.api.admission.metrics import ADMIT, VALIDATE, AdmissionStats, StepSeries
from apiext.api.admission.sources import AdmissionPhase
from apiext.base.meta.request import AdmissionOperation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from apiext.api.admission.dynamic import DynamicAdmission
    from apiext.api.admission.sources import RequestPlace

_Call = tuple["Callable[[Attributes], Awaitable[None]]", "StepSeries"]


class _Phase(NamedTuple):
    """The plug-ins of a phase that handle an operation."""

    calls: Sequence[_Call]
    """All of them in their order."""
    others: Sequence[_Call]
    """Those that need no configuration."""
    configured: Sequence[StepSeries]
    """The series of those of webhooks and policies."""
    step: StepSeries
    """The series of the whole phase."""


class Chain(Admission):
    """Calls the plug-ins in order until one rejects the write."""

    def __init__(
        self,
        plugins: Sequence[Admission],
        dynamic: DynamicAdmission | None = None,
        stats: AdmissionStats | None = None,
        *,
        is_whole: bool = True,
    ) -> None:
        """Create the chain; the plug-ins of `dynamic` are among `plugins`.

        Count the calls in `stats`, those of the steps only if the chain `is_whole`.
        """
        self.plugins = plugins
        self._dynamic = dynamic
        self._stats = stats or AdmissionStats()
        self._steps = self._stats if is_whole else AdmissionStats()
        self._handled = frozenset(operation for operation in AdmissionOperation if any(plugin.handles(operation) for plugin in plugins))
        self._phases = {
            (phase, operation): self._phase(phase, operation) for phase in (ADMIT, VALIDATE) for operation in AdmissionOperation
        }

    def _phase(self, phase: str, operation: AdmissionOperation) -> _Phase:
        plugins = [plugin for plugin in self.plugins if plugin.handles(operation) and _takes_part(plugin, phase)]
        calls = [(getattr(plugin, phase), self._series(plugin.name, phase, operation)) for plugin in plugins]
        configured = self._dynamic.plugins if self._dynamic is not None else ()
        return _Phase(
            calls,
            [call for plugin, call in zip(plugins, calls, strict=True) if plugin not in configured],
            [series for plugin, (_, series) in zip(plugins, calls, strict=True) if plugin in configured],
            self._steps.step(phase, operation),
        )

    def _series(self, name: str, phase: str, operation: AdmissionOperation) -> StepSeries:
        # checks that upstream's registries make have no name
        return self._stats.controller(name, phase, operation) if name else StepSeries()

    @property
    def dynamic(self) -> DynamicAdmission | None:
        """Return the plug-ins of webhooks and policies."""
        return self._dynamic

    def in_server(self) -> Chain:
        """Implement Admission.in_server."""
        dynamic = self._dynamic.plugins if self._dynamic is not None else ()
        return Chain([plugin for plugin in self.plugins if plugin not in dynamic], stats=self._stats, is_whole=False)

    def handles(self, operation: AdmissionOperation) -> bool:
        """Return whether any plugin applies to an operation."""
        return operation in self._handled

    def sees(self, phase: str, place: RequestPlace) -> bool:
        """Implement Admission.sees."""
        one = self._phases[phase, place.operation]
        return bool(one.others) or (bool(one.configured) and self._may_apply(phase, place))

    def admits_unseen(self, phase: str, place: RequestPlace) -> bool:
        """Implement Admission.admits_unseen."""
        if self.sees(phase, place):
            return False
        one = self._phases[phase, place.operation]
        for series in one.configured:
            series.accept(0.0)
        one.step.accept(0.0)
        return True

    def _may_apply(self, phase: str, place: RequestPlace) -> bool:
        return self._dynamic is not None and _CONFIGURED[phase] in self._dynamic.phases(place)

    def _calls(self, phase: str, attributes: Attributes) -> tuple[Sequence[_Call], StepSeries]:
        """Return the plug-ins that a write needs, and the series of the phase. The others admit the write."""
        one = self._phases[phase, attributes.operation]
        if not one.configured or self._may_apply(phase, attributes.place):
            return one.calls, one.step
        for series in one.configured:
            series.accept(0.0)
        return one.others, one.step

    async def admit(self, attributes: Attributes) -> None:
        """Mutate the object of a write.

        All plug-ins run a second time if one of them asks for it (apiserver pkg/admission/reinvocation.go).

        Raises:
            StatusError: a plug-in rejects the write; the first one decides.
        """
        calls, step = self._calls(ADMIT, attributes)
        begun = perf_counter()
        try:
            await _call_all(calls, attributes)
            if attributes.reinvocation.is_required:
                attributes.reinvocation.runs_again = True
                await _call_all(calls, attributes)
        except BaseException:
            step.reject(perf_counter() - begun)
            raise
        step.accept(perf_counter() - begun)

    async def validate(self, attributes: Attributes) -> None:
        """Validate a write.

        Raises:
            StatusError: a plug-in rejects the write; the first one decides.
        """
        calls, step = self._calls(VALIDATE, attributes)
        begun = perf_counter()
        try:
            await _call_all(calls, attributes)
        except BaseException:
            step.reject(perf_counter() - begun)
            raise
        step.accept(perf_counter() - begun)


async def _call_all(calls: Sequence[_Call], attributes: Attributes) -> None:
    begun = perf_counter()
    for call, series in calls:
        try:
            await call(attributes)
        except BaseException:
            series.reject(perf_counter() - begun)
            raise
        now = perf_counter()
        series.accept(now - begun)
        begun = now


def _takes_part(plugin: Admission, phase: str) -> bool:
    """Return whether a plug-in has its own method for a phase."""
    return getattr(type(plugin), phase) is not _INHERITED[phase]


_CONFIGURED: Final = {ADMIT: AdmissionPhase.MUTATING, VALIDATE: AdmissionPhase.VALIDATING}
_INHERITED: Final = {ADMIT: Admission.admit, VALIDATE: Admission.validate}
