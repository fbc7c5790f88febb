"""What the layers of a stack share in one forward pass: mask, inputs, source, decoding session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

from .masks import SequenceMask
from .session import Session
from .source import Source

Result = TypeVar("Result")


class Flow:
    """Holds what every layer of a stack gets beside its input x, in one forward pass.

    A mechanism takes from it what it needs, and what nobody takes is not computed. A mechanism that
    needs something new adds it here, and no layer changes.

    Args:
        mask: padding and causality of the stack's sequences; None: no padding, not causal
        tokens: (B, T) their token ids; when decoding, of the whole prefix
        session: the decoding session, or None
        past: when decoding, the stack's own slot of the session, for tensors that its layers share;
            None otherwise
        source: what decoder layers attend to; None in encoders
        auxiliary_features: f^1 … f^n (R, T, C), the final states of the auxiliary decoders, which
            the main decoder fuses (thesis ch. 4, AIF); None without fusion

    Attributes:
        inputs: inputs H^1 … H^l (B, T, C) of the layers that have run, and of the running one; the
            stack appends each before the layer runs
    """

    def __init__(
        self,
        mask: SequenceMask | None = None,
        *,
        tokens: Tensor | None = None,
        session: Session | None = None,
        past: dict[str, Tensor] | None = None,
        source: Source | None = None,
        auxiliary_features: list[Tensor] | None = None,
    ) -> None:
        self.mask = SequenceMask() if mask is None else mask
        self.tokens = tokens
        self.session = session
        self.past = past
        self._source = source
        self.auxiliary_features = auxiliary_features
        self.inputs: list[Tensor] = []
        self._shared: dict[object, Any] = {}

    @classmethod
    def of(cls, x: Tensor, flow: Flow | Tensor | None) -> Flow:
        """Returns the flow of a module, which may be used outside a stack.

        Args:
            x: (B, T, C) its input
            flow: of a stack, which is returned; or padding (B, T) of x alone, True at padding; or
                None without padding

        Raises:
            TypeError: something else, such as a mask of another form
        """
        if isinstance(flow, Flow):
            return flow
        padding = isinstance(flow, Tensor) and flow.dtype is torch.bool
        if flow is not None and not (padding and flow.shape == x.shape[:2]):
            raise TypeError(
                "flow must be a Flow, such as Flow(SequenceMask.build(padding, causal=True)), or "
                "padding (B, T), bool, True at padding"
            )
        alone = cls(SequenceMask.build(flow))
        alone.inputs.append(x)
        return alone

    @property
    def is_causal(self) -> bool:
        """Returns ``is_causal`` for ``F.scaled_dot_product_attention``: False if :meth:`added_mask`
        has the causal pattern, and when decoding, where the new position sees all that there is."""
        return self.mask.causal and self.mask.allowed is None and self.session is None

    def added_mask(self, dtype: torch.dtype) -> Tensor | None:
        """Returns what the mask adds to attention logits, broadcast to (B, H, T, T), or None."""
        return self.shared(("mask", dtype), lambda: self.mask.added(dtype))

    @property
    def source(self) -> Source:
        """Returns what decoder layers attend to.

        Raises:
            ValueError: there is none, as in encoders
        """
        if self._source is None:
            raise ValueError("attention to the source, and there is none: it is for decoders")
        return self._source

    @property
    def first_position(self) -> int:
        """Returns the position of x's first column in its sequences: 0, or when decoding the number
        of earlier steps.

        Raises:
            ValueError: decoding without the prefix's tokens, which count the steps
        """
        if self.session is None:
            return 0
        if self.tokens is None:
            raise ValueError("positions in decoding are counted by the prefix's tokens; give them")
        return self.tokens.size(1) - 1

    def shared(self, key: object, compute: Callable[[], Result]) -> Result:
        """Returns ``compute()``, computed once for all layers of the stack."""
        if key not in self._shared:
            self._shared[key] = compute()
        result: Result = self._shared[key]
        return result

    def mean_weights(self, x: Tensor) -> Tensor:
        """Returns 1 / length at real positions, 0 at padding: (B, T, 1), or (1, T, 1) without."""

        def compute() -> Tensor:
            real = self.mask.real(x)
            return real / real.sum(dim=1, keepdim=True).clamp(min=1.0)

        return self.shared(("mean", x.dtype), compute)
