"""The programs of these tests read their command lines as fairseq's own do."""

from __future__ import annotations

import warm
from fairseq import options
from fairseq.dataclass import utils
from systems import family, training

FLAGS = ["--adam-betas", "(0.9, 0.97)", "--update-freq", "2,3", "--max-epoch", 3, "--lr", "0.3"]
FLAGS += ["--valid-subset", "valid,test", "--arch", "transformer_dc_tiny", "--save-dir", "it's"]


def test_a_configuration_from_the_store_is_the_one_that_hydra_composes(tmp_path):
    configs = []
    for folder, more in (("one", []), ("one", FLAGS), ("other", FLAGS)):
        (tmp_path / folder).mkdir(exist_ok=True)
        words = [str(word) for word in training("data", "save", *family("transformer_dc"), *more)]
        args = options.parse_args_and_arch(options.get_training_parser(), words)
        overrides, _ = utils.override_module_args(args)
        configs.append(warm.compose(tmp_path / folder, "config", overrides, strict=False))
        assert len(list((tmp_path / folder).iterdir())) == 1
    first, stored, composed = configs
    assert stored == composed != first and str(stored) == str(composed)
