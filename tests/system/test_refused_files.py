"""A table of what dc-nmt refuses: command line, and what its one sentence must name.

Every command runs in this process; files are made beside each other in a folder of the case's own.
"""

from __future__ import annotations

import pickle
import shlex

import pytest

from dc_nmt_plugin import cli

TEXT = ["Der Hund läuft.", "Die Katze schläft heute.", "Ein Mann liest."]


class Malicious:
    """Runs a command when it is unpickled."""

    def __reduce__(self):
        import os

        return os.mkdir, ("owned",)


def lines(*texts):
    return "".join(f"{text}\n" for text in texts)


def generated(*texts, score="-0.5"):
    return lines(*(f"H-{n}\t{score}\t{text}" for n, text in enumerate(texts)))


FILES = {
    "good": lines(*TEXT),
    "reference": lines(*TEXT),
    "short": lines(*TEXT[:2]),
    "mojibake": lines(*TEXT).encode().decode("latin-1"),
    "u2028": lines(TEXT[0], "Die Katze\u2028schläft heute.", TEXT[2]),
    "blank": lines(TEXT[0], "", TEXT[2]),
    "bpe": lines("Der Hu@@ nd läu@@ ft.", *TEXT[1:]),
    "pieces": lines("▁Der ▁Hu nd ▁läu ft .", *TEXT[1:]),
    "generated": generated(*TEXT),
    "nan": generated(*TEXT, score="nan"),
    "gap": lines("H-0\t-0.5\tDer", "H-2\t-0.5\tEin"),
    "no-hypotheses": lines("S-0\tDer", "T-0\tThe"),
    "bom": "\ufeff" + lines(*TEXT),
    "pickle.pt": pickle.dumps(Malicious()),
}
SCORE = "score --target-lang de --reference reference"
# command line → pieces of the sentence
CASES = {
    # scores that would be wrong
    f"{SCORE} u2028": ["u2028, line 2", "U+2028"],
    "check-text bom": ["bom, line 1", "U+FEFF"],
    f"{SCORE} mojibake": ["mojibake", "Latin-1", "line 1"],
    f"{SCORE} short": ["2 hypotheses for 3 references"],
    f"{SCORE} bpe": ["bpe", "'@@'", "line 1", "sed -E 's/@@( |$)//g'"],
    f"{SCORE} pieces": ["pieces", "▁", "--tokenizer split"],
    "score --target-lang de --reference blank good": ["blank", "line 2"],
    "score --target-lang de --reference reference nan": ["nan", "H-0", "not a number"],
    "score --target-lang de --reference reference gap": ["gap", "H-1"],
    "score --target-lang de --reference reference no-hypotheses": ["no hypotheses"],
    "score --target-lang de --reference reference good --as a/b": ["--as: 'a/b': use letters"],
    "compare good bpe --reference reference --target-lang de": ["bpe", "'@@'"],
    "compare good short --reference reference --target-lang de": ["short", "2 hypotheses"],
    # checkpoints: nothing is run, nothing is written
    "average --out out.pt pickle.pt": ["pickle.pt: cannot be read", "torch's safe loader refuses"],
    "export --out out.pt pickle.pt": ["pickle.pt"],
    # recipes
    "train multi30k_en_de transformer_dc --name ../../x": ["--name", "../../x"],
    "train multi30k_en_de transformer_dc --save-dir x": ["--save-dir: this command sets it"],
    "evaluate multi30k_en_de transformer_dc -- --path x.pt": ["--path: this command sets it"],
}


@pytest.fixture
def folder(cwd):
    """The working directory, with every file of FILES."""
    for name, content in FILES.items():
        raw = content if isinstance(content, bytes) else content.encode()
        (cwd / name).write_bytes(raw)
    return cwd


@pytest.mark.parametrize("command", CASES)
def test_refused(command, folder, capsys):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert cli.main(shlex.split(command)) in (1, 2)
    printed = capsys.readouterr()
    assert "Traceback" not in printed.out + printed.err
    sentence = [line for line in printed.err.splitlines() if ": error: " in line]
    assert len(sentence) == 1, printed.err
    for piece in CASES[command]:
        assert piece in printed.err, printed.err
    paths = [path for path in folder.rglob("*") if "runs" not in path.parts]  # locks, logs
    after = {path: path.stat().st_mtime_ns for path in paths}
    assert after == before, "nothing is written, and nothing was run"
