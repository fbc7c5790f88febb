"""Steps: stamps, digests, locks."""

from __future__ import annotations

from pathlib import Path

import pytest

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.steps import (
    Command,
    Pipeline,
    Step,
)


def step(folder: Path, stamp: str, *commands: Command) -> Step:
    return Step("make it", folder, lambda: stamp, lambda to: [*commands, touch(to)])


def touch(folder: Path) -> Command:
    return Command(["touch", str(folder / "made")])


def test_a_step_is_done_again_only_with_another_stamp(tmp_path, capsys):
    pipeline, folder = Pipeline(), tmp_path / "out"
    pipeline.run(step(folder, "one"))
    (folder / "of the first").touch()
    pipeline.run(step(folder, "one"))
    assert capsys.readouterr().out.splitlines()[1].endswith("make it: done before")
    assert (folder / ".stamp").read_text() == "one\n" and (folder / "made").exists()
    pipeline.run(step(folder, "two"))
    assert not (folder / "of the first").exists() and (folder / ".stamp").read_text() == "two\n"


def test_a_step_that_fails_leaves_the_old_result(tmp_path):
    folder = tmp_path / "out"
    Pipeline().run(step(folder, "one"))
    fails = Command(["ls", "/no/such/file"])
    (tmp_path / "out.log").write_text("how the first was made\n")
    with pytest.raises(UserError, match=r"'ls'.*out\.part\.log"):
        Pipeline().run(step(folder, "two", fails))
    assert (folder / ".stamp").read_text() == "one\n"
    assert (tmp_path / "out.log").read_text() == "how the first was made\n"
    with pytest.raises(UserError, match="'no-such-program'"):
        Pipeline().run(step(folder, "two", Command(["no-such-program"])))


def test_one_process_at_a_time_works_in_a_folder(tmp_path):
    first, second = (Pipeline().alone(tmp_path, wait=False) for _ in range(2))
    with first, pytest.raises(UserError, match=f"working in {tmp_path}"), second:
        pass
    with Pipeline().alone(tmp_path, wait=True):
        pass


@pytest.mark.parametrize(("flag", "visible"), [("--cpu", ""), ("--fp16", "0")])
def test_a_program_with_cpu_sees_no_gpu(flag, visible, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    code = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'])"
    Command(["python", "-c", code, flag], output=tmp_path / "out").run(tmp_path / "log")
    assert (tmp_path / "out").read_text() == f"{visible}\n"
