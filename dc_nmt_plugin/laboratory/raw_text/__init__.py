"""Text as it comes in: the settings of its preparation, checks and tokenisers.

Tests: ``tests/unit/raw_text``.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class TextSettings(msgspec.Struct, frozen=True):
    """Settings of a task's text preparation, ``text`` of its recipe, with Moses' scripts."""

    # tokenizer.perl (Chinese: jieba); split at punctuation and digits, which can be undone exactly;
    # none: the words are separated already; raw: they are not, and sentencepiece needs no words
    tokenizer: Literal["moses", "split", "none", "raw"] = "moses"
    hyphens: bool = False  # split into @-@ (tokenizer.perl -a)
    # lowercase.perl; truecase.perl, learnt on the training text
    casing: Literal["keep", "lower", "truecase"] = "keep"
    punctuation: bool = False  # normalize-punctuation.perl, remove-non-printing-char.perl
    # training pairs with a longer side, or a greater ratio of lengths, are dropped; 0: no limit
    max_tokens: int = 0
    ratio: float = 0
    undo: Literal["", "moses", "split", "none"] = ""  # in the output; default: `tokenizer`

    @property
    def scored_as(self) -> str:
        """Returns the tokeniser's name for ``dc-nmt score --tokenizer``, which undoes it."""
        undone = self.undo or self.tokenizer
        if undone == "raw":
            return "none"
        return "moses-a" if undone == "moses" and self.hyphens else undone
