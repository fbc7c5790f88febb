"""Flags of the recurrent models, and checks of their values."""

from collections.abc import Iterator

from ..options import CheckedConfig, flag, rate, size

AND_LAST = "+last"  # beside the last word, not in its place
_SUMMARIES = ("mean", "content", "content+scope")
_RESIDUALS = (*_SUMMARIES, *(summary + AND_LAST for summary in _SUMMARIES))
READOUTS = ("baseline", *_RESIDUALS, "memory-rnn", "self-attentive-rnn")
LM_READOUTS = ("plain", "baseline", *_RESIDUALS)


class _RecurrentConfig(CheckedConfig):
    """Settings that both models have."""

    embed_dim: int = size(500, "width of the embeddings and of the readout")
    hidden_dim: int = size(1024, "width of the recurrent states, in each direction")
    readout: str = flag("content", "summary of the earlier words for the output layer")
    dropout: float = rate(0.5, "dropout probability")
    dropout_after: str = flag(
        "all",
        "position of dropout: after embeddings, recurrent layers and readout (all), as "
        "in the paper; or only after the readout (readout), as in its released code",
        one_of=("all", "readout"),
    )
    weight_init: str = flag(
        "dl4mt",
        "initial weights: N(0, 0.01^2) with orthogonal square matrices (dl4mt); N(0, 0.01^2) for "
        "all (normal); or Glorot's uniform with embeddings N(0, 1/embed-dim) (xavier)",
        one_of=("dl4mt", "normal", "xavier"),
    )
    output_bias_init: str = flag(
        "zero",
        "initial bias of the output layer: zero, as published, or the logarithm of the word "
        "frequencies (unigram). With Adam and zero biases, the states saturate early",
        one_of=("zero", "unigram"),
    )
    share_decoder_input_output_embed: bool = flag(
        False, "share the input and output embeddings of the target words"
    )
    max_target_positions: int = size(1024, "longest target, in tokens")

    @property
    def inner_dropout(self) -> float:
        """Returns the dropout of all parts except the readout."""
        return self.dropout if self.dropout_after == "all" else 0.0


class GRUConfig(_RecurrentConfig):
    """Settings of the GRU encoder-decoder; each is a flag (``--embed-dim`` …)."""

    readout: str = flag(
        "content",
        "summary of the earlier words for the output layer: the last word (baseline), the mean, or "
        "an attentive average (content, content+scope). mean+last and so on add the last word, "
        "which the paper does not. memory-rnn and self-attentive-rnn attend to earlier states, in "
        "the recurrence or beside the last word",
        one_of=READOUTS,
    )
    attention_dim: int = flag(
        0,
        "hidden width of the attention over the source; 0: twice --hidden-dim, as published",
        at_least=0,
    )
    max_source_positions: int = size(1024, "longest source, in tokens")


class LanguageModelConfig(_RecurrentConfig):
    """Settings of the LSTM language model; each is a flag (``--embed-dim`` …)."""

    embed_dim: int = size(296, "width of the embeddings and of the readout")
    hidden_dim: int = size(296, "width of the LSTM's states")
    readout: str = flag(
        "content",
        "what the output layer sees beside the LSTM's state: nothing (plain; no readout layer), "
        "the last word (baseline), the mean of the words so far, or an attentive average of them "
        "(content, content+scope), any of these with the last word added (mean+last and so on)",
        one_of=LM_READOUTS,
    )
    max_target_positions: int = size(100000, "longest text, in tokens")

    def contradictions(self) -> Iterator[str]:
        """See :class:`CheckedConfig`."""
        tied_widths_differ = self.readout == "plain" and self.embed_dim != self.hidden_dim
        if self.share_decoder_input_output_embed and tied_widths_differ:
            yield (
                "--share-decoder-input-output-embed: with --readout plain, --embed-dim "
                f"{self.embed_dim} and --hidden-dim {self.hidden_dim} must be equal."
            )
