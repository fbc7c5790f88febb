"""Steps: stamps, digests, locks."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.files import locked
from dc_nmt_plugin.steps import Command, Pipeline, Step


def step(folder: Path, stamp: str, *commands: Command) -> Step:
    return Step("make it", folder, lambda: stamp, lambda to: [*commands, touch(to)])


def touch(folder: Path) -> Command:
    return Command(["touch", str(folder / "made")])


def test_a_step_is_done_again_only_with_another_stamp(tmp_path, capsys):
    pipeline, folder = Pipeline(), tmp_path / "out"
    pipeline.run(tmp_path, step(folder, "one"))
    (folder / "of the first").touch()
    pipeline.run(tmp_path, step(folder, "one"))
    assert capsys.readouterr().out.splitlines()[1].endswith("make it: done before")
    assert (folder / ".stamp").read_text() == "one\n" and (folder / "made").exists()
    pipeline.run(tmp_path, step(folder, "two"))
    assert not (folder / "of the first").exists() and (folder / ".stamp").read_text() == "two\n"


def test_a_step_that_fails_leaves_the_old_result(tmp_path):
    folder = tmp_path / "out"
    Pipeline().run(tmp_path, step(folder, "one"))
    fails = Command(["ls", "/no/such/file"])
    (tmp_path / "out.log").write_text("how the first was made\n")
    with pytest.raises(UserError, match=r"'ls'.*out\.part\.log"):
        Pipeline().run(tmp_path, step(folder, "two", fails))
    assert (folder / ".stamp").read_text() == "one\n"
    assert (tmp_path / "out.log").read_text() == "how the first was made\n"
    with pytest.raises(FileNotFoundError, match="'no-such-program'"):
        Pipeline().run(tmp_path, step(folder, "two", Command(["no-such-program"])))


def test_one_process_at_a_time_works_in_a_folder(tmp_path, capsys):
    other = Thread(target=Pipeline().run, args=(tmp_path, step(tmp_path / "out", "one")))
    with locked(tmp_path / ".lock"):
        other.start()
        other.join(0.2)
        assert other.is_alive() and not (tmp_path / "out").exists()
    other.join()
    assert f"waiting for another recipe in {tmp_path}" in capsys.readouterr().out
    assert (tmp_path / "out/made").exists()


@pytest.mark.parametrize(("flag", "visible"), [("--cpu", ""), ("--fp16", "0")])
def test_a_program_with_cpu_sees_no_gpu(flag, visible, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    code = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'])"
    Command(["python", "-c", code, flag], output=tmp_path / "out").run(tmp_path / "log")
    assert (tmp_path / "out").read_text() == f"{visible}\n"
