"""Beam search with fairseq's results, fewer passes over the vocabulary, and fewer waits."""

from __future__ import annotations

import math
from typing import Any

import torch
from fairseq.search import BeamSearch
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor, nn

from ..errors import UserError
from ..modules.core.session import Session
from ..modules.core.source import Source
from .onednn_layers import onednn_layers

Hypotheses = list[list[dict[str, Tensor]]]


class RepeatBlocker(nn.Module):
    """Forbids n-grams that a hypothesis has already (``--no-repeat-ngram-size``).

    fairseq's own module reads the padding behind a hypothesis instead, and forbids nothing.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, tokens: Tensor, lprobs: Tensor, _: int, __: int, step: int) -> Tensor:
        """
        Args:
            tokens: (rows, longest) hypotheses, the start symbol first and padding last
            lprobs: (rows, V) log-probabilities of the next token; changed in place
            step: number of tokens of each hypothesis
        """
        words = tokens[:, 1 : step + 1]
        if step < self.size:
            return lprobs
        grams = words.unfold(1, self.size, 1)  # (rows, step - n + 1, n)
        last = words[:, step - self.size + 1 :]  # (rows, n - 1)
        repeats = grams[:, :, :-1].eq(last[:, None]).all(dim=-1)
        forbidden = torch.zeros_like(repeats, dtype=lprobs.dtype).masked_fill(repeats, -math.inf)
        return lprobs.scatter_add_(1, grams[:, :, -1], forbidden)


class BeamSearchGenerator(SequenceGenerator):
    """Finds the hypotheses of fairseq's generator, with a faster loop for plain beam search.

    At every step fairseq searches hypotheses × vocabulary for NaN, several times, and reorders the
    encoder's output, which all hypotheses of a sentence share.

    All other searches (sampling, prefixes, constraints, a second language model, attention weights)
    and models of stock fairseq use fairseq's own loop.
    """

    def _generate(
        self,
        sample: dict[str, Any],
        prefix_tokens: Tensor | None = None,
        constraints: Tensor | None = None,
        bos_token: int | None = None,
    ) -> Hypotheses:
        net_input = sample["net_input"]
        with onednn_layers(getattr(model, "decoder", model) for model in self.model.models):
            if prefix_tokens is None and constraints is None and self._is_plain(net_input):
                return self._beam_search(net_input, bos_token)
            finalized: Hypotheses = super()._generate(sample, prefix_tokens, constraints, bos_token)
        return finalized

    def _is_plain(self, net_input: dict[str, Any]) -> bool:
        decoders = [model.decoder for model in self.model.models]
        return (
            all(getattr(decoder, "one_source_a_sentence", False) for decoder in decoders)
            and not any(decoder.need_attn for decoder in decoders)
            and type(self.search) is BeamSearch
            and "src_lengths" in net_input
            and self.lm_model is None
            and self.token_indices_to_suppress is None
            and not self.match_source_len
            and self.vocab_size > 2 * self.beam_size  # that many candidates a hypothesis
            # fairseq makes its own refusals
            and self.min_len <= self._longest(net_input["src_tokens"])
        )

    def _longest(self, source: Tensor) -> int:
        """Returns the greatest number of tokens of a hypothesis, without the end token."""
        return min(int(self.max_len_a * source.size(1) + self.max_len_b), self.max_len - 1)

    def _beam_search(self, net_input: dict[str, Any], bos_token: int | None) -> Hypotheses:
        """Searches with hypotheses as rows; the `beam` hypotheses of a sentence are adjacent.

        Long, because every step of the loop needs all of its variables.
        """
        source, lengths = net_input["src_tokens"], net_input["src_lengths"]
        sentences, beam, longest = source.size(0), self.beam_size, self._longest(source)
        encoded: list[Source] = self.model.forward_encoder(net_input)
        sessions: list[Session] = [{} for _ in self.model.models]
        tokens = source.new_full((sentences * beam, longest + 2), self.pad)
        tokens[:, 0] = self.eos if bos_token is None else bos_token
        scores = torch.zeros(sentences * beam, longest + 1, device=source.device)  # cumulative
        results: Hypotheses = [[] for _ in range(sentences)]
        ready = [False] * sentences  # which have all hypotheses

        for step in range(longest + 1):
            # at the first step, all hypotheses of a sentence are the same
            prefix = tokens[:, : step + 1] if step else tokens[::beam, :1]
            lprobs, _ = self.model.forward_decoder(prefix, encoded, sessions, self.temperature)
            self._forbid(lprobs, step, longest)
            if self.repeat_ngram_blocker is not None:
                self.repeat_ngram_blocker(tokens, lprobs, sentences, beam, step)
            # continuations of each sentence's hypotheses, (sentences, 2 * beam), best first
            best, words, rows = self._best(lprobs, scores[:, step - 1] if step else None)

            ends = words.eq(self.eos) & best.ne(-math.inf)
            # a hypothesis ends where the end token is among the best `beam` of its sentence
            first = ends[:, :beam]
            ended = rows[:, :beam].masked_select(first)
            done: list[int] = []  # sentences, as they are numbered now
            if ended.numel():
                sums = best[:, :beam].masked_select(first)
                done = self.finalize_hypos(  # None: no attention weights
                    step, ended, sums, tokens, scores, results, ready, beam, None, lengths, longest
                )
            if all(ready):
                break
            keep: Tensor | None = None
            if done:
                left = sorted(set(range(len(ends))) - set(done))
                keep = torch.tensor(left, device=source.device)
                best, words, rows, ends = best[keep], words[keep], rows[keep], ends[keep]
                lengths = lengths[keep]

            # the best `beam` candidates that go on, in their order
            active = ends.to(torch.uint8).argsort(dim=1, stable=True)[:, :beam]
            rows = rows.gather(1, active).view(-1)
            tokens, scores = tokens.index_select(0, rows), scores.index_select(0, rows)
            tokens[:, step + 1] = words.gather(1, active).view(-1)
            scores[:, step] = best.gather(1, active).view(-1)
            if step == 0:  # the models have one row a sentence
                rows = rows.div(beam, rounding_mode="floor")
            self.model.reorder_incremental_state(sessions, rows)
            # a source has one row a sentence, so only an ended sentence changes it
            if keep is not None:
                encoded = [source.select(keep) for source in encoded]
            if step == 0:
                encoded = [source.repeat(beam) for source in encoded]

        return _best_first(results)

    def _forbid(self, lprobs: Tensor, step: int, longest: int) -> None:
        """Sets `lprobs` (rows, V) of forbidden next tokens to -inf."""
        lprobs[:, self.pad] = -math.inf
        if self.unk_penalty:
            lprobs[:, self.unk] -= self.unk_penalty
        if step >= longest:
            lprobs[:, : self.eos] = -math.inf
            lprobs[:, self.eos + 1 :] = -math.inf
        elif step < self.min_len:
            lprobs[:, self.eos] = -math.inf

    def _best(self, lprobs: Tensor, scores: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the 2 × beam best continuations of each sentence's hypotheses, best first.

        Args:
            lprobs: (rows, V) log-probabilities of the next token; at the first step (sentences, V)
            scores: (rows) of the hypotheses so far; None at the first step

        Returns:
            their scores, next tokens, and the rows that they continue, each (sentences, 2 * beam)
        """
        vocabulary = lprobs.size(1)
        sums = lprobs
        if scores is not None:
            sums = sums.add_(scores[:, None]).view(-1, self.beam_size * vocabulary)
        best, index = sums.topk(2 * self.beam_size)
        if bool(best.isnan().any()):  # NaN comes first, and is worth nothing to fairseq
            sums = sums.nan_to_num(-math.inf, math.inf, -math.inf)
            best, index = sums.topk(2 * self.beam_size)
        starts = torch.arange(0, len(best) * self.beam_size, self.beam_size, device=best.device)
        rows = index.div(vocabulary, rounding_mode="floor") + starts[:, None]
        return best, index.remainder(vocabulary), rows


def _best_first(results: Hypotheses) -> Hypotheses:
    """Returns the hypotheses of each sentence, the one with the highest score first."""
    if not all(results):
        raise UserError(
            f"{results.count([])} of {len(results)} sentences get no translation: the model's "
            "scores are not numbers (NaN): its training has diverged, or --fp16 is too coarse for "
            "it; decode without --fp16, or with an earlier checkpoint."
        )
    # one transfer from a GPU, not one for each hypothesis
    found = [hypothesis for hypotheses in results for hypothesis in hypotheses]
    scores = iter(torch.stack([hypothesis["score"] for hypothesis in found]).tolist())
    ordered = []
    for hypotheses in results:
        with_scores = [(next(scores), hypothesis) for hypothesis in hypotheses]
        with_scores.sort(key=lambda pair: pair[0], reverse=True)
        ordered.append([hypothesis for _, hypothesis in with_scores])
    return ordered
