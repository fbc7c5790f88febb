"""``--eval-bleu-decoders``: BLEU of each decoder during training is that of decoding with it."""

import torch
from commands import run
from sacrebleu.metrics import BLEU
from systems import TARGET, generation, train

ARCH = "transformer_ms_aux_aif"
SEARCH = ["--beam", 2, "--lenpen", 0.7, "--max-len-b", 9, "--length-penalty", "wu"]
EVAL = ["--eval-bleu-args", '{"beam": 2, "lenpen": 0.7, "max_len_b": 9}']
EVAL += ["--eval-bleu", "--length-penalty", "wu", "--valid-subset", "test"]
BEST = ["--best-checkpoint-metric", "bleu", "--maximize-best-checkpoint-metric"]
FLAGS = ["--encoder-layers", 3, "--aux-layers", "1,2", "--dropout", 0]
FLAGS += ["--validate-interval", 2, "--save-interval", 2]
for side in ("encoder", "decoder"):
    FLAGS += [f"--{side}-embed-dim", 16, f"--{side}-ffn-embed-dim", 32]
FLAGS += [*EVAL, *BEST, "--eval-bleu-decoders", "main,aux:2"]


def test_bleu_of_each_decoder_also_after_a_resumption(corpus, tmp_path):
    unbroken, parts = tmp_path / "whole", tmp_path / "parts"
    result = train(corpus, unbroken, ARCH, *FLAGS, "--max-epoch", 4).good()
    main, aux = result.logged("test_bleu"), result.logged("test_bleu_aux2")
    assert len(main) == len(aux) == 2 and main[-1] != aux[-1]
    assert not result.logged("test_bleu_aux1") and not result.logged("train_bleu_aux2")
    state = torch.load(unbroken / "checkpoint_last.pt", weights_only=True)
    assert state["extra_state"]["best"] == max(main)

    reference = (corpus.parent / "text" / f"test.{TARGET}").read_text().splitlines()
    for decoder, expected in (("main", main), ("aux:2", aux)):
        flags = generation(corpus, unbroken / "checkpoint4.pt", ARCH, "--decode-with", decoder)
        hypotheses = run(tmp_path, "generate", *flags, *SEARCH).good().hypotheses()
        lines = [
            hypotheses[number][1].replace("<unk>", "UNKNOWN") for number in range(len(reference))
        ]
        bleu = BLEU(force=True).corpus_score(lines, [reference]).score
        assert expected[-1] == round(bleu, 2) > 0

    parts.mkdir()
    (unbroken / "checkpoint2.pt").rename(parts / "checkpoint_last.pt")
    resumed = train(corpus, parts, ARCH, *FLAGS, "--max-epoch", 4).good()
    assert resumed.logged("test_bleu") == main[1:]
    assert resumed.logged("test_bleu_aux2") == aux[1:]
