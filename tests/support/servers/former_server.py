"""A server of an earlier release, as far as it shares records with others on a store."""

from collections.abc import Mapping, Sequence

from apiext.storage.backend import Backend
from apiext.storage.replicas.call_folder import CallFolder
from apiext.storage.replicas.replica import Replica, ReplicaEncoding
from tests.support.event_loop import tasks_of

FOLDER = "/registry/apiext.dev/"


class FormerServer:
    """Answers and calls the roll below `<prefix>/apiext.dev/`, and knows no other place."""

    def __init__(self, backend: Backend, encodings: Mapping[str, ReplicaEncoding] | None = None, *, name: str = "former") -> None:
        self.id = name
        self._encodings = encodings or {}
        self.folder = CallFolder(backend, f"{FOLDER}replicas/", name, self._answer)

    async def _answer(self) -> None:
        if self.folder.is_answer_due:
            await self.folder.answer(Replica(self.id, "https://former", "0", "", self._encodings))

    async def start(self) -> None:
        """Record the server."""
        self._tasks = await tasks_of(self.folder.start())

    async def roll_call(self, seconds: float = 5) -> Sequence[Replica]:
        """Return the servers that this one sees."""
        return [member.replica for member in await self.folder.call(seconds)]

    async def close(self) -> None:
        """Remove the record."""
        await self.folder.close()

    def kill(self) -> None:
        """End without notice."""
        for task in self._tasks:
            task.cancel()
