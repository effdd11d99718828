"""A program that writes to a store from several tasks and prints each acknowledged write, until it is killed."""

import asyncio
import os
import sys

from apiext.storage.sqlite.backend import SQLiteBackend


async def main(path: str) -> None:
    """Write without end; print a line for each acknowledged write: key, revision, value (- for deleted)."""
    backend = await SQLiteBackend.open(path)

    async def work(task: int) -> None:
        key, n = f"/registry/{os.getpid()}/{task}", 0
        while True:
            n += 1
            value = f"{n}-" + "x" * (n % 3000)
            result = await backend.create(key, value.encode())
            os.write(1, f"{key} {result.revision} {value}\n".encode())
            result = await backend.update(key, b"2" + value.encode(), expected=result.revision)
            os.write(1, f"{key} {result.revision} 2{value}\n".encode())
            if n % 3:
                result = await backend.delete(key, expected=result.revision)
                os.write(1, f"{key} {result.revision} -\n".encode())
            else:
                key = f"/registry/{os.getpid()}/{task}-{n}"

    await asyncio.gather(*(work(task) for task in range(8)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
