"""One Transformer on three axes: self-attention kind, source features, auxiliary decoders."""

from .model import MODEL_NAME, TransformerModel

__all__ = ["MODEL_NAME", "TransformerModel"]
