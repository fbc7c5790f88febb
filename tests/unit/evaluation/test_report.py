"""Hypotheses, scores, logs and the table."""

from __future__ import annotations

import io
import json

import pytest
from records import change

from dc_nmt_plugin.commands import score as score_command
from dc_nmt_plugin.commands.results import main
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.evaluation.generated import read_generated
from dc_nmt_plugin.evaluation.logs import ProgressLine
from dc_nmt_plugin.runs.record import Training

GENERATED = """\
2026-11-21 09:00:00 | INFO | fairseq_cli.generate | loading model(s) from average.pt
S-2\tc@@ c .
T-2\tC@@ C .
H-2\t-0.5\tC@@ C &amp; D@@
D-2\t-0.5\tC@@ C &amp; D@@
P-2\t-0.1 -0.2
S-0\ta
T-0\tA
H-0\t-0.1\tA b@@ c !
H-0\t-0.9\tsecond best
H-1\t-0.3\t
D-1\t-0.3\t
2026-11-21 09:00:02 | INFO | x | Translated 3 sentences (1,007 tokens) in 1.5s (2.00 sentences/s, \
671.33 tokens/s)
Generate test with beam=5: BLEU4 = 0.00
"""
SPEED = "INFO:y:Translated 1,000 sentences (9 tokens) in 2.0s (500.00 sentences/s, 4.5 tokens/s)\n"


def statistics(kind: str, **values: str) -> str:
    return f"2026-11-21 09:00:00 | INFO | {kind} | {json.dumps(values)}\n"


def inner(updates: int, wps: float, wall: int) -> str:
    return statistics(
        "train_inner", num_updates=str(updates), wps=str(wps), wall=str(wall),
        loss="4.2", ups="2",
    )  # fmt: skip


LOG = (
    "2026-11-21 | INFO | x | num. shared model params: 1,234,567 (num. trained: 1)\n"
    + inner(10, 1, 5) + inner(20, 1000, 9) + '2026 | INFO | train_inner | {"num_upda\n'
    + statistics("valid", valid_loss="3.3")
    # killed and resumed: updates go back to those of the last checkpoint, the clock to 0
    + inner(15, 3000, 7) + inner(25, 2000, 12)
)  # fmt: skip


def test_hypotheses_come_back_in_order_without_bpe(tmp_path):
    (tmp_path / "gen.txt").write_text(GENERATED)
    found = read_generated(tmp_path / "gen.txt")
    assert found.hypotheses == ["A bc !", "", "CC &amp; D"]
    assert found.sentences_per_second == 2.0


def test_the_output_of_fairseq_generate_tells_the_search(tmp_path):
    log = tmp_path / "generate.log"
    log.write_text(
        "x | INFO | {'generation': {'beam': 4, 'lenpen': 0.6, 'max_len_a': 0.0, 'min_len': 1}, "
        "'task': {'length_penalty': 'wu', 'mask_source_layers': '1,2', 'no_aux_fusion': False, "
        "'decode_with': 'aux:2'}, 'dataset': {'gen_subset': 'valid'}}\n"
    )
    (tmp_path / "out").write_text("H-0\t-0.1\ta\n")
    found = read_generated(tmp_path / "out", log)
    assert found.subset == "valid" and found.search == {
        "beam": 4, "lenpen": 0.6, "max-len-a": 0.0, "min-len": 1, "length-penalty": "wu",
        "mask-source-layers": "1,2", "decode-with": "aux:2",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [("H-0\t-1\ta\nH-2\t-1\tc\n", "no hypothesis for sentence 1"), ("S-0\ta\n", "no hypotheses")],
)
def test_lost_sentences_are_found(tmp_path, text, message):
    (tmp_path / "gen.txt").write_text(text)
    with pytest.raises(UserError, match=message):
        read_generated(tmp_path / "gen.txt")


@pytest.fixture
def scored(tmp_path, capsys):
    """A folder with two results on one test set."""
    (tmp_path / "gen.txt").write_text(GENERATED)
    (tmp_path / "ref.de").write_text("A bc!\nnothing here\nCC & D\n")
    (tmp_path / "src.en").write_text("a\nempty\nc\n")
    for name in ("plain", "dc"):
        flags = (
            f"gen.txt --reference ref.de --source src.en --source-lang en "
            f"--target-lang de --tokenizer moses --name {name} "
            f"--detokenized {name}.de --out {name}.json"
        ).split()
        files = {".txt", ".de", ".en", ".json"}
        assert (
            score_command.main(
                [str(tmp_path / f) if f[f.rfind(".") :] in files else f for f in flags]
            )
            == 0
        )
    capsys.readouterr()
    return tmp_path


def test_score_then_results_side_by_side(scored, capsys):
    assert (scored / "dc.de").read_text() == "A bc!\n\nCC & D\n"  # detokenised, unescaped
    record = json.loads((scored / "dc.json").read_text())
    (result,) = record["decodings"]
    assert result["sentences"] == 3
    assert (result["sentences_per_second"], result["tokens_per_second"]) == (2.0, 671.33)
    assert result["hypotheses"] == "gen.txt" and result["references"][0]["path"] == "ref.de"
    results = [str(scored / "plain.json"), str(scored / "dc.json")]
    assert main(results) == 0
    printed = capsys.readouterr().out
    assert result["scores"][0]["signature"] in printed


def test_a_second_score_keeps_what_the_record_has(scored, capsys):
    run = scored / "run.json"
    words = f"{scored}/gen.txt --reference {scored}/ref.de --target-lang de"
    words += f" --tokenizer moses --out {run}"
    assert score_command.main(words.split()) == 0
    change(scored, training=Training(updates=25))
    assert score_command.main([*words.split(), "--as", "other", "--subset", "valid"]) == 0
    record = json.loads(run.read_text())
    assert record["name"] == scored.name and record["training"]["updates"] == 25
    found = [(each["subset"], each["name"]) for each in record["decodings"]]
    assert found == [("test", ""), ("valid", "other")]
    assert score_command.main([*words.split(), "--metrics", "chrf"]) == 0
    first = json.loads(run.read_text())["decodings"][0]
    assert [score["metric"] for score in first["scores"]] == ["chrf"]


def test_progress_keeps_the_log(capsys):
    line, log = ProgressLine("dc", 25), io.BytesIO()
    output = [*LOG.encode().splitlines(keepends=True), b"k\xe9far\n"]
    tail = line.follow(output, log)
    assert log.getvalue() == b"".join(output)
    assert "/25 [" in capsys.readouterr().err
    line.last_words(tail)
    assert LOG.splitlines()[-1] in capsys.readouterr().err
