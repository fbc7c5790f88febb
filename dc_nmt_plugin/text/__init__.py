"""Text: settings of its preparation, lines, checks and tokenisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(unsafe_hash=True)
class TextSettings:
    """Settings of a task's text preparation: ``text`` of its recipe.

    Attributes:
        tokenizer: ``moses`` (tokenizer.perl; Chinese is segmented by jieba), ``split`` (at
            punctuation and digits, so that it can be undone exactly) or ``none``
        hyphens: split them into ``@-@`` (tokenizer.perl -a)
        casing: ``keep``, ``lower`` (lowercase.perl) or ``truecase`` (truecase.perl, learnt on the
            training text)
        punctuation: normalise it and remove characters that do not print
            (normalize-punctuation.perl, remove-non-printing-char.perl)
        max_tokens, ratio: drop training pairs with a longer side, or with a greater ratio of
            lengths (clean-corpus-n.perl); 0 for no limit
        undo: tokeniser that ``dc-nmt score`` undoes in the output; "" for `tokenizer`
    """

    tokenizer: Literal["moses", "split", "none"] = "moses"
    hyphens: bool = False
    casing: Literal["keep", "lower", "truecase"] = "keep"
    punctuation: bool = False
    max_tokens: int = 0
    ratio: float = 0
    undo: Literal["", "moses", "split", "none"] = ""

    @property
    def scored_as(self) -> str:
        """Returns the tokeniser's name for ``dc-nmt score --tokenizer``, which undoes it."""
        undone = self.undo or self.tokenizer
        return "moses-a" if undone == "moses" and self.hyphens else undone

    @property
    def stamp(self) -> str:
        """Returns the settings in a few words: the tokenizer's name if nothing else is set."""
        words: list[str] = [self.tokenizer]
        words += ["hyphens"] * self.hyphens + ["punctuation"] * self.punctuation
        words += [self.casing] if self.casing != "keep" else []
        words += [f"{self.max_tokens}/{self.ratio:g}"] if self.max_tokens or self.ratio else []
        return " ".join(words)
