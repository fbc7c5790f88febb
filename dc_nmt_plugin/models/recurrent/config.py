"""The flags of the recurrent models, and what is wrong with their values."""

# fairseq reads the fields' types at run time: no postponed annotations here.
from dataclasses import dataclass, field
from typing import Any

from fairseq.dataclass import FairseqDataclass

from ...errors import ConfigError, choice_problem

READOUTS = ("baseline", "mean", "content", "content+scope", "memory-rnn", "self-attentive-rnn")
LM_READOUTS = ("plain", "baseline", "mean", "content", "content+scope")
WEIGHT_INITS = ("dl4mt", "normal", "xavier")
OUTPUT_BIAS_INITS = ("zero", "unigram")
DROPOUT_AFTER = ("all", "readout")


def _flag(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass
class _RecurrentConfig(FairseqDataclass):
    """What both models have."""

    embed_dim: int = _flag(500, "width of the embeddings and of the readout")
    hidden_dim: int = _flag(1024, "width of the recurrent states, in each direction")
    readout: str = _flag(
        "content",
        "what the output layer sees of the words so far: the last word (baseline), their mean, or "
        "an attentive average (content, content+scope)",
    )
    dropout: float = _flag(0.5, "dropout probability")
    dropout_after: str = _flag(
        "all",
        "where: after every layer (all: embeddings, recurrent layers, readout), as the paper says, "
        "or after the readout only (readout), as its released code has it",
    )
    weight_init: str = _flag(
        "dl4mt",
        "initial weights: N(0, 0.01^2), square matrices orthogonal (dl4mt), all of them "
        "N(0, 0.01^2) (normal), or Glorot's uniform with embeddings N(0, 1/embed-dim) (xavier)",
    )
    output_bias_init: str = _flag(
        "zero",
        "initial bias of the output layer: zero, as published, or the logarithm of the words' "
        "frequencies (unigram). With Adam, zero biases let the states saturate before anything "
        "else is learnt",
    )
    share_decoder_input_output_embed: bool = _flag(
        False, "share the input and output embeddings of the target words"
    )
    max_target_positions: int = _flag(1024, "longest target, in tokens")

    def check(self) -> None:
        """
        Raises:
            ConfigError: listing everything that is wrong
        """
        problems = self._problems()
        if problems:
            raise ConfigError(problems)

    def _readouts(self) -> tuple[str, ...]:
        return READOUTS

    def _problems(self) -> list[str]:
        found = [
            choice_problem("--readout", self.readout, self._readouts()),
            choice_problem("--dropout-after", self.dropout_after, DROPOUT_AFTER),
            choice_problem("--weight-init", self.weight_init, WEIGHT_INITS),
            choice_problem("--output-bias-init", self.output_bias_init, OUTPUT_BIAS_INITS),
        ]
        problems = [problem for problem in found if problem is not None]
        if not 0 <= self.dropout < 1:
            problems.append(f"--dropout: {self.dropout} is not in [0, 1).")
        sizes = ["embed_dim", "hidden_dim", "max_target_positions"]
        return problems + at_least(self, dict.fromkeys(sizes, 1))


@dataclass
class GRUConfig(_RecurrentConfig):
    """Settings of the GRU encoder-decoder; every field is a flag (``--embed-dim`` …)."""

    readout: str = _flag(
        "content",
        "what the output layer sees of the words so far: the last word (baseline), their mean, an "
        "attentive average (content, content+scope); or attention over earlier states, in the "
        "recurrence (memory-rnn) or beside the last word (self-attentive-rnn)",
    )
    attention_dim: int = _flag(
        0, "hidden width of the attention over the source; 0: twice --hidden-dim, as published"
    )
    max_source_positions: int = _flag(1024, "longest source, in tokens")

    def _problems(self) -> list[str]:
        return super()._problems() + at_least(self, {"attention_dim": 0, "max_source_positions": 1})


@dataclass
class LanguageModelConfig(_RecurrentConfig):
    """Settings of the LSTM language model; every field is a flag (``--embed-dim`` …)."""

    embed_dim: int = _flag(296, "width of the embeddings and of the readout")
    hidden_dim: int = _flag(296, "width of the LSTM's states")
    readout: str = _flag(
        "content",
        "what the output layer sees beside the LSTM's state: nothing (plain; no readout layer), "
        "the last word (baseline), the mean of the words so far, or an attentive average of them "
        "(content, content+scope)",
    )
    max_target_positions: int = _flag(100000, "longest text, in tokens")

    def _readouts(self) -> tuple[str, ...]:
        return LM_READOUTS

    def _problems(self) -> list[str]:
        problems = super()._problems()
        tied_widths_differ = self.readout == "plain" and self.embed_dim != self.hidden_dim
        if self.share_decoder_input_output_embed and tied_widths_differ:
            problems.append(
                "--share-decoder-input-output-embed: with --readout plain, --embed-dim "
                f"{self.embed_dim} and --hidden-dim {self.hidden_dim} must be equal."
            )
        return problems


def at_least(config: Any, minima: dict[str, int]) -> list[str]:
    """A sentence for every field of `config` that is below its minimum."""
    return [
        f"--{name.replace('_', '-')}: {getattr(config, name)} is not at least {minimum}."
        for name, minimum in minima.items()
        if getattr(config, name) < minimum
    ]
