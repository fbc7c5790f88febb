"""fairseq-preprocess with this package writes fairseq's files, byte by byte."""

import json

import pytest
from commands import ROOT

LINES = ["a b c", "", "b </s> <unk> x", "c\u2028a\x85b\x1cc", "aé " * 9, "b  b\ta", "日 本"] * 6
OTHER = ["x y", "", "y z y", "z", "ü " * 20, "y", "x x"] * 6
PAIR = ["-s", "en", "-t", "de", "--trainpref"]
CASES = [
    [*PAIR, "text", "--validpref", "short,unseen", "--testpref", "no-end", "--workers", "1"],
    [*PAIR, "text", "--validpref", "short,unseen", "--testpref", "no-end", "--workers", "5"],
    [*PAIR, "windows", "--joined-dictionary", "--workers", "2", "--validpref", "nothing"],
    [*PAIR, "old-mac", "--workers", "5"],
    [*PAIR, "text", "--thresholdsrc", "7", "--nwordstgt", "6", "--workers", "2"],
    [*PAIR, "text", "--srcdict", "dict.txt", "--only-source", "--padding-factor", "1"],
    [*PAIR, "text", "--dataset-impl", "cached", "--workers", "2"],
]
CODE = """
import json, sys
from fairseq.binarizer import FileBinarizer
from fairseq_cli import preprocess
_, to, *words = sys.argv
for number, case in enumerate(json.load(open("cases.json"))):
    sys.argv = ["fairseq-preprocess", *case, "--destdir", f"{to}/{number}", *words]
    preprocess.cli_main()
print(hasattr(FileBinarizer.multiprocess_dataset, "__wrapped__"))
"""


@pytest.fixture
def texts(cwd):
    unseen = ["q a q", "b q"]
    for side, lines in (("en", LINES), ("de", OTHER)):
        texts = {"text": lines, "short": lines[:1], "unseen": unseen, "nothing": []}
        for name, rows in texts.items():
            (cwd / f"{name}.{side}").write_text("".join(f"{row}\n" for row in rows), "utf-8")
        (cwd / f"no-end.{side}").write_text("\n".join(lines), "utf-8")
        (cwd / f"windows.{side}").write_bytes("\r\n".join(lines).encode())
        (cwd / f"old-mac.{side}").write_bytes("\r".join(lines).encode())
    (cwd / "dict.txt").write_text("b 9\na 3\n")
    return cwd


def written(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "preprocess.log"
    }


def test_the_files_are_those_of_fairseq(texts, bare):
    (texts / "cases.json").write_text(json.dumps(CASES))
    for folder, words in (("stock", []), ("ours", ["--user-dir", ROOT / "dc_nmt_plugin"])):
        output = bare.run(CODE, folder, *words, folder=texts).good().output
        assert output.split()[-1] == str(folder == "ours")
    stock = written(texts / "stock")
    assert len(stock) > 40 and stock == written(texts / "ours")
