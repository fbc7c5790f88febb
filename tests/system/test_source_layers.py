"""``dc-nmt analyze source-layers``: the table of thesis 3.5.4 against ``fairseq-generate``."""

import json

import pytest
from commands import run
from sacrebleu.metrics import BLEU
from systems import TARGET, generation, train

from dc_nmt_plugin import cli
from dc_nmt_plugin.analysis.source_layers import masked
from dc_nmt_plugin.analysis.subject import Subject
from dc_nmt_plugin.analysis.trained_run import find_runs

pytestmark = pytest.mark.usefixtures("known_command_lines")
LAYERS = 3


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
        known = [path, "--data", corpus, "--cpu", "--num-workers", 0, "--max-len-b", 12]
        code = cli.main(["analyze", "source-layers", *map(str, [*known, *flags])])
        return code, *capsys.readouterr()

    return call


def test_every_row_is_what_generate_gives(command, corpus, checkpoint, tmp_path):
    code, output, _ = command("--beam", 2, "--json", "--names", "tiny")
    assert code == 0
    report = json.loads(output)
    found = report["runs"]["tiny"]
    assert [row["layer"] for row in found["masked"]] == [1, 2, 3]
    assert report["sentences"] == 50 and "tok:none" in found["signature"]
    reference = (corpus.parent / "text" / f"test.{TARGET}").read_text().splitlines()
    for row in [{"layer": None, "bleu": found["bleu"], "difference": 0.0}, *found["masked"]]:
        masked = ["--mask-source-layers", row["layer"]] if row["layer"] else []
        flags = generation(corpus, checkpoint, "transformer_mlmha", "--beam", 2, *masked)
        hypotheses = run(tmp_path, "generate", *flags).good().hypotheses()
        lines = [hypotheses[number][1] for number in range(50)]
        expected = BLEU(tokenize="none", force=True).corpus_score(lines, [reference]).score
        assert row["bleu"] == pytest.approx(expected, abs=1e-9)
        assert row["difference"] == pytest.approx(row["bleu"] - found["bleu"], abs=1e-9)
    assert len({row["bleu"] for row in found["masked"]} | {found["bleu"]}) == 4
    assert all(row.keys() >= {"against", "corrected_p"} for row in found["masked"])


def test_several_references_count_together(command, corpus, checkpoint, tmp_path):
    """Every BLEU is sacreBLEU's own of both references."""
    lines = (corpus.parent / "text" / f"test.{TARGET}").read_text().splitlines()
    raw = [tmp_path / "raw", tmp_path / "second"]
    raw[0].write_text("".join(f"{line}\n" for line in lines))
    raw[1].write_text("".join(f"{line}\n" for line in reversed(lines)))
    plot = tmp_path / "plot.svg"
    flags = ["--reference", *raw, "--beam", 1, "--json", "--names", "tiny", "--plot", plot]
    code, output, _ = command(*flags)
    assert code == 0 and plot.is_file()
    found = json.loads(output)["runs"]["tiny"]
    assert "nrefs:2" in found["signature"] and "tok:13a" in found["signature"]
    flags = generation(corpus, checkpoint, "transformer_mlmha", "--beam", 1)
    hypotheses = run(tmp_path, "generate", *flags).good().hypotheses()
    own = [hypotheses[number][1] for number in range(50)]
    expected = BLEU(force=True).corpus_score(own, [lines, lines[::-1]]).score
    assert found["bleu"] == pytest.approx(expected, abs=1e-9)


def test_masking_can_be_switched_off_again(corpus, checkpoint):
    (found,) = find_runs([checkpoint], corpus)
    subject = Subject(found, ["--cpu", "--num-workers", "0", "--beam", "1"], "test")
    whole = subject.translate()
    with masked(subject, [1, 3]):
        assert subject.translate() != whole
        assert subject.model.encoder.masked_layers == {1, 3}
    assert subject.translate() == whole


def test_bad_input_is_named(command, tmp_path):
    short = tmp_path / "short"
    short.write_text("ein Satz\n")
    for flags, words in (
        (["--reference", short], ["--reference", "1 lines", "50 sentences"]),
        (["--tokenizer", "moses"], ["--tokenizer", "--reference"]),
        (["--mask-source-layers", "1"], ["--mask-source-layers"]),
        (["--scoring", "sacrebleu"], ["--scoring"]),
        (["--decode-with", "aux:1"], ["--decode-with"]),
    ):
        code, output, errors = command(*flags)
        assert code in (1, 2) and not output  # 2: of the command line alone
        for word in words:
            assert word in errors, (flags, errors)


def test_masks_are_refused_in_training(corpus, tmp_path):
    result = train(corpus, tmp_path, "transformer_mlmha", "--mask-source-layers", 1)
    assert result.code == 1
    assert "--mask-source-layers: is for decoding a trained model" in result.errors
