"""Makes a process that starts others by forking quick at reading fairseq's command lines."""

from __future__ import annotations

import copy
import functools
import warnings
from typing import Any

from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from hydra._internal.config_repository import CachingConfigRepository
from hydra.core.override_parser.overrides_parser import OverridesParser


def _without_a_copy(self: CachingConfigRepository, delegate: Any) -> None:
    self.delegate = delegate
    self.cache = {}


@functools.cache
def read_a_command_line() -> None:
    """Read one here: Hydra's grammar and the defaults are then known in every forked process.

    fairseq hands Hydra each of a command line's hundreds of settings as text. Nearly all are
    defaults: what this process has parsed, no forked one does again. This is most of a tiny
    command's time.
    """
    parse, known = OverridesParser.parse_rule, {}

    def parse_rule(self: OverridesParser, text: str, rule: str) -> Any:
        if (text, rule) not in known:
            known[text, rule] = parse(self, text, rule)
        # a copy, because Hydra notes in it who asked
        return copy.copy(known[text, rule])

    OverridesParser.parse_rule = parse_rule
    # nobody changes the store, which Hydra copies for each command line
    CachingConfigRepository.__init__ = _without_a_copy
    parser = options.get_generation_parser()
    parser.add_argument("--arch", default="wav2vec2")  # as fairseq-generate has it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old ways, in fairseq
        convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, ["data"]))
