"""Random UUIDs differ from each other, also in a forked process."""

import os
import uuid

from apiext.base.random_uuid import random_uuid


def test_creates_random_uuids() -> None:
    """Create a UUID of version 4 each time, in its usual form."""
    some = [random_uuid() for _ in range(1000)]

    assert len(set(some)) == len(some)
    parsed = [uuid.UUID(text) for text in some]
    assert [str(one) for one in parsed] == some
    assert {(one.version, one.variant) for one in parsed} == {(4, uuid.RFC_4122)}
    assert {text[19] for text in some} == set("89ab")


def test_a_forked_process_creates_others() -> None:
    """Read new random bytes after a fork."""
    random_uuid()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, random_uuid().encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reading, 100).decode()
    os.close(reading)
    os.close(writing)

    assert theirs not in {random_uuid() for _ in range(1000)}
