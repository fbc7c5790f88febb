"""What fairseq's decoding programs get wrong without the plugin's changes."""

from __future__ import annotations

import pytest
from commands import run
from fairseq.sequence_generator import SequenceGenerator
from systems import SPLITS, generation

ARCH = "transformer_standard"


@pytest.fixture(scope="module")
def last(trained):
    return trained(ARCH) / "checkpoint_last.pt"


def generate(folder, data, checkpoint, *flags, **options):
    return run(folder, "generate", *generation(data, checkpoint, ARCH, *flags), **options)


def test_diverse_beams_of_several_batches(corpus, last, tmp_path):
    """fairseq alone takes a sentence's number for its place in the batch."""
    flags = ["--beam", 4, "--diverse-beam-groups", 2, "--gen-subset", "test1", "--batch-size"]
    one = generate(tmp_path, corpus, last, *flags, 1).good().hypotheses()
    several = generate(tmp_path, corpus, last, *flags, 3).good().hypotheses()
    assert {number: text for number, (_, text) in several.items()} == {
        number: text for number, (_, text) in one.items()
    }


def test_no_score_of_a_part(corpus, last, tmp_path):
    flags = ["--max-source-positions", 5, "--skip-invalid-size-inputs-valid-test"]
    done = generate(tmp_path, corpus, last, *flags).good()
    kept = len(done.hypotheses())
    assert 0 < kept < SPLITS["test"]
    assert f"no score, because {SPLITS['test'] - kept} sentences were left out" in done.output
    assert "samples have invalid sizes and will be skipped" in done.output
    complete = generate(tmp_path, corpus, last).good()
    assert "no score" not in complete.output and "BLEU" in complete.output


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


def test_a_full_line_is_one_answer(corpus, last, tmp_path):
    """fairseq's own reader ends lines at a carriage return too, and answers once more."""
    lines = [f"badun{end}logol" for end in "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"]
    # some editors begin a file with a byte order mark
    (tmp_path / "input").write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode())
    command = generation(corpus, last, ARCH, "--input", tmp_path / "input")
    answers = run(tmp_path, "interactive", *command).good().hypotheses()
    assert list(answers) == list(range(len(lines)))
    assert len({text for _, text in answers.values()}) == 1
    (tmp_path / "input").write_bytes(b"badun\n\xff\n")
    assert "line 2: byte 0xff is not valid" in run(tmp_path, "interactive", *command).errors
