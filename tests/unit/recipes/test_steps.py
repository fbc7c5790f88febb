"""Steps: stamps, locks, what they leave; and the words of a printed script."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from threading import Thread

import pytest

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.files import locked
from dc_nmt_plugin.laboratory.recipes.execution import Progress, execute, run_step
from dc_nmt_plugin.laboratory.recipes.script import script
from dc_nmt_plugin.laboratory.steps import EACH, Command, Line, Stage, Step, stamp_of


def touching(folder: Path, stamp: str, *lines: Line) -> Step:
    def all_lines(to: Path) -> list[Line]:
        return [*lines, Line(("touch", f"{to}/made"))]

    return Step("make it", folder / "out", all_lines, stamp=stamp)


def carry_out(folder: Path, *steps: Step) -> None:
    execute([Command((), Stage(folder, steps))], Progress())


def test_a_step_is_done_again_only_with_another_stamp(tmp_path, capsys):
    folder = tmp_path / "out"
    carry_out(tmp_path, touching(tmp_path, "one"))
    (folder / "of the first").touch()
    carry_out(tmp_path, touching(tmp_path, "one"))
    assert capsys.readouterr().out.splitlines()[1].endswith("make it: done before")
    assert (folder / ".stamp").read_text() == "one\n" and (folder / "made").exists()
    carry_out(tmp_path, touching(tmp_path, "two"))
    assert not (folder / "of the first").exists() and (folder / ".stamp").read_text() == "two\n"


def test_a_step_that_fails_leaves_the_old_result(tmp_path):
    carry_out(tmp_path, touching(tmp_path, "one"))
    fails = Line(("ls", "/no/such/file"))
    (tmp_path / "out.log").write_text("how the first was made\n")
    with pytest.raises(UserError, match=r"'ls'.*out\.part\.log"):
        carry_out(tmp_path, touching(tmp_path, "two", fails))
    assert (tmp_path / "out/.stamp").read_text() == "one\n"
    assert (tmp_path / "out.log").read_text() == "how the first was made\n"
    with pytest.raises(FileNotFoundError, match="'no-such-program'"):
        carry_out(tmp_path, touching(tmp_path, "two", Line(("no-such-program",))))


def test_a_program_that_was_killed_says_by_what(tmp_path):
    for signal, named in (("KILL", "9 (SIGKILL, usually because"), ("SEGV", "11 (SIGSEGV)")):
        killed = Line(("bash", "-c", f"kill -{signal} $$"))
        with pytest.raises(UserError, match=rf"'bash' was killed by signal {re.escape(named)}"):
            carry_out(tmp_path, touching(tmp_path, "one", killed))


def test_a_step_that_was_killed_before_its_new_name_is_done_again(tmp_path, capsys):
    step = Step(
        "make it",
        tmp_path / "out",
        lambda to: [Line(("touch", f"{to}/made"))],
        is_done=lambda: True,
    )
    (tmp_path / "out.part").mkdir()
    carry_out(tmp_path, step)
    assert (tmp_path / "out/made").exists()
    carry_out(tmp_path, step)
    assert capsys.readouterr().out.splitlines()[1].endswith("done before")


def test_one_process_at_a_time_works_in_a_folder(tmp_path, capsys):
    other = Thread(target=carry_out, args=(tmp_path, touching(tmp_path, "one")))
    with locked(tmp_path / ".lock"):
        other.start()
        other.join(0.2)
        assert other.is_alive() and not (tmp_path / "out").exists()
    other.join()
    assert f"waiting for another recipe in {tmp_path}" in capsys.readouterr().out
    assert (tmp_path / "out/made").exists()


CODE = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'])"


def asking(folder, *flags):
    """A step that writes which GPUs a program sees."""

    def lines(to):
        return [Line(("python", "-c", CODE, *flags), output=f"{to}/out")]

    return Step("ask", folder / "made", lines)


@pytest.mark.parametrize(("flag", "visible"), [("--cpu", ""), ("--fp16", "0")])
def test_a_program_with_cpu_sees_no_gpu(flag, visible, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    run_step(asking(tmp_path, flag))
    assert (tmp_path / "made/out").read_text() == f"{visible}\n"


@pytest.mark.parametrize(("hides", "visible"), [(True, ""), (False, "0")])
def test_a_run_on_the_cpu_also_translates_on_the_cpu(hides, visible, tmp_path, monkeypatch):
    """fairseq-generate has no --cpu in a recipe."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    stage = Stage(tmp_path, [asking(tmp_path)], hides_gpus=hides)
    execute([Command((), stage)], Progress())
    assert (tmp_path / "made/out").read_text() == f"{visible}\n"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"
    (tmp_path / "made/out").unlink()
    subprocess.run(["bash", "-c", script([Command((), stage)], ["dc-nmt"])], check=True)
    assert (tmp_path / "made/out").read_text() == f"{visible}\n"


def test_a_line_is_run_for_each_of_its_files(tmp_path):
    def lines(to):
        return [Line(("cp", f"{tmp_path}/{EACH}", f"{to}/{EACH}"), files=("a b", "$c"))]

    for name in ("a b", "$c"):
        (tmp_path / name).write_text(name)
    stage = Stage(tmp_path, [Step("copy", tmp_path / "out", lines)], {"DATA": tmp_path})
    execute([Command((), stage)], Progress())
    assert {path.read_text() for path in (tmp_path / "out").iterdir()} == {"a b", "$c"}
    for path in (tmp_path / "out").iterdir():
        path.unlink()
    text = script([Command((), stage)], ["dc-nmt"])
    assert "for file in 'a b' '$c'; do\n  cp \"$DATA/$file\" \"$DATA/out/$file\"\ndone" in text
    subprocess.run(["bash", "-c", text], check=True)
    assert {path.read_text() for path in (tmp_path / "out").iterdir()} == {"a b", "$c"}


def test_a_stamp_is_of_the_content_alone():
    assert stamp_of({"a": 1, "b": ["x"]}) == stamp_of({"b": ["x"], "a": 1})
    others = [{"a": 1}, {"a": "1"}, {"a": True}, {"a": None}, {"a": [1]}, {"b": 1}, [["a", 1]]]
    assert len(set(map(stamp_of, others))) == len(others)


# what a recipe, a folder or a flag may hold, and what must stay one word
ODD = [
    "a b", "it's", '"', "$HOME", "$(touch hit)", "`touch hit`", "a\ntouch hit #", "\\", "!", "*",
    "", "~", "-x", "#", "a\rtouch hit", "\u2028touch hit\u2028", "é\x1b]0;x\x07", "${IFS}", "%s\n",
    "a,$HOME,b",
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_no_value_leaves_its_word(odd, tmp_path):
    """A printed script gives its programs the same words as a step that is carried out here."""
    printer = tmp_path / "printer"
    printer.write_text('#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done\n')
    printer.chmod(0o755)
    data = Path("here")
    words = ("./printer", odd, f"here/{odd}x", "here", f"here/{odd},here/x")
    step = Step(odd, data / "out", lambda _: [Line(words)], log=data / "log")
    stage = Stage(data, [step], {"DATA": data}, notes=[odd])
    text = script([Command((), stage)], ["dc-nmt", odd])
    done = subprocess.run(["bash", "-c", text], cwd=tmp_path, capture_output=True, check=True)
    assert tuple(done.stdout.decode().split("\0")[:-1]) == words[1:] and not done.stderr
    assert not (tmp_path / "hit").exists()
