"""``dc-nmt mask-layers``: the table of thesis 3.5.4 against ``fairseq-generate``."""

import json

import pytest
from commands import ROOT, run
from fairseq import checkpoint_utils
from sacrebleu.metrics import BLEU
from systems import SOURCE, TARGET, generation, train

from dc_nmt_plugin import cli
from dc_nmt_plugin.analysis.subset_translation import SubsetTranslation

pytestmark = pytest.mark.usefixtures("known_command_lines")
LAYERS = 3
LANGUAGES = ["--source-lang", SOURCE, "--target-lang", TARGET]


@pytest.fixture(scope="module")
def checkpoint(corpus, tmp_path_factory):
    """A model that reads three encoder layers and knows a little of the language."""
    save = tmp_path_factory.mktemp("mlmha")
    flags = ["--encoder-layers", LAYERS, "--max-epoch", 12, "--dropout", 0, "--disable-validation"]
    for side in ("encoder", "decoder"):
        flags += [f"--{side}-embed-dim", 16, f"--{side}-ffn-embed-dim", 32]
    train(corpus, save, "transformer_mlmha", *flags, "--no-epoch-checkpoints").good()
    return save / "checkpoint_last.pt"


@pytest.fixture
def command(corpus, checkpoint, capsys):
    """Run the command; its exit status, output and errors."""

    def call(*flags, path=checkpoint):
        known = [corpus, "--path", path, "--cpu", "--num-workers", 0, "--max-len-b", 12]
        code = cli.main(["mask-layers", *map(str, [*known, *LANGUAGES, *flags])])
        return code, *capsys.readouterr()

    return call


def test_every_row_is_what_generate_gives(command, corpus, checkpoint, tmp_path, monkeypatch):
    loaded = []
    stock = checkpoint_utils.load_model_ensemble

    def counted(*args, **kwargs):
        loaded.append(args)
        return stock(*args, **kwargs)

    monkeypatch.setattr(checkpoint_utils, "load_model_ensemble", counted)
    code, output, errors = command("--beam", 2, "--json")
    assert code == 0 and len(loaded) == 1
    report = json.loads(output)
    assert [row["layer"] for row in report["rows"]] == [None, 1, 2, 3]
    assert report["sentences"] == 50 and "tok:none" in report["signature"]
    assert "layer 3 masked (4 of 4): 50 sentences" in errors
    reference = (corpus.parent / "text" / f"test.{TARGET}").read_text().splitlines()
    for row in report["rows"]:
        masked = ["--mask-source-layers", row["layer"]] if row["layer"] else []
        flags = generation(corpus, checkpoint, "transformer_mlmha", "--beam", 2, *masked)
        found = run(tmp_path, "generate", *flags).good().hypotheses()
        lines = [found[number][1] for number in range(50)]
        expected = BLEU(tokenize="none", force=True).corpus_score(lines, [reference]).score
        assert row["bleu"] == expected
        assert row["difference"] == row["bleu"] - report["rows"][0]["bleu"]
    assert len({row["bleu"] for row in report["rows"]}) == 4


def test_raw_references_and_the_plot(corpus, checkpoint, capsys, tmp_path):
    lines = (corpus.parent / "text" / f"test.{TARGET}").read_text().splitlines()
    raw = [tmp_path / "raw", tmp_path / "second"]
    raw[0].write_text("".join(f"{line}\n" for line in lines))
    raw[1].write_text("".join(f"{line}.\n" for line in lines))
    path = tmp_path / "plot.svg"
    flags = [corpus, "--path", checkpoint, "--cpu", "--user-dir", ROOT / "dc_nmt_plugin"]
    flags += [*LANGUAGES, "--reference", *raw, "--tokenizer", "moses", "--plot", path, "--beam", 1]
    assert cli.main(["mask-layers", *map(str, flags)]) == 0
    output, errors = capsys.readouterr()
    assert "masked encoder layer" in path.read_text() and "Warning" not in errors
    assert "moses undone" in output and "nrefs:2" in output and "tok:13a" in output
    rows = [line.split() for line in output.splitlines()]
    assert [row[0] for row in rows if len(row) > 1 and row[0] in ("none", "layer")] == [
        *("none", "layer", "layer", "layer")
    ]


def test_masking_can_be_switched_off_again(corpus, checkpoint):
    flags = [corpus, "--path", checkpoint, "--task", "transformer_mlmha", "--cpu", *LANGUAGES]
    translation = SubsetTranslation([*map(str, flags), "--num-workers", "0", "--beam", "1"])
    whole = translation.translate()
    translation.task.cfg.mask_source_layers = "1,3"
    assert translation.translate() != whole
    assert translation.models[0].encoder.masked_layers == {1, 3}
    translation.task.cfg.mask_source_layers = ""
    assert translation.translate() == whole


def test_bad_input_is_named(command, checkpoint, trained, tmp_path):
    short = tmp_path / "short"
    short.write_text("ein Satz\n")
    two_layers = trained("transformer_mlmha") / "checkpoint_last.pt"
    both = f"{checkpoint}:{two_layers}"
    fused = trained("transformer_ms_aux_aif") / "checkpoint_last.pt"
    for flags, words in (
        (["--reference", short], ["--reference", "1 lines", "50 sentences"]),
        (["--reference", tmp_path / "none"], ["none", "cannot be read"]),
        (["--tokenizer", "moses"], ["--tokenizer", "--reference"]),
        (["--mask-source-layers", "1"], ["--mask-source-layers"]),
        (["--plot", "table.txt"], ["--plot", ".svg"]),
        (["--gen-subset", "nothing"], ["--gen-subset nothing"]),
        (["--scoring", "sacrebleu"], ["--scoring"]),
        (["--task", "translation"], ["--task", "'translation'", "translation_dc_nmt"]),
        (["--path", tmp_path / "gone.pt"], ["gone.pt"]),
        (["--path", both], ["--path", "[1, 2, 3] and [1, 2]"]),
        (["--path", fused, "--decode-with", "aux:1"], ["--decode-with aux:1", "main decoder"]),
    ):
        path = checkpoint
        if flags[0] == "--path":
            _, path, *flags = flags
        code, output, errors = command(*flags, path=path)
        assert code == 1 and not output
        for word in words:
            assert word in errors, (flags, errors)


def test_masks_are_refused_in_training(corpus, tmp_path):
    result = train(corpus, tmp_path, "transformer_mlmha", "--mask-source-layers", 1)
    assert result.code == 1
    assert "--mask-source-layers: is for decoding a trained model" in result.errors
