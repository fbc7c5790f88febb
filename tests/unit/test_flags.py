"""The table of fairseq's flags: each name is that of a flag, or nobody would be asked for it."""

from __future__ import annotations

from fairseq import options

from dc_nmt_plugin import registration  # noqa: F401
from dc_nmt_plugin.flags import FLAGS, MECHANISM_FOLDERS, flag_name

COMMAND = ["data", "--path", "x", "--task", "translation_dc_nmt"]
TRAINING = ["data", "--task", "translation_dc_nmt", "--arch", "transformer_dc"]


def test_every_flag_is_one_of_fairseq_s_programs():
    flags = {flag_name(MECHANISM_FOLDERS)}  # of records and checkpoints alone
    for make, words in (
        (options.get_training_parser, [*TRAINING, "--lr-scheduler", "polynomial_decay"]),
        (options.get_generation_parser, COMMAND),
        (options.get_interactive_generation_parser, COMMAND),
    ):
        parser = make()
        options.parse_args_and_arch(parser, words)  # adds the flags of the task and the rest
        flags.update(parser._option_string_actions)
    assert set(map(flag_name, FLAGS)) <= flags
