"""The quickstart: small models on generated text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from ..models.presets.family import Family
from ..pipeline import Command, Step
from ..stamps import digest
from ..text.corpus.codes import LANGUAGES
from .experiment import Experiment
from .preparation import Preparation
from .schema import Segmentation
from .settings import translation_family
from .training import TrainingStep, training_step

SEGMENTATION = Segmentation(operations=2000)
AVERAGE = 3
CHECKPOINTS = 20  # at most, of a training run
DECODE = ("--beam", "5", "--max-tokens", "4096", "--max-len-a", "2", "--max-len-b", "20")


_TRANSFORMER = (
    "--encoder-layers 2 --decoder-layers 2 --encoder-embed-dim 128 --decoder-embed-dim 128 "
    "--encoder-ffn-embed-dim 256 --decoder-ffn-embed-dim 256 "
    "--encoder-attention-heads 4 --decoder-attention-heads 4 --share-all-embeddings"
)
# with the published initial weights Adam, unlike the published Adadelta, saturates the states
_GRU = "--embed-dim 128 --hidden-dim 256 --weight-init xavier --output-bias-init unigram"


@dataclass(frozen=True)
class Quickstart:
    """Describes all steps of the quickstart.

    Attributes:
        work: output folder
        corpus: the step that generates the text
        preparation: of the text
        models: run and training of each architecture
    """

    work: Path
    corpus: Step
    preparation: Preparation
    models: list[tuple[Experiment, TrainingStep]]


def plan_quickstart(
    pair: str, archs: Sequence[str], out: Path, updates: int, seed: int, flags: Sequence[str]
) -> Quickstart:
    """Plans the steps of ``dc-nmt quickstart``.

    Args:
        pair: source-target
        archs: architectures
        out: output folder
        updates: training updates of each model
        seed: of the corpus and of the training run
        flags: of fairseq-train, after the quickstart's own

    Raises:
        UserError: no such pair, or no such architecture
    """
    source, _, target = pair.partition("-")
    if source == target or not {source, target} <= set(LANGUAGES):
        raise UsageError(
            f"--pair: {pair!r} is not SOURCE-TARGET with two different ones of "
            f"{', '.join(LANGUAGES)}"
        )
    families = {arch: translation_family("ARCH", arch) for arch in archs}  # each once
    work = out / pair
    words = ["dc-nmt", "corpus", "--source-lang", source, "--target-lang", target]
    words += ["--seed", str(seed), "--out"]
    corpus = Step(
        f"make the {pair} corpus",
        work / "corpus",
        lambda: digest([1, pair, seed]),
        lambda to: [Command([*words, str(to)])],
    )
    preparation = Preparation(
        (source, target),
        work,
        raw=corpus.folder,
        tokenizer="split",
        tokenised=None,
        segmentations=(SEGMENTATION,),
        cleaned=False,
        workers=None,
    )
    models = []
    for arch, family in families.items():
        run = Experiment(
            arch,
            family.task,
            family.criterion,
            source,
            target,
            raw=corpus.folder,
            binarised=preparation.binarised(SEGMENTATION),
            folder=work / arch,
            average=min(updates, AVERAGE),
            decode=DECODE,
            score=("--tokenizer", "split"),
            score_stamp="",
        )
        save_every = -(-updates // CHECKPOINTS)
        settings = _settings(family, updates, seed)
        # fairseq would train on all GPUs, with as many times the tokens per update
        one_gpu = ["--distributed-world-size", "1"]
        given = (*settings, *one_gpu, *flags)
        identity = (*settings, *flags)
        step = training_step(run, updates, save_every, identity, given, ["fairseq-train"])
        if flags:
            step.check_flags()
        models.append((run, step))
    return Quickstart(work, corpus, preparation, models)


def _settings(family: Family, updates: int, seed: int) -> list[str]:
    text = f"{_GRU if family.task == 'gru_selfattn_residual' else _TRANSFORMER} " + (
        "--dropout 0.1 --label-smoothing 0.1 --clip-norm 1.0 --max-tokens 2048 --optimizer adam"
    )
    rate = ["--adam-betas", "(0.9, 0.98)", "--lr", "2e-3", "--lr-scheduler", "cosine"]
    rate += ["--warmup-updates", str(-(-updates // 10))]
    return [*text.split(), *rate, "--seed", str(seed)]
