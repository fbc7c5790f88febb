"""Plans: their words, stamps, locks, and what a step leaves."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from threading import Thread

import pytest

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.files import locked
from dc_nmt_plugin.laboratory.recipes.execution import Progress, execute, run_step
from dc_nmt_plugin.laboratory.recipes.script import script
from dc_nmt_plugin.steps import (
    TO,
    Line,
    Plan,
    Stage,
    Step,
    Variable,
    filled_words,
    literal,
    stamp_of,
)


def touching(stamp: str, *lines: Line) -> Step:
    return Step("make it", "$DATA/out", [*lines, Line(("touch", f"{TO}/made"))], stamp=stamp)


def carry_out(data: Path, *steps: Step) -> None:
    execute(Plan([Variable("DATA", str(data), "")], [Stage("$DATA", steps)]), Progress())


def test_a_step_is_done_again_only_with_another_stamp(tmp_path, capsys):
    folder = tmp_path / "out"
    carry_out(tmp_path, touching("one"))
    (folder / "of the first").touch()
    carry_out(tmp_path, touching("one"))
    assert capsys.readouterr().out.splitlines()[1].endswith("make it: done before")
    assert (folder / ".stamp").read_text() == "one\n" and (folder / "made").exists()
    carry_out(tmp_path, touching("two"))
    assert not (folder / "of the first").exists() and (folder / ".stamp").read_text() == "two\n"


def test_a_step_that_fails_leaves_the_old_result(tmp_path):
    carry_out(tmp_path, touching("one"))
    fails = Line(("ls", "/no/such/file"))
    (tmp_path / "out.log").write_text("how the first was made\n")
    with pytest.raises(UserError, match=r"'ls'.*out\.part\.log"):
        carry_out(tmp_path, touching("two", fails))
    assert (tmp_path / "out/.stamp").read_text() == "one\n"
    assert (tmp_path / "out.log").read_text() == "how the first was made\n"
    with pytest.raises(FileNotFoundError, match="'no-such-program'"):
        carry_out(tmp_path, touching("two", Line(("no-such-program",))))


def test_a_step_that_was_killed_before_its_new_name_is_done_again(tmp_path, capsys):
    step = Step("make it", "$DATA/out", [Line(("touch", f"{TO}/made"))], is_done=lambda: True)
    (tmp_path / "out.part").mkdir()
    carry_out(tmp_path, step)
    assert (tmp_path / "out/made").exists()
    carry_out(tmp_path, step)
    assert capsys.readouterr().out.splitlines()[1].endswith("done before")


def test_one_process_at_a_time_works_in_a_folder(tmp_path, capsys):
    other = Thread(target=carry_out, args=(tmp_path, touching("one")))
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
    code = literal("import os; print(os.environ['CUDA_VISIBLE_DEVICES'])")
    line = Line(("python", "-c", code, flag), output=f"{TO}/out")
    run_step(Step("ask", str(tmp_path / "made"), [line]), {})
    assert (tmp_path / "made/out").read_text() == f"{visible}\n"


@pytest.mark.parametrize(("gpus", "visible"), [("0", ""), ("1", "0")])
def test_a_plan_for_the_cpu_also_translates_on_the_cpu(gpus, visible, tmp_path, monkeypatch):
    """fairseq-generate has no --cpu in a plan; a script hides the GPUs too."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    code = literal("import os; print(os.environ['CUDA_VISIBLE_DEVICES'])")
    step = Step("ask", str(tmp_path / "made"), [Line(("python", "-c", code), output=f"{TO}/out")])
    execute(Plan([Variable("GPUS", gpus, "")], [Stage(str(tmp_path), [step])]), Progress())
    assert (tmp_path / "made/out").read_text() == f"{visible}\n"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"


def test_a_stamp_is_of_the_content_alone():
    assert stamp_of({"a": 1, "b": ["x"]}) == stamp_of({"b": ["x"], "a": 1})
    others = [{"a": 1}, {"a": "1"}, {"a": True}, {"a": None}, {"a": [1]}, {"b": 1}, [["a", 1]]]
    assert len(set(map(stamp_of, others))) == len(others)


# what a recipe, a folder or a flag may hold, and what must stay one word
ODD = [
    "a b", "it's", '"', "$HOME", "$(touch hit)", "`touch hit`", "a\ntouch hit #", "\\", "!", "*",
    "", "~", "-x", "#", "a\rtouch hit", "\u2028touch hit\u2028", "é\x1b]0;x\x07", "${IFS}", "%s\n",
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_no_value_leaves_its_word(odd, tmp_path):
    """A printed script gives its programs the same words as a plan that is carried out here."""
    printer = tmp_path / "printer"
    printer.write_text('#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done\n')
    printer.chmod(0o755)
    data = Variable("DATA", "here", "${DATA:-here}", odd)
    words = ("./printer", literal(odd), f"$DATA/{literal(odd)}x", "$DATA")
    stage = Stage("$DATA", [Step(odd, "$DATA/out", [Line(words)])], notes=[odd])
    expected = filled_words(words, {"DATA": data})[1:]
    assert expected[0] == odd
    text = script(Plan([data], [stage]), ["dc-nmt", odd])
    done = subprocess.run(["bash", "-c", text], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == expected and not done.stderr
    assert not (tmp_path / "hit").exists()


def test_a_script_and_this_process_wait_for_each_other(tmp_path):
    text = script(
        Plan([Variable("DATA", str(tmp_path), str(tmp_path))], [Stage("$DATA", [touching("one")])]),
        ["dc-nmt"],
    )
    with locked(tmp_path / ".lock"):
        other = subprocess.Popen(["bash", "-c", text])
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.5)
        assert not (tmp_path / "out").exists()
    assert other.wait(10) == 0
    carry_out(tmp_path, touching("one", Line(("false",))))  # done before
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "out", "out.log"}
