"""What fairseq-generate prints is a translation only where the model was free to choose."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from commands import run
from records import change
from systems import generation

from dc_nmt_plugin import cli
from dc_nmt_plugin.flags import typed_flags
from dc_nmt_plugin.runs.record import read_record

ARCH = "transformer_standard"
FORCED = {
    "--prefix-size 1": ["--prefix-size", 1],
    "--score-reference": ["--score-reference"],
}


@pytest.fixture(scope="module")
def generated(corpus, trained, tmp_path_factory):
    """Flags → the sentences that fairseq-generate printed, and its log."""
    folder = tmp_path_factory.mktemp("generated")
    known = {}

    def of(*flags):
        if flags not in known:
            checkpoint = trained(ARCH) / "checkpoint_last.pt"
            command = generation(corpus, checkpoint, ARCH, *flags)
            done = run(folder, "generate", *command).good()
            lines = (done.output + done.errors).splitlines(keepends=True)
            numbered = [line for line in lines if re.match(r"[STHPD]-\d", line)]
            known[flags] = (
                "".join(numbered),
                "".join(line for line in lines if line not in numbered),
            )
        return known[flags]

    return of


@pytest.fixture
def here(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for split in ("valid", "test", "test1"):
        text = corpus.parent / f"text/{split}.yy"
        (tmp_path / split).write_bytes(text.read_bytes())
    return tmp_path


def score(*words):
    return cli.main(["score", "--target-lang", "en", *words])


@pytest.mark.parametrize("flag", ["--prefix-size 1", "--score-reference"])
def test_it_has_no_score(flag, generated, here, capsys):
    out, log = generated(*FORCED[flag])
    (here / "out").write_text(out)
    (here / "log").write_text(log)
    (here / "both").write_text(log + out)  # 2>&1
    for words in (["out", "--generate-log", "log"], ["both"]):
        assert score(*words, "--reference", "test") == 1
        assert f"fairseq-generate with {flag} gives no free translation" in capsys.readouterr().err
    # an earlier evaluation checked nothing
    folder = here / "run-s1"
    folder.mkdir()
    plain = [line.split("\t")[2] for line in out.splitlines() if line.startswith("H-")]
    (here / "hyp").write_text("".join(f"{line or 'x'}\n" for line in plain[:50]))
    result = folder / "run.json"
    words = ["hyp", "--reference", "test", "--out", str(result)]
    assert score(*words) == 0
    capsys.readouterr()
    forced = typed_flags(map(str, FORCED[flag]))
    (scored,) = read_record(folder).decodings
    change(folder, decodings=(replace(scored, search=forced),))
    for command in (f"compare {result} hyp", f"results {folder}"):
        assert cli.main(command.split()) == 1
        assert "no free translation" in capsys.readouterr().err


def test_a_free_translation_has_a_score(generated, here, capsys):
    out, log = generated("--beam", 2)
    (here / "out").write_text(out)
    (here / "log").write_text(log)
    words = ["out", "--generate-log", "log", "--reference"]
    assert score(*words, "test") == 0
    said = capsys.readouterr().err  # of an untrained model, perhaps, that it repeats itself
    assert not said or said.endswith("one and the same sentence\n")
    lines = (here / "test").read_text().split("\n")
    (here / "test").write_text("\n".join(lines[1:50] + lines[:1]) + "\n")
    assert score(*words, "test") == 1, "the same lines in another order"
    (here / "log").write_text(f"{log}3 samples have invalid sizes and will be skipped\n")
    assert score(*words, "test") == 1 and "left out 3 sentences" in capsys.readouterr().err
    (here / "out").write_text(out + out)
    assert score("out", "--reference", "test") == 1 and "occurs twice" in capsys.readouterr().err


def test_another_set_is_refused(generated, here, capsys):
    """valid and test1 have five sentences each."""
    (here / "out").write_text(generated("--gen-subset", "valid")[0])
    assert score("out", "--reference", "valid") == 0
    capsys.readouterr()
    assert score("out", "--reference", "test1", "--out", "out.json") == 1
    errors = capsys.readouterr().err
    assert "5 of 5 T- lines are not lines of test1" in errors and "--gen-subset" in errors
    assert not (here / "out.json").exists()
