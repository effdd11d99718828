"""The plugins of a configuration, and their probes (apiserver pkg/server/options/encryptionconfig/config.go).

Plugin: apiserver pkg/storage/value/encrypt/envelope/kmsv2/envelope.go.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from google.protobuf.message import DecodeError

from apiext.base.meta import field, names
from apiext.base.meta.log import get_logger
from apiext.base.random_uuid import random_uuid
from apiext.base.scheduling.tasks import end_tasks, shared_task
from apiext.storage.value.aes import KEY_SIZES, TOO_SHORT, GCMTransformer
from apiext.storage.value.kms.messages import EncryptedObject
from apiext.storage.value.kms.service import KMSService, KMSStats, hash_of
from apiext.storage.value.transformer import FROM_STORAGE, TO_STORAGE, MissingKeyError, Transformer, TransformError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from apiext.storage.value.configuration import KMSProvider

_HEALTHY_SECONDS: Final = 20.0
UNHEALTHY_SECONDS: Final = 3.0
"""How long the result of a probe is used."""
_PROBE_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 10.0
"""Intervals of probes, after a success and after a failure."""

_LOG: Final = get_logger(__name__)


_WRITES_SECONDS: Final = 180.0
"""How long a seed encrypts after the plugin last confirmed its key."""
_CACHE_SECONDS: Final = 24 * 3600.0
"""How long a decrypted seed is kept after it was made."""
_FAILURE_SECONDS: Final = 1.0
"""How long the plugin is not asked again for a seed that it did not decrypt: a list has many values with the same one."""
_VERSIONS: Final = ("v2", "v2beta1")
_EMPTY: Final = "got unexpected nil transformer"

SEED_SIZE: Final = 32
"""Least number of bytes of a seed."""
_INFO: Final = 32


AES_GCM_KEY: Final = 0
HKDF_SEED: Final = 1
"""Types of the encrypted source of a data key: the key itself, or a seed of keys."""
_MOST_ANNOTATIONS: Final = 32 * 1024
_MOST_KEY_ID: Final = 1024
_MOST_SOURCE: Final = 1024

CacheKey = tuple[int, bytes, str, tuple[tuple[str, bytes], ...]]
"""What identifies a data key or seed: type, encrypted source, key id, and sorted annotations."""


def decode(data: bytes) -> Any:
    """Return the message in a value.

    Raises:
        TransformError: it is malformed or invalid.
    """
    try:
        found = EncryptedObject.FromString(data)
    except DecodeError as error:
        raise TransformError("proto: cannot parse invalid wire-format data") from error
    check(found)
    return found


def check(message: Any) -> None:
    """Check a message, apart from its data if that is empty.

    Raises:
        TransformError: a field is invalid, with the reference's words.
    """
    if message.dek_source_type not in (AES_GCM_KEY, HKDF_SEED):
        raise TransformError(f"unknown encryptedDEKSourceType: {message.dek_source_type}")
    if not message.data:
        raise TransformError("encrypted data is empty")
    size = len(message.dek_source)
    if not size:
        raise TransformError("failed to validate encrypted DEK source: encrypted DEK source is empty")
    if size > _MOST_SOURCE:
        why = f"encrypted DEK source is {size} bytes, which exceeds the max size of {_MOST_SOURCE}"
        raise TransformError(f"failed to validate encrypted DEK source: {why}")
    if problem := key_id_problem(message.key_id)[1]:
        raise TransformError(f"failed to validate key id: {problem}")
    if problems := list(_annotation_problems(message.annotations)):
        raise TransformError(f"failed to validate annotations: {field.aggregate(problems)}")


def key_id_problem(key_id: str) -> tuple[str, str]:
    """Return the code and the message of a key id's error, ("ok", "") for a valid one."""
    size = len(key_id.encode())
    if not size:
        return "empty", "keyID is empty"
    if size > _MOST_KEY_ID:
        return "too_long", f"keyID is {size} bytes, which exceeds the max size of {_MOST_KEY_ID}"
    return "ok", ""


def cache_key(message: Any) -> CacheKey:
    """Return what identifies the key or seed of a value."""
    annotations = message.annotations
    return message.dek_source_type, message.dek_source, message.key_id, tuple(sorted(annotations.items())) if annotations else ()


def _annotation_problems(annotations: Mapping[str, bytes]) -> Iterator[object]:
    total = 0
    for name, value in annotations.items():
        yield from _name_problems(name)
        total += len(name.encode()) + len(value)
    if total > _MOST_ANNOTATIONS:
        yield f"total size of annotations is {total}, which exceeds the max size of {_MOST_ANNOTATIONS}"


def _name_problems(name: str) -> Iterator[object]:
    """Yield the error of a name that is no fully qualified domain name."""
    path = field.Path("annotations")
    if not name:
        yield field.required(path)
        return
    name = name.removesuffix(".")
    if problems := names.dns1123_subdomain(name):
        yield field.invalid(path, name, ",".join(problems))
    elif "." not in name:
        yield field.invalid(path, name, "should be a domain with at least two segments separated by dots")
    else:
        for label in name.split("."):
            if problems := names.dns1123_label(label):
                yield field.invalid(path, label, ",".join(problems))
                return


class ExtendedNonceTransformer:
    """Implements Transformer: 32 random bytes, then a value of AES-GCM. HKDF derives its key from the seed and these bytes.

    Unlike the reference, no derived keys are kept: the watch cache decrypts a value once.
    """

    __slots__ = ("_seed",)

    def __init__(self, seed: bytes) -> None:
        """Use a seed.

        Raises:
            TransformError: it is too short.
        """
        if len(seed) < SEED_SIZE:
            raise TransformError(f"invalid seed length {len(seed)} used for key generation")
        self._seed = seed

    def _cipher(self, info: bytes) -> GCMTransformer:
        return GCMTransformer(HKDFExpand(SHA256(), 32, info).derive(self._seed))

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """Implement Transformer.from_storage."""
        if len(data) < _INFO:
            raise TransformError(TOO_SHORT)
        return self._cipher(data[:_INFO]).from_storage(data[_INFO:], context)

    def to_storage(self, data: bytes, context: bytes) -> bytes:
        """Implement Transformer.to_storage."""
        info = os.urandom(_INFO)
        return info + self._cipher(info).to_storage(data, context)


@dataclass(slots=True)
class _State:
    """The seed that encrypts."""

    transformer: Transformer
    message: Any
    """The EncryptedObject, without data."""
    key: CacheKey
    expires: float


class Plugin:
    """Implements Transformer with seeds that a plugin encrypts. `check` asks the plugin for its key, and makes a seed for a new one."""

    def __init__(self, name: str, service: KMSService, stats: KMSStats, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self.service = service
        self.changes = 0
        """Grows when the key changes, and when seeds may be decrypted that could not be before."""
        self._stats = stats
        self._clock = clock
        self._state: _State | None = None
        self._version = ""
        self._seeds: dict[CacheKey, tuple[Transformer, float]] = {}
        self._fetches: dict[CacheKey, asyncio.Task[None]] = {}
        self._failed: dict[CacheKey, tuple[float, TransformError]] = {}
        self._has_failed = False

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """Implement Transformer.from_storage. A value is stale if the plugin's key has changed since it was written."""
        message = decode(data)
        state = self._state
        if state is None:
            self._has_failed = True
            raise TransformError(_EMPTY)
        key = cache_key(message)
        found = self._seeds.get(key)
        if found is None:
            failed = self._failed.get(key)
            if failed is not None and self._clock() < failed[0]:
                raise TransformError(str(failed[1]), failed[1].code)
            self._stats.cache_misses += 1
            raise MissingKeyError(partial(self._fetch, key, message))
        self._stats.use(FROM_STORAGE, self.name, message.key_id)
        result, _ = found[0].from_storage(message.data, context)
        own = state.message
        return result, message.key_id != own.key_id or message.dek_source_type != own.dek_source_type

    def to_storage(self, data: bytes, context: bytes) -> bytes:
        """Implement Transformer.to_storage."""
        state = self._state
        if state is None:
            raise TransformError(_EMPTY)
        own = state.message
        if (now := self._clock()) > state.expires:
            why = f"expired at {_time(state.expires)} (current time is {_time(now)})"
            raise TransformError(f'encryptedDEKSource with keyID hash "{hash_of(own.key_id)}" {why}')
        if state.key not in self._seeds:
            self._keep(state.key, state.transformer)
        encrypted = state.transformer.to_storage(data, context)
        self._stats.use(TO_STORAGE, self.name, own.key_id)
        # the other fields follow those of the same type in any order
        found: bytes = EncryptedObject(data=encrypted).SerializeToString() + own.SerializeToString()
        return found

    async def _fetch(self, key: CacheKey, message: Any) -> None:
        """Decrypt the seed of a value; values with the same seed share the call. Raises TransformError."""
        task = self._fetches.get(key)
        if task is None:
            task = self._fetches[key] = shared_task(self._decrypt(key, message))
            task.add_done_callback(lambda _: self._fetches.pop(key, None))
        await asyncio.shield(task)

    async def _decrypt(self, key: CacheKey, message: Any) -> None:
        try:
            plaintext = await self.service.decrypt(random_uuid(), message)
        except TransformError as error:
            raise self._failure(key, TransformError(f"failed to decrypt DEK, error: {error}", error.code)) from error
        try:
            transformer = _transformer(message.dek_source_type, plaintext)
        except TransformError as error:
            raise self._failure(key, error) from None
        self._keep(key, transformer)

    def _failure(self, key: CacheKey, error: TransformError) -> TransformError:
        """Keep an error of a seed for a moment, and return it."""
        self._has_failed = True
        self._failed = {one: what for one, what in self._failed.items() if self._clock() < what[0]}
        self._failed[key] = self._clock() + _FAILURE_SECONDS, error
        return error

    def _keep(self, key: CacheKey, transformer: Transformer) -> None:
        now = self._clock()
        self._seeds = {one: kept for one, kept in self._seeds.items() if now < kept[1]}
        self._seeds[key] = transformer, now + _CACHE_SECONDS
        self._stats.cached_seeds[self.name] = len(self._seeds)

    async def check(self) -> None:
        """Ask the plugin for its state, and make a seed if its key has changed; otherwise the present one encrypts for longer.

        Raises:
            TransformError: the plugin does not answer, or is not healthy. The present seed encrypts for some minutes more.
        """
        try:
            status = await self.service.status()
        except TransformError as error:
            prefix = f"failed to perform status section of the healthz check for KMS Provider {self.name}, error: "
            raise TransformError(f"{prefix}{error}", error.code) from error
        problems = []
        if status.healthz != "ok":
            problems.append(f"got unexpected healthz status: {status.healthz}")
        if status.version not in _VERSIONS:
            problems.append(f"expected KMSv2 API version v2, got {status.version}")
        else:
            self._version = self._version or status.version
            if status.version != self._version:
                change = f"version {self._version}, got {status.version}"
                problems.append(f"KMSv2 API version should not change after the initial status response {change}")
        code, problem = key_id_problem(status.key_id)
        if problem:
            self._stats.refuse(self.name, code)
            problems.append(f'got invalid KMSv2 KeyID hash "{hash_of(status.key_id)}": {problem}')
        else:
            self._stats.report(self.name, status.key_id)
            problems += [why] if (why := await self._rotate(status.key_id)) else []
        if problems:
            text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            raise TransformError(f"kmsv2 Provider {self.name} is not healthy, error: {text}")
        if self._has_failed:
            self._has_failed = False
            self._failed.clear()
            self.changes += 1

    async def _rotate(self, key_id: str) -> str:
        """Use a seed of the key. Return the problem, empty without one."""
        state, expires = self._state, self._clock() + _WRITES_SECONDS
        if state is not None and state.message.key_id == key_id:
            state.expires = expires
            return ""
        uid, made, problem = random_uuid(), None, "<nil>"
        try:
            made = await self._new_state(uid, expires)
        except TransformError as error:
            problem = str(error)
        if made is not None and made.message.key_id == key_id:
            self._keep(made.key, made.transformer)
            self._state = made
            self.changes += 1
            return ""
        hashes = [hash_of(key_id), hash_of(made.message.key_id) if made else "", hash_of(state.message.key_id) if state else ""]
        named = ", ".join(f'{name}KeyIDHash="{value}"' for name, value in zip(("status", "encrypt", "state"), hashes, strict=True))
        return (
            f'failed to rotate DEK uid="{uid}", useSeed=true, errState={"<nil>" if state else _EMPTY}, errGen={problem}, {named}, '
            f"expirationTimestamp={_time(state.expires) if state else '0001-01-01T00:00:00Z'}"
        )

    async def _new_state(self, uid: str, expires: float) -> _State:
        begun = time.perf_counter()
        seed = os.urandom(SEED_SIZE)
        self._stats.data_keys.observe(time.perf_counter() - begun)
        try:
            answer = await self.service.encrypt(uid, seed)
        except TransformError as error:
            raise TransformError(f"failed to encrypt DEK, error: {error}", error.code) from error
        message = EncryptedObject(
            data=b"\0", key_id=answer.key_id, dek_source=answer.ciphertext, annotations=dict(answer.annotations), dek_source_type=HKDF_SEED
        )
        check(message)
        message.ClearField("data")
        return _State(ExtendedNonceTransformer(seed), message, cache_key(message), expires)


def _transformer(type_: int, plaintext: bytes) -> Transformer:
    """Return the transformer of a decrypted seed or key. Raises TransformError if its size is wrong."""
    if type_ == HKDF_SEED:
        return ExtendedNonceTransformer(plaintext)
    if len(plaintext) not in KEY_SIZES:
        raise TransformError(f"crypto/aes: invalid key size {len(plaintext)}")
    return GCMTransformer(plaintext)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Probe:
    """Checks a plugin when its last result is too old."""

    def __init__(self, plugin: Plugin, clock: Callable[[], float] = time.monotonic) -> None:
        self.plugin = plugin
        self._clock = clock
        self._lock = asyncio.Lock()
        self._until = 0.0
        self._error: TransformError | None = None

    async def problem(self) -> str:
        """Return the plugin's problem, empty if it is healthy."""
        async with self._lock:
            if self._clock() >= self._until:
                try:
                    await self.plugin.check()
                except TransformError as error:
                    self._error = error
                else:
                    self._error = None
                self._until = self._clock() + (UNHEALTHY_SECONDS if self._error is not None else _HEALTHY_SECONDS)
            return "" if self._error is None else str(self._error)


class Plugins:
    """The connected plugins of a configuration."""

    def __init__(self, plugins: Sequence[Plugin], stats: KMSStats) -> None:
        self.stats = stats
        self.transformers: Mapping[str, Transformer] = {plugin.name: plugin for plugin in plugins}
        """The transformers by the names of the plugins."""
        self._probes = [Probe(plugin) for plugin in plugins]
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def open(cls, providers: Sequence[KMSProvider], stats: KMSStats | None = None) -> Self:
        """Connect to plugins, and probe them once and then regularly. One that does not answer is tried again in the background.

        `stats` are those of the previous plugins.
        """
        stats = stats or KMSStats()
        self = cls([Plugin(provider.name, KMSService(provider, stats), stats) for provider in providers], stats)
        await asyncio.gather(*(self._probe(each) for each in self._probes))
        self._tasks = [asyncio.get_running_loop().create_task(self._repeat(each)) for each in self._probes]
        return self

    @property
    def changes(self) -> int:
        """Return a number that grows with each change after which other values may be readable or stale."""
        return sum(probe.plugin.changes for probe in self._probes)

    async def problems(self) -> list[str]:
        """Return the problems of the plugins by their numbers."""
        found = [(number, await probe.problem()) for number, probe in enumerate(self._probes)]
        return [f"kms-provider-{number}: {problem}" for number, problem in found if problem]

    async def _probe(self, probe: Probe) -> bool:
        problem = await probe.problem()
        if problem:
            _LOG.warning("kms plugin failed health check probe", name=probe.plugin.name, error=problem)
        return not problem

    async def _repeat(self, probe: Probe) -> None:
        healthy = not await probe.problem()
        while True:
            await asyncio.sleep(_PROBE_SECONDS if healthy else _RETRY_SECONDS)
            healthy = await self._probe(probe)

    async def close(self) -> None:
        """End the probes and close the connections."""
        await end_tasks(*self._tasks)
        await asyncio.gather(*(probe.plugin.service.close() for probe in self._probes))
