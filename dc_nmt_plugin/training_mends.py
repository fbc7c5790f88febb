"""What fairseq's training does wrong whatever the versions, mended in this process."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

_applied = False


def apply() -> None:
    """Mend fairseq's training in this process; calling it again does nothing."""
    global _applied
    if _applied:
        return
    _applied = True
    _end_idle_workers()
    _count_the_time_of_continued_trainings()
    _clip_where_the_gradients_are()
    _unscale_once()


def _end_idle_workers() -> None:
    """fairseq leaves each epoch's loader with workers that live on, each with a copy of all memory
    that the training has overwritten since: end them when the last batch is there.

    Left to Python's collector they end late or never, and not by themselves: it closes the queue
    that would tell them before the loader asks them to, which then waits for five seconds.
    """
    from fairseq.data.iterators import BackgroundConsumer, EpochBatchIterator

    make: Callable[..., Any] = BackgroundConsumer.__init__
    stock: Callable[..., Any] = EpochBatchIterator.next_epoch_itr

    @functools.wraps(make)
    def __init__(self: Any, queue: Any, source: Any, *args: Any, **kwargs: Any) -> None:
        make(self, queue, _EndingItsWorkers(source), *args, **kwargs)

    @functools.wraps(stock)
    def next_epoch_itr(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.num_workers and not self.buffer_size:  # read without a consumer
            gc.collect()
        return stock(self, *args, **kwargs)

    BackgroundConsumer.__init__ = __init__
    EpochBatchIterator.next_epoch_itr = next_epoch_itr


class _EndingItsWorkers:
    """A loader whose workers end when its iterator does: exhausted, dropped or failed."""

    def __init__(self, loader: Iterable[Any]) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self._loader)
        try:
            yield from batches
        finally:
            end = getattr(batches, "_shutdown_workers", None)  # without workers there is none
            if end is not None:
                end()


def _count_the_time_of_continued_trainings() -> None:
    """A checkpoint's meters replace those that run, and fairseq's clock of the whole training (its
    log's ``wall``) is then one that was never started: it says 0 to the end. Let it run on.
    """
    from fairseq.logging import metrics

    stock: Callable[[Any], None] = metrics.load_state_dict

    @functools.wraps(stock)
    def load_state_dict(state: Any) -> None:
        started = getattr(metrics.get_meter("default", "wall"), "start_time", None)
        stock(state)
        clock = metrics.get_meter("default", "wall")
        if started is not None and clock is not None:
            clock.start_time = started

    metrics.load_state_dict = load_state_dict


def _clip_where_the_gradients_are() -> None:
    """Clip gradients on the CPU on a machine that has a GPU.

    fairseq takes the norm to the GPU whenever there is one, where a training with ``--cpu`` fails.
    On a GPU the norms of all parameters are one operation here.
    """
    from fairseq import utils

    @torch.no_grad()
    def clip_grad_norm_(
        params: Any, max_norm: float, aggregate_norm_fn: Callable[..., Any] | None = None
    ) -> torch.Tensor:
        params = [params] if isinstance(params, torch.Tensor) else list(params)
        there = [p for p in params if p is not None and p.grad is not None]
        every = [p.grad.detach() for p in there]
        grads = [p.grad.detach() for p in there if not hasattr(p, "expert")]
        if not grads:
            return params[0].new_tensor(0.0) if params else torch.tensor(0.0)
        if grads[0].is_cuda:
            norms = list(torch._foreach_norm(grads, 2, dtype=torch.float32))
        else:
            norms = [torch.norm(grad, p=2, dtype=torch.float32) for grad in grads]
        total = norms[0] if len(norms) == 1 else torch.norm(torch.stack(norms))
        if aggregate_norm_fn is not None:
            total = aggregate_norm_fn(total)
        if max_norm > 0:
            torch._foreach_mul_(every, (float(max_norm) / (total + 1e-6)).clamp_(max=1))
        return total

    utils.clip_grad_norm_ = clip_grad_norm_


def _unscale_once() -> None:
    """Divide the gradients by ``--amp``'s loss scale once, and heed its flags.

    fairseq unscales the optimizer inside its own and then steps its own, of which torch's scaler
    knows nothing: it unscales the same gradients again. ``--amp-init-scale`` and
    ``--amp-scale-window`` were read from each other's places.
    """
    from fairseq.optim.amp_optimizer import AMPOptimizer

    init = AMPOptimizer.__init__

    def new(self: Any, cfg: Any, params: Any, fp32_optimizer: Any, **kwargs: Any) -> None:
        init(self, cfg, params, fp32_optimizer, **kwargs)
        window = cfg.common.amp_scale_window
        options = {} if window is None else {"growth_interval": window}
        self._grad_scaler = torch.amp.GradScaler(
            "cuda", init_scale=cfg.common.amp_init_scale, **options
        )

    def step(self: Any) -> None:
        states = self.scaler._per_optimizer_states
        if id(self.optimizer) in states:  # clipping has unscaled
            states[id(self.fp32_optimizer)] = states[id(self.optimizer)]
        self.scaler.step(self.fp32_optimizer)
        self.scaler.update()

    AMPOptimizer.__init__ = new
    AMPOptimizer.step = step
