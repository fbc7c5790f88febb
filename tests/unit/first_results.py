"""A ``result.json`` as the first recipes wrote it, without the fields that came later."""

REFERENCE = ["Ein Haus steht am Fluss.", "Die Katze schläft.", "Wir gehen heute nach Hause."]

OLD = {
    "name": "model", "source_lang": "en", "target_lang": "de", "sentences": 3, "bleu": 1.0,
    "bleu_lc": 2.0, "chrf": 3.0, "bleu_signature": "b", "bleu_lc_signature": "lc",
    "chrf_signature": "c", "parameters": 1_000_000, "updates": 2000,
    "train_tokens_per_second": 1000.0, "train_seconds": 5.0, "decode_sentences_per_second": 50.0,
    "hypotheses": "h.de", "reference": "ref.de", "source": None,
}  # fmt: skip
