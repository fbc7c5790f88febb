"""Distributes the published tokens of an update over the GPUs of this machine."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UsageError


@dataclass(frozen=True)
class Batch:
    """Distribution of an update's tokens over processes."""

    workers: int  # number of processes
    max_tokens: int  # of one process at a time
    update_freq: int  # number of batches whose gradients each process sums

    @property
    def tokens(self) -> int:
        """Returns the tokens of one update."""
        return self.workers * self.max_tokens * self.update_freq

    def describe(self, published: int) -> str:
        """Returns a sentence for the user."""
        text = (
            f"{self.tokens:,} tokens per update = {self.workers} x {self.max_tokens:,} "
            f"(--max-tokens) x {self.update_freq} (--update-freq)"
        )
        if abs(self.tokens - published) > 0.01 * published:
            return f"{text}; not the recipe's {published:,}"
        return text


def share_out(tokens: int, workers: int, max_tokens: int, longest: int = 0) -> Batch:
    """Distributes an update's ``tokens`` over ``workers``, each ``max_tokens`` at most at a time.

    Raises:
        UserError: a process would get fewer tokens than the longest sentence has
    """
    update_freq = -(-tokens // (workers * max_tokens))
    batch = Batch(workers, round(tokens / (workers * update_freq)), update_freq)
    if batch.max_tokens >= max(1, longest):
        return batch
    if max_tokens < longest:
        raise UsageError(
            f"--max-tokens {max_tokens}: the longest sentence has {longest} tokens and has to "
            "fit into a batch"
        )
    raise UsageError(
        f"--gpus: {workers} processes would each get {batch.max_tokens} of an update's "
        f"{tokens:,} tokens, and the longest sentence has {longest}: use fewer"
    )


def visible_gpus() -> int:
    """Returns the number of GPUs of this machine that torch may use."""
    import torch

    return torch.cuda.device_count()
