"""Training steps as CUDA graphs: a GPU gets all operations of a batch at once.

A small model's operations are shorter than the time in which a program starts them. A graph is
recorded for each shape of batch, so batches are padded to few shapes, and what is computed may not
depend on the numbers in a batch: :func:`shapes_are_fixed` says so to the model and the loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

MULTIPLE = 8  # of sentences and lengths
RETURNS = 2  # batches of a shape run as usual first; torch's libraries initialise in them
FREE = 0.25  # of the GPU's memory; with less, further shapes run as usual

Shape = tuple[torch.Size, ...]  # of source, decoder's input and target
_fixed = False


@contextmanager
def fixed_shapes() -> Iterator[None]:
    """Lets model and loss run the same operations for all batches of one shape.

    Sources are then taken to have padding, target sentences to begin with a real token.
    """
    global _fixed
    outer, _fixed = _fixed, True
    try:
        yield
    finally:
        _fixed = outer


def shapes_are_fixed() -> bool:
    """Returns whether this is inside :func:`fixed_shapes`."""
    return _fixed


class PaddedBatch(NamedTuple):
    """Holds a batch in a shape that other batches have too, all (B, length) token numbers."""

    source: Tensor
    previous: Tensor
    target: Tensor

    @staticmethod
    def build(
        source: Tensor, previous: Tensor, target: Tensor, padding_idx: int, *, left: bool
    ) -> PaddedBatch:
        """
        Args:
            source, previous, target: (B, length), each its own length
            padding_idx: fills longer sentences; the first sentence fills a larger batch, without
                target
            left: whether the source is padded on the left
        """
        rows = -len(target) % MULTIPLE

        def longer(tokens: Tensor, before: bool = False) -> Tensor:
            more = -tokens.size(1) % MULTIPLE
            return F.pad(tokens, (more, 0) if before else (0, more), value=padding_idx)

        def larger(tokens: Tensor) -> Tensor:
            return torch.cat([tokens, tokens[:1].expand(rows, -1)]) if rows else tokens

        return PaddedBatch(
            larger(longer(source, left)),
            larger(longer(previous)),
            F.pad(longer(target), (0, 0, 0, rows), value=padding_idx),
        )


class _Graph(NamedTuple):
    graph: torch.cuda.CUDAGraph
    inputs: PaddedBatch
    output: Tensor


class StepGraphs:
    """Runs forward and backward pass of batches, from the third batch of a shape on as a graph.

    Args:
        step: computes numbers to log, (N), from a batch, and adds gradients to the parameters
        parameters: of the model
    """

    def __init__(self, step: Callable[[PaddedBatch], Tensor], parameters: Sequence[Tensor]) -> None:
        self._step = step
        self._parameters = [param for param in parameters if param.requires_grad]
        self._gradients = [torch.empty_like(param) for param in self._parameters]  # of all graphs
        self._seen: Counter[Shape] = Counter()
        self._recorded: dict[Shape, _Graph] = {}
        self._stream = torch.cuda.Stream()

    def __call__(self, batch: PaddedBatch) -> Tensor:
        """Returns the numbers (N) of a batch, after adding its gradients."""
        shape = tuple(tokens.shape for tokens in batch)
        recorded = self._recorded.get(shape)
        if recorded is None and not self._may_record(shape):
            self._seen[shape] += 1
            return self._run(batch)
        self._share_gradients()
        if recorded is None:
            with suppress(torch.OutOfMemoryError):
                recorded = self._recorded[shape] = self._record(batch)
        if recorded is None:
            torch.cuda.empty_cache()  # while torch records, it does not free what it keeps
            self._seen[shape] = 0
            return self._run(batch)
        torch._foreach_copy_(list(recorded.inputs), list(batch))
        recorded.graph.replay()
        return recorded.output.clone()

    def _may_record(self, shape: Shape) -> bool:
        """Returns whether it is worth a graph, and the GPU has room: an operation takes 64 KB."""
        if self._seen[shape] < RETURNS:
            return False
        free, total = torch.cuda.mem_get_info()
        return free > FREE * total

    def _run(self, batch: PaddedBatch) -> Tensor:
        with fixed_shapes():
            return self._step(batch)

    def _record(self, batch: PaddedBatch) -> _Graph:
        inputs = PaddedBatch(*(tokens.clone() for tokens in batch))
        graph = torch.cuda.CUDAGraph()
        first = next(iter(self._recorded.values()), None)
        pool = None if first is None else first.graph.pool()
        self._stream.wait_stream(torch.cuda.current_stream())
        # as torch.cuda.graph, which also collects all garbage each time
        with torch.cuda.stream(self._stream):
            graph.capture_begin(pool=pool, capture_error_mode="thread_local")
            try:
                output = self._run(inputs)
            except RuntimeError:
                with suppress(RuntimeError):  # ends the recording; may find it broken
                    graph.capture_end()
                raise  # the first error
            graph.capture_end()
        torch.cuda.current_stream().wait_stream(self._stream)
        return _Graph(graph, inputs, output)

    def _share_gradients(self) -> None:
        """Makes the parameters' gradients those that the graphs add to."""
        pairs = list(zip(self._parameters, self._gradients, strict=True))
        new = [shared for parameter, shared in pairs if parameter.grad is None]
        if new:
            torch._foreach_zero_(new)
        for parameter, shared in pairs:
            if parameter.grad is not None and parameter.grad is not shared:
                shared.copy_(parameter.grad)
            parameter.grad = shared
