"""Training and decoding speed against fairseq's own transformer."""
