"""What fairseq asks of a decoder before it generates."""

from __future__ import annotations

from typing import Any

from ..errors import ConfigError


class Generating:
    """Mixin of decoders.

    Attributes:
        need_attn: whether attention weights are to be returned
    """

    need_attn = False

    def make_generation_fast_(
        self, need_attn: bool = False, retain_dropout: bool = False, **unused: Any
    ) -> None:
        """fairseq's hook before generation; `need_attn` with ``--print-alignment``.

        Raises:
            ConfigError: ``--retain-dropout``, which only fairseq's own dropout modules can do
        """
        if retain_dropout:
            raise ConfigError(
                [
                    "--retain-dropout: the models of this plugin have no dropout outside training; "
                    "leave it and --retain-dropout-modules out."
                ]
            )
        self.need_attn = need_attn
