"""Beam search with fairseq's results, fewer passes over the vocabulary, and fewer waits."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import Any, NamedTuple

import torch
from fairseq.search import BeamSearch
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from ..errors import UserError

Hypotheses = list[list[dict[str, Tensor]]]


class _Candidates(NamedTuple):
    """Holds continuations of each sentence's hypotheses, (sentences, 2 * beam), best first."""

    scores: Tensor
    words: Tensor
    rows: Tensor
    """of the hypotheses that they continue"""

    def of(self, sentences: Tensor) -> _Candidates:
        return _Candidates(*(part.index_select(0, sentences) for part in self))


class BeamSearchGenerator(SequenceGenerator):
    """Finds the hypotheses of fairseq's generator, with a faster loop for plain beam search.

    At every step fairseq makes five unnecessary passes over hypotheses × vocabulary. It searches
    for NaN, adds the hypotheses' scores, and chooses among the types of all beams at once. It also
    reorders the encoder's output, which all hypotheses of a sentence share. Here the best types of
    each hypothesis are chosen first, and only these compete.

    All other searches (sampling, prefixes, constraints, n-gram blocking, a second language model)
    use fairseq's own loop.
    """

    def _generate(
        self,
        sample: dict[str, Any],
        prefix_tokens: Tensor | None = None,
        constraints: Tensor | None = None,
        bos_token: int | None = None,
    ) -> Hypotheses:
        if prefix_tokens is None and constraints is None and self._is_plain(sample["net_input"]):
            return self._beam_search(sample["net_input"], bos_token)
        found: Hypotheses = super()._generate(sample, prefix_tokens, constraints, bos_token)
        return found

    def _is_plain(self, net_input: dict[str, Any]) -> bool:
        return (
            type(self.search) is BeamSearch
            and "src_lengths" in net_input
            and self.lm_model is None
            and self.repeat_ngram_blocker is None
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

        Raises:
            UserError: a sentence gets no hypothesis
        """
        source, lengths = net_input["src_tokens"], net_input["src_lengths"]
        sentences, beam, longest = source.size(0), self.beam_size, self._longest(source)
        states: list[dict[str, Any]] = [{} for _ in range(self.model.models_size)]
        repeated = torch.arange(sentences, device=source.device).repeat_interleave(beam)
        encoded = self.model.reorder_encoder_out(self.model.forward_encoder(net_input), repeated)
        tokens = source.new_full((sentences * beam, longest + 2), self.pad)
        tokens[:, 0] = self.eos if bos_token is None else bos_token
        scores = torch.zeros(sentences * beam, longest + 1, device=source.device)  # cumulative
        attention: Tensor | None = None  # (rows, M, longest + 2)
        found: Hypotheses = [[] for _ in range(sentences)]
        finished = [False] * sentences

        for step in range(longest + 1):
            lprobs, weights = self.model.forward_decoder(
                tokens[:, : step + 1], encoded, states, self.temperature
            )
            self._forbid(lprobs, step, longest)
            candidates = self._candidates(lprobs, scores[:, step - 1] if step else None)
            if weights is not None:
                if attention is None:
                    attention = weights.new_empty(*weights.shape, longest + 2)
                attention[:, :, step + 1] = weights

            ends = candidates.words.eq(self.eos) & candidates.scores.ne(-math.inf)
            # a hypothesis ends where the end token is among the best `beam` of its sentence
            first = ends[:, :beam]
            ended = candidates.rows[:, :beam].masked_select(first)
            done: list[int] = []  # sentences, as they are numbered now
            if ended.numel():
                done = self.finalize_hypos(
                    step,
                    ended,
                    candidates.scores[:, :beam].masked_select(first),
                    tokens,
                    scores,
                    found,
                    finished,
                    beam,
                    attention,
                    lengths,
                    longest,
                )
            if all(finished):
                break
            if done:
                left = sorted(set(range(len(ends))) - set(done))
                keep = torch.tensor(left, device=source.device)
                candidates = candidates.of(keep)
                ends, lengths = ends[keep], lengths[keep]

            # the best `beam` candidates that go on, in their order
            active = ends.to(torch.uint8).argsort(dim=1, stable=True)[:, :beam]
            rows = candidates.rows.gather(1, active).view(-1)
            tokens, scores = tokens.index_select(0, rows), scores.index_select(0, rows)
            tokens[:, step + 1] = candidates.words.gather(1, active).view(-1)
            scores[:, step] = candidates.scores.gather(1, active).view(-1)
            if attention is not None:
                attention = attention.index_select(0, rows)
            self.model.reorder_incremental_state(states, rows)
            if done:
                encoded = self.model.reorder_encoder_out(encoded, rows)

        if not all(found):
            raise UserError(
                f"{found.count([])} of {sentences} sentences get no translation: the model's "
                "scores are not numbers (NaN): its training has diverged, or --fp16 is too coarse "
                "for it; decode without --fp16, or with an earlier checkpoint."
            )
        # one transfer for all scores, and so one wait
        values = iter(torch.stack([each["score"] for rows in found for each in rows]).tolist())
        by_score = [[(next(values), each) for each in rows] for rows in found]
        return [
            [each for _, each in sorted(rows, key=itemgetter(0), reverse=True)] for rows in by_score
        ]

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

    def _candidates(self, lprobs: Tensor, scores: Tensor | None) -> _Candidates:
        """Returns the 2 × beam best continuations of each sentence's hypotheses, best first.

        Args:
            lprobs: (rows, V) log-probabilities of the next token
            scores: (rows) of the hypotheses so far; None at the first step, where all hypotheses
                of a sentence are the same and only the first counts
        """
        beam, number = self.beam_size, 2 * self.beam_size
        if scores is None:
            lprobs = lprobs[::beam]
        best, words = lprobs.topk(number)  # (rows, 2 * beam)
        if scores is not None:
            best = best + scores[:, None]
        best = best.nan_to_num(-math.inf, math.inf, -math.inf)  # as fairseq does for NaN
        of_sentence = 1 if scores is None else beam
        best = best.view(-1, of_sentence * number)
        best, index = best.topk(number)
        row = index.div(number, rounding_mode="floor")
        row += torch.arange(0, len(best) * beam, beam, device=row.device)[:, None]
        return _Candidates(best, words.view(len(best), -1).gather(1, index), row)
