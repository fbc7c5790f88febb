"""A known failure ends with a sentence, and its traceback in a file; an unknown one with that."""

from __future__ import annotations

import re
import stat
import sys
import tempfile
from pathlib import Path

import pytest
from commands import ROOT, real, run
from fairseq.data import ListDataset
from fairseq.data.iterators import EpochBatchIterator
from systems import family, generation, training
from torch.multiprocessing import start_processes

from dc_nmt_plugin.errors import ConfigError

# somebody's own task, in a folder that --user-dir names; {} is what goes wrong while it is set up
TASK = """
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationTask

import dc_nmt_plugin.registration


def validate(settings):
    return settings["colour"]


@register_task("of_mine")
class Task(TranslationTask):
    @staticmethod
    def add_args(parser):
        TranslationTask.add_args(parser)
        parser.add_argument("--my-words")

    @classmethod
    def setup_task(cls, args, **kwargs):
        {}
        return super().setup_task(args, **kwargs)
"""
# what goes wrong → (the line that does it, what the traceback ends with)
STRANGERS = {
    "a typo in an import": (
        "import dc_nmt_plugin.modules.dual_contxt",
        "ModuleNotFoundError: No module named 'dc_nmt_plugin.modules.dual_contxt'",
    ),
    "a module that nobody has": (
        "import coloured_text",
        "ModuleNotFoundError: No module named 'coloured_text'",
    ),
    "a module that is optional elsewhere": (
        "raise ModuleNotFoundError(\"No module named 'matplotlib'\")",
        "ModuleNotFoundError: No module named 'matplotlib'",
    ),
    "a function of fairseq's name": ("validate({})", "KeyError: 'colour'"),
    "a message with a flag": (
        "raise ValueError('--colour of the sky is unknown')",
        "ValueError: --colour of the sky is unknown",
    ),
    "a message with a flag, asserted": (
        "assert not args, 'run it without --colour'",
        "AssertionError: run it without --colour",
    ),
    "words that fairseq uses": (
        "raise FloatingPointError('gradients are Nan/Inf')",
        "FloatingPointError: gradients are Nan/Inf",
    ),
    "a request to install": (
        "raise ImportError('Please install colour: pip install colour')",
        "ImportError: Please install colour: pip install colour",
    ),
    "a file that no flag names": (
        "open('/nowhere/words.txt')",
        "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/words.txt'",
    ),
    "memory for something absurd": (
        "import numpy; numpy.zeros((10**6, 10**9))",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate",
    ),
}


def of_mine(folder: Path, line: str) -> list[object]:
    """Flags that load the task."""
    module = folder / "my_task"
    module.mkdir()
    (module / "__init__.py").write_text(TASK.replace("{}", line, 1))
    names = ["--arch", "transformer", "--criterion", "label_smoothed_cross_entropy"]
    return ["--user-dir", module, "--task", "of_mine", *names]


def assert_unknown(result, ending):
    assert result.code == 1
    assert "error: " not in result.errors.lower().replace(ending.lower(), ""), result.errors
    assert "Traceback (most recent call last)" in result.errors
    last = result.errors.rstrip().splitlines()[-1]
    assert last.startswith(ending), last


def assert_known(result, sentence, frame):
    """One sentence and the path of a private file that ends with the frame's exception."""
    assert result.code == 1
    assert "Traceback" not in result.output + result.errors, result.errors
    *_, told, where = result.errors.rstrip().splitlines()
    assert re.fullmatch(rf"(dc-nmt \w+: )?error: {sentence}", told), told
    path = Path(where.removeprefix("traceback: "))
    text = path.read_text("utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.unlink()
    assert text.startswith("Traceback (most recent call last)") and frame in text, text


@pytest.mark.parametrize("case", STRANGERS)
def test_failures_of_strangers_keep_their_traceback(case, corpus, tmp_path):
    line, ending = STRANGERS[case]
    command = training(corpus, tmp_path / "save", *of_mine(tmp_path, line))
    assert_unknown(run(tmp_path, "train", *command), ending)


def test_a_file_that_a_flag_names(corpus, tmp_path):
    flags = of_mine(tmp_path, "open(args.my_words)")
    command = training(corpus, tmp_path / "save", *flags, "--my-words", "/nowhere/words.txt")
    sentence = "--my-words /nowhere/words.txt: No such file or directory."
    assert_known(run(tmp_path, "train", *command), sentence, "open(args.my_words)")


@pytest.mark.thorough
@pytest.mark.parametrize("program", ["fairseq-train", "fairseq-generate"])
def test_a_typo_as_a_user_sees_it(program, corpus, tmp_path):
    line, ending = STRANGERS["a typo in an import"]
    flags = [corpus, "--cpu", *of_mine(tmp_path, line)]
    if program == "fairseq-generate":
        flags = [*flags[:6], "--path", "x.pt"]
    else:
        flags = training(corpus, tmp_path / "save", *flags[2:])
    result = real(program, *flags, folder=tmp_path, environment={"PYTHONPATH": str(ROOT)})
    assert_unknown(result, ending)


def metric(corpus, folder):
    """A training that fails at its first validation, in fairseq's own ``validate``."""
    flags = ["--best-checkpoint-metric", "gates", "--max-epoch", 1]
    return training(corpus, folder / "save", *family("transformer_dc"), *flags)


MEASURED = "--best-checkpoint-metric: 'gates' is not measured on validation; .* numbers are\\."


def test_a_known_failure_as_a_user_sees_it(corpus, bare, tmp_path):
    command = [*metric(corpus, tmp_path), "--user-dir", "dc_nmt_plugin"]
    program = "from fairseq_cli.train import cli_main; cli_main()"
    done = bare.run(program, *command, folder=ROOT)
    assert_known(done, MEASURED, "KeyError: 'gates'")


def test_where_no_file_can_be_written_the_traceback_follows(corpus, tmp_path):
    def no_folder():
        tempfile.tempdir = str(tmp_path / "nowhere")

    result = run(tmp_path, "train", *metric(corpus, tmp_path), before=no_folder)
    told, rest = result.errors[result.errors.index("error: ") :].split("\n", 1)
    assert result.code == 1 and re.fullmatch(f"error: {MEASURED}", told), result.errors
    assert rest.startswith("Traceback (most") and rest.endswith("KeyError: 'gates'\n"), rest


# a module that is missing → (program, flags, sentence)
MISSING = {
    "editdistance": (
        "generate",
        ["--scoring", "wer"],
        "Please install editdistance to use WER scorer.",
    ),
    "sentencepiece": (
        "generate",
        ["--bpe", "sentencepiece", "--sentencepiece-model", __file__],
        "Please install sentencepiece with: pip install sentencepiece.",
    ),
}


@pytest.mark.parametrize("module", MISSING)
def test_an_optional_package_that_is_missing(module, corpus, trained, tmp_path):
    program, flags, sentence = MISSING[module]
    path = trained("transformer_dc") / "checkpoint_last.pt"
    command = generation(corpus, path, "transformer_dc", *flags)
    # it may be installed here
    result = run(tmp_path, program, *command, before=lambda: sys.modules.update({module: None}))
    assert_known(result, re.escape(sentence), module)


def fail(rank, case):
    """What a spawned process does."""
    if case == "ours":
        raise ConfigError(["--this: is wrong.", "--that: too."])
    if case == "fairseq":
        print(EpochBatchIterator(ListDataset([]), list, []).first_batch)
    raise ValueError("optimizer is required!")


@pytest.mark.parametrize("case", ["ours", "fairseq", "stranger"])
def test_a_spawned_process(case, tmp_path):
    """torch hands over the text of its traceback alone."""
    spawn = {"args": (case,), "nprocs": 1, "start_method": "fork"}  # fork: importing takes long
    result = run(tmp_path, "train", before=lambda: start_processes(fail, **spawn))
    if case == "ours":
        assert result.code == 1
        assert result.errors == "error: --this: is wrong.\n--that: too.\n"
    elif case == "fairseq":
        assert_known(result, "no sentence is left to train on.*", "in first_batch")
    else:
        assert_unknown(result, "ValueError: optimizer is required!")
