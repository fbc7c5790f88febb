"""A table of what dc-nmt refuses: command line, and what its one sentence must name.

Every command runs in this process; files are made beside each other in a folder of the case's own.
"""

from __future__ import annotations

import io
import json
import pickle
import shlex
import tarfile

import pytest
import torch

from dc_nmt_plugin import cli
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.recipes.archives import extract

RECORD = {"schema": 1, "name": "x", "system": "x", "data": {"source": "en", "target": "de"}}
TEXT = ["Der Hund läuft.", "Die Katze schläft heute.", "Ein Mann liest."]


class Malicious:
    """Runs a command when it is unpickled."""

    def __reduce__(self):
        import os

        return os.mkdir, ("owned",)


def lines(*texts):
    return "".join(f"{text}\n" for text in texts)


def generated(*texts, score="-0.5", log=""):
    return log + lines(*(f"H-{n}\t{score}\t{text}" for n, text in enumerate(texts)))


def checkpoint(**config):
    """The bytes of a file that looks like a checkpoint of fairseq's, of an unsafe setting."""
    import argparse

    buffer = io.BytesIO()
    model = argparse.Namespace(_name="fconv", arch="fconv", encoder_self_attention="x", **config)
    torch.save({"model": {"w": torch.zeros(1)}, "args": None, "cfg": {"model": model}}, buffer)
    return buffer.getvalue()


PROGRAM = "__import__('os').mkdir('owned')"
FILES = {
    "good": lines(*TEXT),
    "reference": lines(*TEXT),
    "short": lines(*TEXT[:2]),
    "empty": "",
    "latin": "Der Hund lief über das Feld.\n".encode("latin-1"),
    "mojibake": lines(*TEXT).encode().decode("latin-1"),
    "u2028": lines(TEXT[0], "Die Katze\u2028schläft heute.", TEXT[2]),
    "blank": lines(TEXT[0], "", TEXT[2]),
    "bpe": lines("Der Hu@@ nd läu@@ ft.", *TEXT[1:]),
    "pieces": lines("▁Der ▁Hu nd ▁läu ft .", *TEXT[1:]),
    "unknown": lines("Der <unk> läuft.", *TEXT[1:]),
    "generated": generated(*TEXT),
    "nan": generated(*TEXT, score="nan"),
    "gap": lines("H-0\t-0.5\tDer", "H-2\t-0.5\tEin"),
    "left-out": generated(
        *TEXT, log="WARNING | 2 samples have invalid sizes and will be skipped\n"
    ),
    "no-hypotheses": lines("S-0\tDer", "T-0\tThe"),
    "no-json": "{",
    "wrong-types": json.dumps({**RECORD, "seed": "high"}),
    "newer": json.dumps({**RECORD, "schema": 99}),
    "pickle.pt": pickle.dumps(Malicious()),
    "text.pt": b"no checkpoint\n",
    "empty.pt": b"",
    "program.pt": checkpoint(encoder_layers=PROGRAM),
    "attention.pt": checkpoint(encoder_layers="[(8, 3)]", decoder_attention=PROGRAM),
}
SCORE = "score --target-lang de --reference reference"
# command line → pieces of the sentence
CASES = {
    # the corpus gate
    "check-text u2028 reference": ["u2028, line 2", "U+2028"],
    "check-text blank reference": ["blank, line 2", "blank"],
    "check-text short reference": ["short has 2 lines", "reference has 3"],
    "check-text empty reference": ["empty", "the file is empty"],
    "check-text latin reference": ["latin, line 1", "0xfc", "UTF-8"],
    "check-text nowhere reference": ["nowhere", "No such file"],
    "check-text good good": ["good", "both source and target"],
    # scores that would be wrong
    f"{SCORE} u2028": ["u2028, line 2", "U+2028"],
    f"{SCORE} latin": ["latin, line 1", "UTF-8"],
    f"{SCORE} mojibake": ["mojibake", "Latin-1", "line 1"],
    f"{SCORE} short": ["2 hypotheses for 3 references"],
    f"{SCORE} empty": ["empty"],
    f"{SCORE} bpe": ["bpe", "'@@'", "line 1"],
    f"{SCORE} pieces": ["pieces", "▁", "--tokenizer split"],
    f"{SCORE} folder": ["folder", "no run"],
    "score gone": ["gone", "no such run or file"],
    f"{SCORE} good --metrics bleuu": ["--metrics", "bleuu"],
    f"{SCORE} good --out folder": ["folder", "it is a folder"],
    f"{SCORE} good --train-log reference": ["reference", "fairseq-train"],
    "score --target-lang de --reference blank good": ["blank", "line 2"],
    "score --target-lang de --reference bpe good": ["bpe", "'@@'"],
    "score --target-lang de --reference unknown good": ["unknown", "<unk>"],
    "score --target-lang de --reference reference nan": ["nan", "H-0", "not a number"],
    "score --target-lang de --reference reference gap": ["gap", "H-1"],
    "score --target-lang de --reference reference left-out": ["left-out", "left out 2"],
    "score --target-lang de --reference reference no-hypotheses": ["no hypotheses"],
    "compare good bpe --reference reference --target-lang de": ["bpe", "'@@'"],
    "compare good short --reference reference --target-lang de": ["short", "2 hypotheses"],
    "compare good --reference reference --target-lang de": ["one system alone"],
    "compare good reference --reference reference --target-lang de --html good": ["good"],
    "compare no-json.json good": ["no-json.json", "not JSON"],
    "compare wrong-types.json good": ["wrong-types.json", "seed: ", "high"],
    "compare newer.json good": ["newer.json", "schema 99", "update dc_nmt_plugin"],
    "results wrong-types.json": ["wrong-types.json", "seed: "],
    "results nowhere": ["nowhere"],
    # checkpoints: nothing is run, nothing is written
    **{
        f"{command} {name}{rest}": [name]
        for name in ("pickle.pt", "text.pt", "empty.pt", "program.pt", "attention.pt", "nowhere.pt")
        for command, rest in (
            ("average --out out.pt", ""),
            ("export --out out.pt", ""),
        )
    },
    "export folder --last ² --out out.pt": ["--last", "²"],
    "train multi30k_en_de transformer_dc --seed ²": ["--seed", "²"],
    "average folder --last 1 --out out.pt": ["folder", "0 epoch checkpoints"],
    "export folder --out out.pt": ["folder", "is a folder"],
    # recipes
    "train multi30k_en_de transformer_dc --name ../../x": ["--name", "../../x"],
    "train multi30k_en_de transformer_dc --sample 0": ["--sample", "0"],
    "train multi30k_en_de transformer_dc --max-tokens 0": ["--max-tokens", "0"],
    "prepare multi30k_en_d": ["multi30k_en_d", "multi30k_en_de"],
    "prepare multi30k_en_de --raw nowhere": ["--raw", "nowhere"],
    "arch-flags transformer_dx": ["transformer_dx", "transformer_dc"],
    "paper parameters transformer_dx": ["transformer_dx"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory, with every file of FILES; results also under ``.json``."""
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        raw = content if isinstance(content, bytes) else content.encode()
        (tmp_path / name).write_bytes(raw)
        if isinstance(content, str) and content[:1] in "[{":
            (tmp_path / f"{name}.json").write_bytes(raw)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/good").write_text(lines(*TEXT))
    return tmp_path


@pytest.mark.parametrize("command", CASES)
def test_refused(command, folder, capsys):
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert cli.main(shlex.split(command)) in (1, 2)
    told = capsys.readouterr()
    assert "Traceback" not in told.out + told.err
    sentence = [line for line in told.err.splitlines() if ": error: " in line]
    assert len(sentence) == 1, told.err
    for piece in CASES[command]:
        assert piece in told.err, told.err
    paths = [path for path in folder.rglob("*") if "runs" not in path.parts]  # locks, logs
    after = {path: path.stat().st_mtime_ns for path in paths}
    assert after == before, "nothing is written, and nothing was run"


def test_the_page_of_a_comparison_escapes(folder, capsys):
    script = "<script>alert(1)</script>"
    (folder / "good").write_text(lines(f"Der {script} Hund.", *TEXT[1:]))
    command = "compare good reference --reference reference --target-lang de --html page"
    assert cli.main([*command.split(), "--names", script, "b"]) == 0
    page = (folder / "page/index.html").read_text()
    assert "<script>alert" not in page and "&lt;script&gt;" in page


def test_a_traceback_on_request(folder, monkeypatch):
    monkeypatch.setenv("DC_NMT_DEBUG", "1")
    with pytest.raises(UserError):
        cli.main(["check-text", "empty", "reference"])


# -- archives and formats --------------------------------------------------------------------


def tar_with(path, kind, **fields):
    with tarfile.open(path, "w:gz") as archive:
        entry = tarfile.TarInfo("train.en")
        entry.type = kind
        for name, value in fields.items():
            setattr(entry, name, value)
        archive.addfile(entry)


KINDS = {
    "a link": (tarfile.SYMTYPE, {"linkname": "/etc/passwd"}, "no file"),
    "a hard link": (tarfile.LNKTYPE, {"linkname": "../x"}, "no file"),
    "a folder": (tarfile.DIRTYPE, {}, "no file"),
    "a pipe": (tarfile.FIFOTYPE, {}, "no file"),
    "a device": (tarfile.CHRTYPE, {}, "no file"),
}


@pytest.mark.parametrize("case", KINDS)
def test_members_that_are_no_files(case, tmp_path):
    kind, fields, word = KINDS[case]
    tar_with(tmp_path / "a.tgz", kind, **fields)
    with pytest.raises(UserError, match=word):
        extract(tmp_path / "a.tgz", "train.en", tmp_path / "out")
    assert not (tmp_path / "out").exists()
