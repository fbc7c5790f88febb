"""``dc-nmt analyze source-layers``: the table of thesis 3.5.4 against ``fairseq-generate``."""

import json

import pytest
from commands import run
from sacrebleu.metrics import BLEU
from systems import TARGET, generation

from dc_nmt_plugin import cli


@pytest.fixture(scope="module")
def checkpoint(lively):
    """A model that reads two encoder layers and knows a little of the language."""
    return lively("transformer_mlmha")


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
    assert [row["layer"] for row in found["masked"]] == [1, 2]
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
    assert len({row["bleu"] for row in found["masked"]} | {found["bleu"]}) == 3
    assert all(row.keys() >= {"against", "corrected_p"} for row in found["masked"])
