"""`hack/run --cluster`: the printed commands, typed as by a new user."""

import json
import shlex
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
from tests.support.document_commands import section, story

pytestmark = pytest.mark.slow
ROOT: Final = Path(__file__).resolve().parents[2]
_PATIENCE: Final = 110.0


class Terminal:
    """`hack/run --cluster` in one terminal, and a second terminal for the printed commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = Process([sys.executable, "-m", "hack.lib.run_cluster", "--dir", folder / "cluster"], folder / "output")

    @property
    def lines(self) -> list[str]:
        """Return the printed lines."""
        return [line.strip() for line in self.process.log.read_text().splitlines()]

    def printed(self, *words: str) -> str:
        """Return the printed command that starts with a text."""
        return next(line for line in self.lines if line.startswith(" ".join(words)))

    def popen(self, command: str) -> subprocess.Popen[str]:
        """Start a command."""
        exports = [line for line in self.lines if line.startswith("export ")]
        script = "; ".join([*exports, f"exec {command}"])
        return subprocess.Popen(["sh", "-euc", script], stdout=subprocess.PIPE, text=True, cwd=self.folder)

    def type(self, command: str) -> str:
        """Run a command, and return its output."""
        with self.popen(command) as running:
            output = running.communicate(timeout=60)[0]
        assert running.returncode == 0, (command, output)
        return output


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """Start the command, and return it when it has printed the commands."""
    started = Terminal(tmp_path_factory.mktemp("run"))
    started.process.start()
    try:
        started.process.wait_until(lambda: any(line.startswith("Logs and data") for line in started.lines), _PATIENCE)
        yield started
    finally:
        started.process.stop(60)


def test_first_steps(terminal: Terminal) -> None:
    """Run the printed commands: apiext stores the objects, the host has none, until the definition is handed back and adopted again."""
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

    back, again = [line for line in terminal.lines if line.startswith("kubectl label crd")]
    terminal.type(back)
    until(lambda: terminal.type(host).split() == keys, "handing back", patience=_PATIENCE)
    terminal.type(again)
    terminal.type("kubectl wait crd/fleets.apps.example.com --for=condition=ServedByApiext --timeout=50s")
    assert terminal.type("kubectl get fleets -o name").split() == [f"fleet.apps.example.com/{name}" for name in ("mailer", "web")]


@pytest.mark.timeout(400)
def test_story_of_the_main_etcd(terminal: Terminal) -> None:
    """Take the group of the story off the etcd of the cluster and back, by the commands of the story."""
    own, host = [line.partition("--endpoints=")[2] for line in terminal.lines if line.startswith("etcdctl")]
    text = story(section("crds/stories/README.md", "Take a group off the main etcd"))

    with terminal.popen(f"env OWN={own} MAIN={host} sh -euc {shlex.quote(f'cd {ROOT}; {text}')}") as running:
        output = running.communicate(timeout=300)[0]

    assert running.returncode == 0, output
    keys = [line for line in output.splitlines() if line.startswith("/registry/")]
    assert keys == [f"/registry/org.example.com/teams/{name}" for name in ("new", "shop", "shop")]
    assert output.splitlines()[-1].startswith("new ")


@pytest.mark.parametrize("user", ["admin", "apiext-operator"])
def test_doctor_finds_nothing_broken(terminal: Terminal, user: str) -> None:
    """Pass all checks of the printed doctor command, with the operator's rights."""
    command = next(line for line in terminal.lines if " doctor " in line)

    report = json.loads(terminal.type(f"{command} -o json --kubeconfig={terminal.folder}/cluster/host/{user}.kubeconfig"))

    assert report["ok"]
    assert [group["group"] for group in report["groups"]] == ["apps.example.com"]
    assert {hop["state"] for hop in report["groups"][0]["hops"]} == {"ok"}


@pytest.mark.parametrize("parent", [signal.SIG_DFL, signal.SIG_IGN])
def test_stops_everything_at_ctrl_c(tmp_path: Path, parent: signal.Handlers) -> None:
    """Stop all programs and print so at Ctrl-C during the start, also where the parent ignores SIGINT as CI systems do."""
    terminal = Terminal(tmp_path)
    # The shell keeps what it inherits; the process helper restores the default for the shell alone.
    ignore = "trap '' INT; " if parent is signal.SIG_IGN else ""
    terminal.process.command = ["sh", "-c", f'{ignore}exec "$@"', "sh", *terminal.process.command]
    terminal.process.start()
    terminal.process.wait_until(lambda: any("starting apiext" in line for line in terminal.lines), _PATIENCE)

    terminal.process.signal(signal.SIGINT)

    until(lambda: not terminal.process.running)
    assert terminal.lines[-1] == "hack/run: stopped"
    assert _still_running(tmp_path) == []


def test_rejects_a_folder_in_use(tmp_path: Path) -> None:
    """Leave a folder with content unchanged."""
    (tmp_path / "something").touch()

    done = subprocess.run([ROOT / "hack" / "run", "--cluster", "--dir", tmp_path], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"hack/run: --dir: {tmp_path} is not empty; name a new folder\n"


def _still_running(folder: Path) -> list[str]:
    """Return the programs whose command lines name a folder."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            command = path.read_bytes().split(b"\0")
            if any(str(folder).encode() in part for part in command):
                commands.append(command[0].decode())
    return commands
