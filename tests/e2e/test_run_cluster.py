"""`hack/run --cluster`: what it prints is typed, as somebody would who sees apiext for the first time."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from hack.lib.servers.process import Process
from hack.lib.waiting import until

pytestmark = pytest.mark.slow
ROOT: Final = Path(__file__).resolve().parents[2]
_PATIENCE: Final = 110.0


class Terminal:
    """The command in one terminal, and a second one in which its words are followed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = Process([sys.executable, "-m", "hack.lib.run_cluster", "--dir", folder / "cluster"], folder / "output")

    @property
    def lines(self) -> list[str]:
        """What it has printed so far."""
        return [line.strip() for line in self.process.log.read_text().splitlines()]

    def printed(self, *words: str) -> str:
        """The command that begins so."""
        return next(line for line in self.lines if line.startswith(" ".join(words)))

    def popen(self, command: str) -> subprocess.Popen[str]:
        """Begin a command."""
        exports = [line for line in self.lines if line.startswith("export ")]
        script = "; ".join([*exports, f"exec {command}"])
        return subprocess.Popen(["sh", "-euc", script], stdout=subprocess.PIPE, text=True, cwd=self.folder)

    def type(self, command: str) -> str:
        """Run a command to its end, and give what it prints."""
        with self.popen(command) as running:
            output = running.communicate(timeout=60)[0]
        assert running.returncode == 0, (command, output)
        return output


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """The command, once it has said what to type."""
    started = Terminal(tmp_path_factory.mktemp("run"))
    started.process.start()
    try:
        started.process.wait_until(lambda: any(line.startswith("Logs and data") for line in started.lines), _PATIENCE)
        yield started
    finally:
        started.process.stop(60)


def test_first_steps(terminal: Terminal) -> None:
    """Each command of the block does what it stands for: the objects are served through the cluster, and are in apiext's etcd alone."""
    assert "fleet.apps.example.com/web created" in terminal.type(terminal.printed("kubectl apply"))
    assert "DESIRED" in terminal.type(terminal.printed("kubectl get fleets"))
    assert "FIELD: spec <Object>" in terminal.type(terminal.printed("kubectl explain"))
    with terminal.popen(f"{terminal.printed('kubectl get fleets --watch')} --output-watch-events --no-headers") as watch:
        assert watch.stdout is not None
        assert sorted(watch.stdout.readline().split()[:2] for _ in range(2)) == [["ADDED", "mailer"], ["ADDED", "web"]]
        edit = terminal.printed("kubectl edit")
        terminal.type(f"env KUBE_EDITOR='sed -i \"s/replicas: 3/replicas: 6/\"' {edit}")
        assert watch.stdout.readline().split()[:3] == ["MODIFIED", "web", "6"]
        watch.kill()

    assert terminal.type("kubectl get fleet web -o jsonpath={.spec.replicas}") == "6"
    own, host = [line for line in terminal.lines if line.startswith("etcdctl")]
    keys = [f"/registry/apps.example.com/fleets/default/{name}" for name in ("mailer", "web")]
    assert terminal.type(own).split() == keys
    assert terminal.type(host).split() == []


@pytest.mark.parametrize("user", ["admin", "apiext-operator"])
def test_all_hops(terminal: Terminal, user: str) -> None:
    """The doctor that the block names finds nothing broken, and needs no rights that the operator has not."""
    command = next(line for line in terminal.lines if " doctor " in line)

    report = json.loads(terminal.type(f"{command} -o json --kubeconfig={terminal.folder}/cluster/host/{user}.kubeconfig"))

    assert report["ok"]
    assert [group["group"] for group in report["groups"]] == ["apps.example.com"]
    assert {hop["state"] for hop in report["groups"][0]["hops"]} == {"ok"}


def test_the_end(tmp_path: Path) -> None:
    """Ctrl-C while it starts ends everything that was started, and says so."""
    terminal = Terminal(tmp_path)
    terminal.process.start()
    terminal.process.wait_until(lambda: any("starting apiext" in line for line in terminal.lines), _PATIENCE)

    terminal.process.signal(signal.SIGINT)

    until(lambda: not terminal.process.running)
    assert terminal.lines[-1] == "hack/run: stopped"
    assert _still_running(tmp_path) == []


def test_a_folder_that_is_taken(tmp_path: Path) -> None:
    """A folder with something in it is left alone."""
    (tmp_path / "something").touch()

    done = subprocess.run([ROOT / "hack" / "run", "--cluster", "--dir", tmp_path], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"hack/run: --dir: {tmp_path} is not empty; name a new folder\n"


def _still_running(folder: Path) -> list[str]:
    """The programs whose command lines name a folder."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            command = path.read_bytes().split(b"\0")
            if any(str(folder).encode() in part for part in command):
                commands.append(command[0].decode())
    return commands
