"""Hook that fairseq calls before generation."""

from __future__ import annotations

from typing import Any

from ..errors import ConfigError


class Generating:
    """Mixin of decoders.

    Attributes:
        need_attn: return attention weights
    """

    need_attn = False

    def make_generation_fast_(
        self, need_attn: bool = False, retain_dropout: bool = False, **unused: Any
    ) -> None:
        """Prepares generation; fairseq passes `need_attn` with ``--print-alignment``.

        Raises:
            ConfigError: ``--retain-dropout``, which only fairseq's dropout modules support
        """
        if retain_dropout:
            raise ConfigError(
                [
                    "--retain-dropout: the models of this plugin have no dropout outside training; "
                    "leave it and --retain-dropout-modules out."
                ]
            )
        self.need_attn = need_attn
