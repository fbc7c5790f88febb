"""Sentences for known failures; every other failure keeps its traceback."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import refusal
from ..files import MAKE_ROOM, no_space
from .failures import Failure


@dataclass(frozen=True)
class _Known:
    """Describes a known failure; type, place and message must all match.

    Attributes:
        kinds: names of types, separated by spaces
        places: patterns ``module:function`` of the raising function, separated by spaces
        pattern: regular expression that is searched in the message
        sentence: for the user; ``{1}`` is the pattern's first group
    """

    kinds: str
    places: str
    pattern: str
    sentence: str


_KNOWN = (
    _Known(
        "Exception",
        "fairseq.tasks.fairseq_task:filter_indices_by_size fairseq.data.data_utils:filter_by_size",
        r"Size of sample #(\d+) is invalid \(=\(?(?:\D*\d+\()?(\d+).*max_positions=(\(.*?\)|\d+)",
        "sentence {1} (from 0) has {2} tokens or its translation more than the model's positions "
        "{3}: leave such sentences out with --skip-invalid-size-inputs-valid-test, or train with "
        "higher --max-source-positions and --max-target-positions",
    ),
    _Known(
        "AssertionError",
        "fairseq.data.data_utils_fast:*",
        r"Sentences lengths should not exceed max_tokens=(-?\d+)",
        "--max-tokens: {1} is less than one sentence has; raise it",
    ),
    _Known(
        "FloatingPointError",
        "fairseq.trainer:train_step",
        r"gradients are Nan/Inf",
        "the loss or its gradients became NaN or infinite: the training has diverged; lower --lr, "
        "raise --warmup-updates or give --clip-norm, and start again from the last checkpoint "
        "(crash.pt in --save-dir is the state at this moment)",
    ),
    _Known(
        "FloatingPointError",
        "fairseq.optim.amp_optimizer:clip_grad_norm "
        "fairseq.optim.dynamic_loss_scaler:check_overflow",
        r"Minimum loss scale reached",
        "half precision fails: the loss scale fell to its least value; lower --lr, or train with "
        "--amp or in float32",
    ),
    _Known(
        "FloatingPointError",
        "fairseq.trainer:_check_grad_norms",
        r"gradients are inconsistent",
        "the processes' gradients differ: they do not run the same command or data",
    ),
    _Known(
        "Exception",
        "fairseq.data.iterators:first_batch",
        r"The dataset is empty",
        "no sentence is left to train on: all are too long; raise --max-source-positions",
    ),
    _Known(
        "ZeroDivisionError",
        "fairseq_cli.generate:_main",
        r"division by zero",
        "no sentence is left to translate: all are too long; raise --max-source-positions",
    ),
    _Known(
        "FileNotFoundError",
        "fairseq.tasks.*:load_*",
        r"^Dataset not found: (\S+) \((.*)\)",
        "{2}: has no subset '{1}'",
    ),
    _Known(
        "AssertionError",
        "fairseq.distributed.utils:_infer_single_node_init",
        r"world size is (\d+) but have (\d+) available devices",
        "--distributed-world-size: {1} and there are {2} GPUs",
    ),
    _Known(
        "AssertionError",
        "fairseq.sequence_generator:_generate",
        r"min_len cannot be larger than max_len",
        "--min-len: is above the greatest length (--max-len-a, --max-len-b)",
    ),
    _Known(
        "KeyError",
        "fairseq_cli.train:validate",
        r"^('.*')$",
        "--best-checkpoint-metric: {1} is not measured on validation; the log's valid_… numbers "
        "are",
    ),
    _Known(
        "torch.OutOfMemoryError torch.cuda.OutOfMemoryError",
        "*",  # torch's allocator has no frame; only the allocator raises this type
        r"",
        "the GPU is out of memory: lower --max-tokens",
    ),
    _Known("MemoryError", "fairseq* torch.* numpy.* dc_nmt_plugin.*", r"", "out of memory"),
    _Known("ImportError", "fairseq.*", r"(Please install .*)", "{1}"),
    # what sacreBLEU says of MeCab
    _Known("RuntimeError", "sacrebleu.tokenizers.*:__init__", r"(.*pip install .*)", "{1}"),
    # fairseq's own refusals, where settings become objects
    _Known(
        "ValueError AssertionError RuntimeError NotImplementedError ImportError",
        "fairseq.options:* fairseq.utils:* fairseq.search:* fairseq.*:__init__ fairseq.*:build_* "
        "fairseq.*:_build_* fairseq.tasks.* fairseq.trainer:* fairseq.distributed.utils:* "
        "fairseq.checkpoint_utils:load_checkpoint fairseq.data.indexed_dataset:read_index "
        "fairseq.data.iterators:load_state_dict fairseq.data.fairseq_dataset:adjust_bsz "
        "fairseq_cli.*:*main",
        r"(.*--[a-z][a-z-]+.*)",
        "{1}",
    ),
)
# module → package to install; fairseq, sacreBLEU and this package import these modules late
_OPTIONAL = {
    "HanTa": "HanTa",
    "MeCab": "'sacrebleu[ja]'",
    "bert_score": "bert-score",
    "comet": "'dc_nmt_plugin[comet]'",
    "compare_mt": "compare-mt six",
    "ctranslate2": "'dc_nmt_plugin[ctranslate2]'",
    "editdistance": "editdistance",
    "fairscale": "fairscale",
    "ipadic": "'sacrebleu[ja]'",
    "jieba": "jieba",
    "matplotlib": "matplotlib",
    "mecab_ko": "'sacrebleu[ko]'",
    "nltk": "nltk",
    "sacremoses": "sacremoses",
    "scipy": "scipy",
    "sentencepiece": "sentencepiece",
    "submitit": "'dc_nmt_plugin[slurm]'",
    "subword_nmt": "subword-nmt",
    "tensorboard": "tensorboard",
    "tensorboardX": "tensorboardX",
    "wandb": "wandb",
}
_LIBRARIES = ("fairseq.*", "fairseq_cli.*", "torch.*", "sacrebleu.*", "dc_nmt_plugin.*")


def explained(error: BaseException, words: Sequence[str] | None = None) -> str | None:
    """Returns a sentence for a known failure, or None where only a traceback helps.

    Args:
        error: what ended the program
        words: the command line without the program's name; default this process's
    """
    if (known := refusal(error)) is not None:
        return known
    sentence = _sentence(error, sys.argv[1:] if words is None else words)
    return f"{sentence.rstrip('.')}." if sentence else None


def _sentence(error: BaseException, words: Sequence[str]) -> str | None:
    failure = Failure.of(error)
    if reason := no_space(error):
        return ": ".join(filter(None, (failure.path, reason, MAKE_ROOM)))
    if failure.path is not None and failure.reason is not None and failure.is_a("OSError"):
        flag = _flag_of(failure.path, words)
        if flag is None and not failure.raised_in(*_LIBRARIES):
            return None
        return f"{flag or ''} {failure.path}: {failure.reason}".lstrip()
    if failure.is_a("ModuleNotFoundError"):
        missing = re.fullmatch(r"No module named '(.+)'", failure.message)
        package = _OPTIONAL.get(missing[1]) if missing else None
        if missing and package and failure.raised_in(*_LIBRARIES):
            return f"{missing[1]} is not installed: pip install {package}"
        return None
    for known in _KNOWN:
        if failure.is_a(*known.kinds.split()) and failure.raised_in(*known.places.split()):
            found = re.search(known.pattern, failure.message)
            if found:
                return known.sentence.format(found[0], *found.groups())
    return None


def _flag_of(path: str, words: Sequence[str]) -> str | None:
    """Returns the flag whose value is the path ("" for a value without a flag), or None."""
    before = ""
    for word in words:
        name, _, value = word.partition("=")
        if value and value.rstrip("/") == path.rstrip("/"):
            return name
        if word.rstrip("/") == path.rstrip("/"):
            return before
        before = word if word.startswith("--") else ""
    return None
