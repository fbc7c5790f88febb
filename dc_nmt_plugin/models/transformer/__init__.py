"""One Transformer on three axes: self-attention kind, source features, auxiliary decoders."""
