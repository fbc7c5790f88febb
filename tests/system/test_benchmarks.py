"""The benchmark runs to its end: it is not installed, and imports what the package defines."""

from __future__ import annotations

import json

import pytest
from commands import ROOT

BENCHMARKS = ROOT / "benchmarks"
# as `python FILE WORDS…`, but its programs, and they themselves, need not import fairseq
CODE = """
import os, runpy, subprocess, sys
import bare

class Program(bare.Started):
    def __init__(self, words, env, **options):
        (stdin, own_in), (own_out, stdout) = os.pipe(), os.pipe()
        started = server.start(code, words[1:], ".", [], env, [stdin, stdout, stdout])
        self.__dict__.update(started.__dict__)
        os.close(stdin)
        os.close(stdout)
        self.stdin, self.stdout = open(own_in, "w"), open(own_out)

server, subprocess.Popen = bare.Server(), Program
code = "import runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
exec(code)
"""


@pytest.fixture
def bench(bare, tmp_path):
    """Arguments → the benchmark's result."""

    def call(*words):
        file = BENCHMARKS / "bench.py"
        return bare.run(CODE, file, *words, folder=tmp_path, path=[BENCHMARKS, ROOT])

    return call


def test_programs_of_an_architecture_against_fairseqs_model(corpus, bench, tmp_path):
    words = ["programs", corpus, "transformer_dc_micro", "--turns", 5, "--max-tokens", 80]
    done = bench(*words, "--without", "dropout", "--json", tmp_path / "rows.json").good()
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["system"] for row in rows] == [
        "stock",
        "stock again",
        "transformer_dc_micro",
        "transformer_dc_micro without dropout",
    ]
    assert all(len(row["ratios"]) == 2 and row["rate"] > 0 for row in rows)
    assert rows[0]["ratios"] == [1, 1] and len(rows[3]["kept"]) == 2
    assert "| transformer_dc_micro" in done.output


@pytest.mark.parametrize(
    "data,flags,named",
    [
        ("missing", [], ["missing", "fairseq-preprocess"]),
        ("", ["--turns", "3"], ["--turns: 3", "give 5 or more"]),
        ("", ["--without", "dropout,no_piece"], ["--without", "no_piece", "beam_search"]),
    ],
)
def test_bad_input_is_refused_in_one_sentence(data, flags, named, bench, tmp_path):
    (tmp_path / "dict.en.txt").touch()
    done = bench("programs", tmp_path / data, "transformer_dc_micro", *flags)
    lines = done.errors.splitlines()
    assert done.code == 1 and len(lines) == 1 and not done.output
    assert all(word in lines[0] for word in named)
