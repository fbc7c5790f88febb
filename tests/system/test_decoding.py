"""``fairseq-generate`` with the plugin: which search, which flags, and what is not scored."""

from __future__ import annotations

from itertools import pairwise

import pytest
from commands import run
from fairseq.sequence_generator import SequenceGenerator
from systems import SPLITS, TARGET, generation

from dc_nmt_plugin import cli

ARCH = "transformer_standard"


@pytest.fixture(scope="module")
def last(trained):
    return trained(ARCH) / "checkpoint_last.pt"


def generate(folder, data, checkpoint, *flags, **options):
    return run(folder, "generate", *generation(data, checkpoint, ARCH, *flags), **options)


def test_a_translation_of_a_part_is_not_scored(corpus, last, tmp_path, capsys):
    """fairseq scores the sentences that are short enough."""
    flags = ["--max-source-positions", 5, "--skip-invalid-size-inputs-valid-test"]
    done = generate(tmp_path, corpus, last, *flags).good()
    left_out = SPLITS["test"] - len(done.hypotheses())
    assert 0 < left_out < SPLITS["test"] and "BLEU" in done.output
    (tmp_path / "output").write_text(done.output)
    words = ["--reference", str(corpus.parent / f"text/test.{TARGET}"), "--target-lang", "de"]
    assert cli.main(["score", str(tmp_path / "output"), *words]) == 1
    assert f"left out {left_out} sentences that are too long" in capsys.readouterr().err


def test_no_ngram_is_repeated(corpus, lively, tmp_path):
    checkpoint = lively(ARCH)

    def repeats(*flags):
        flags = ["--beam", 1, "--gen-subset", "test1", "--min-len", 12, *flags]
        texts = generate(tmp_path, corpus, checkpoint, *flags).good().hypotheses().values()
        pairs = [list(pairwise(text.split())) for _, text in texts]
        return sum(len(each) - len(set(each)) for each in pairs)

    assert repeats() > 0
    assert repeats("--no-repeat-ngram-size", 2) == 0
    assert repeats("--sampling", "--no-repeat-ngram-size", 2) == 0


def test_the_search_is_this_package_s(corpus, last, tmp_path):
    """fairseq's has the same results at less speed, so that nothing else would show it."""

    def take_fairseqs_away():
        SequenceGenerator._generate = None

    generate(tmp_path, corpus, last, "--beam", 2, before=take_fairseqs_away).good()


def test_alignments_are_fairseqs(corpus, last, tmp_path):
    found = []
    for task in ("translation_dc_nmt", "translation"):
        flags = ["--task", task, "--print-alignment", "hard"]
        done = generate(tmp_path, corpus, last, *flags).good()
        found.append(sorted(row for row in done.output.splitlines() if row.startswith("A-")))
    assert found[0] == found[1] and len(found[0]) == SPLITS["test"]
    assert all(row.split("\t")[1] for row in found[0])
