"""The page crds/in-ci.md: its hooks, its jobs and its programs do what they say."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from hack.lib.environments import ROOT
from hack.lib.reference import binaries, golang
from tests.support.author_repository import CRD, apiext_program, author_repository, change, has, with_path
from tests.support.document_commands import blocks, section
from tests.support.git import git

pytestmark = pytest.mark.slow
PAGE: Final = "crds/in-ci.md"
HOOKS: Final = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
_MODULE: Final = ROOT / "hack" / "controllers"
_GO_USE: Final = """\
package crds

import (
	"testing"

	"k8s.io/client-go/rest"
)

func TestServes(t *testing.T) {
	config := serve(t, "%s")
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Get(config.Host + "/apis/net.example.com/v1alpha1/routes")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != 200 {
		t.Fatal(answer.Status)
	}
}
"""
_JAVA_USE: Final = """\
import java.nio.file.Files;
import java.nio.file.Path;

class Use {
    public static void main(String[] arguments) throws Exception {
        try (var server = new Apiext(Path.of(arguments[0]))) {
            System.out.println(Files.readString(server.kubeconfig).contains("client-certificate"));
        }
    }
}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return the work tree of an author's branch."""
    return author_repository(tmp_path)


def _shell(command: str, folder: Path, programs: Path, **values: str) -> subprocess.CompletedProcess[str]:
    environment = with_path(programs) | {"HOME": str(programs)} | values
    return subprocess.run(["sh", "-euc", command], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def _hook(name: str, tree: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    """Run a hook with the arguments of the page, as pre-commit does at a commit."""
    (configured,) = yaml.safe_load(blocks(section(PAGE, "pre-commit"), "yaml")[0])["repos"]
    (given,) = (hook for hook in configured["hooks"] if hook["id"] == name)
    return _shell(" ".join([HOOKS[name]["entry"], *given["args"]]), tree, programs)


def test_hooks_are_complete() -> None:
    """Install from the repository, and get the folder once instead of the changed files."""
    assert set(HOOKS) == {"apiext-plan", "apiext-test"}
    for hook in HOOKS.values():
        assert (hook["language"], hook["pass_filenames"]) == ("python", False)
        assert hook["name"]
        assert hook["description"].endswith(".")
        assert re.search(hook["files"], CRD)
        assert not re.search(hook["files"], "main.go")


def test_the_plan_hook_accepts_a_kubebuilder_project(tree: Path, tmp_path: Path) -> None:
    """Accept commits of a folder that also has kustomization.yaml and patches, whichever of its files they change."""
    programs = apiext_program(tmp_path / "bin")
    (tree / "config/crd/kustomization.yaml").write_text("resources: [bases]\n")
    git(tree, "add", ".")

    done = _hook("apiext-plan", tree, programs)
    assert done.returncode == 0, done.stdout + done.stderr

    change(tree, "name: v1alpha1", "name: v1")
    git(tree, "add", ".")
    done = _hook("apiext-plan", tree, programs)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "routes.net.example.com" in done.stdout


def test_the_test_hook_runs_the_suites(tree: Path, tmp_path: Path) -> None:
    """Pass, until a case does not."""
    programs = apiext_program(tmp_path / "bin")

    done = _hook("apiext-test", tree, programs)
    assert done.returncode == 0, done.stdout + done.stderr

    change(tree, "required: [host]", "required: [port]")
    assert _hook("apiext-test", tree, programs).returncode == 1


@pytest.mark.parametrize("breaks", [False, True])
def test_gitlab(breaks: bool, tree: Path, tmp_path: Path) -> None:  # noqa: FBT001 -- a table
    """Take the steps of the job in order, and keep the reports that it names."""
    if breaks:
        change(tree, "name: v1alpha1", "name: v1")
    job: dict[str, Any] = yaml.safe_load(blocks(section(PAGE, "GitLab"), "yaml")[0])["crds"]
    base = subprocess.run(["git", "rev-parse", "main"], cwd=tree, capture_output=True, text=True, check=True).stdout.strip()

    done = _shell("\n".join(job["script"]), tree, apiext_program(tmp_path / "bin"), CI_MERGE_REQUEST_DIFF_BASE_SHA=base)

    assert done.returncode == (2 if breaks else 0), done.stdout + done.stderr
    assert (tree / job["artifacts"]["paths"][0]).read_text().startswith("#")
    reports = job["artifacts"]["reports"]["junit"]
    assert [(tree / name).exists() for name in reports] == [True, not breaks]
    assert ("<failure" in (tree / reports[0]).read_text()) is breaks


def test_any_other(tree: Path, tmp_path: Path) -> None:
    """Run the commands after the installation."""
    (text,) = blocks(section(PAGE, "Any other"), "sh")
    install, _, rest = text.partition("\n")

    assert install == "pip install apiext"
    done = _shell(rest, tree, apiext_program(tmp_path / "bin"), BASE="main")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(900)  # the first run compiles client-go
def test_go(tmp_path: Path) -> None:
    """Compile the code of the page in a module with client-go, and get an answer from its server."""
    (code,) = blocks(section(PAGE, "Tests in Go"), "go")
    files = {"serve_test.go": code, "use_test.go": _GO_USE % (ROOT / "crds/releases/1")}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    overlay = tmp_path / "overlay.json"
    overlay.write_text(json.dumps({"Replace": {str(_MODULE / "crds" / name): str(tmp_path / name) for name in files}}))
    try:
        go = golang.toolchain(_MODULE, binaries.cache_folder(), lambda _line: None)
    except golang.BuildError as error:
        pytest.skip(str(error))
    environment = golang.environment() | with_path(apiext_program(tmp_path / "bin"))

    # the folder of the package is in the overlay only: neither vet nor the test can run in it
    build: list[str | Path] = [go, "test", "-vet=off", f"-overlay={overlay}", "-c", "-o", tmp_path / "serve.test", "./crds"]
    done = subprocess.run(build, cwd=_MODULE, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([tmp_path / "serve.test"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not has("javac", "java"), reason="no JDK is installed")
def test_java(tmp_path: Path) -> None:
    """Compile the code of the page, and start and stop its server."""
    (code,) = blocks(section(PAGE, "Tests in Java"), "java")
    (tmp_path / "Apiext.java").write_text(code)
    (tmp_path / "Use.java").write_text(_JAVA_USE)
    environment = with_path(apiext_program(tmp_path / "bin")) | {"TMPDIR": str(tmp_path)}

    script = f"javac -Xlint:all -Werror *.java && java -Djava.io.tmpdir={tmp_path} -cp . Use {ROOT / 'crds/releases/1'}"
    done = subprocess.run(["sh", "-euc", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "true\n"), done.stderr
