"""Codes, dictionaries, binarised text and runs that are there already, by the real programs."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import forks
import pytest
import yaml
from commands import run
from fairseq.trainer import Trainer
from helpers import few, toy_text
from interruption import kill_before_update, same, updates
from systems import ADADELTA, FAMILIES, RECURRENT, family, recurrent_training, training
from systems import load as load_checkpoint

import dc_nmt_plugin
from dc_nmt_plugin import cli
from dc_nmt_plugin.files import sha256
from dc_nmt_plugin.laboratory.recipes.recipe import load
from dc_nmt_plugin.runs.record import read_record
from dc_nmt_plugin.text.lines import read_lines

ARCH = "transformer_standard"
RUN = f"own/{ARCH}-s1"
SETS = ["--valid", "valid.en", "valid.de", "--test", "test.en", "test.de"]
TEXT = ["--train", "train.en", "train.de", *SETS]
CODES = ["--codes", "own/data/bpe/codes"]
DICTIONARIES = ["--dictionary", "own/data/bin/dict.en.txt", "own/data/bin/dict.de.txt"]
SMALL = ["--encoder-layers", "1", "--decoder-layers", "1", "--num-workers", "0", "--lr", "1e-2"]
for side in ("encoder", "decoder"):
    SMALL += [f"--{side}-embed-dim", "16", f"--{side}-ffn-embed-dim", "16"]
    SMALL += [f"--{side}-attention-heads", "2"]
RUN_WORDS = ["--max-update", "4", "--average", "2", *SMALL]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with text, and a run of ``own``, which prepared that text by itself."""
    here = tmp_path_factory.mktemp("home")
    pairs = toy_text("en", "de", 420)
    sets = {"train": pairs[:300], "valid": pairs[300:320], "test": pairs[320:350]}
    sets["news"] = pairs[200:300]
    for split, some in sets.items():
        for code, lines in zip(("en", "de"), zip(*some, strict=True), strict=True):
            (here / f"{split}.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        forks.start_for_recipes(patch)
        assert cli.main(["new", "own", *TEXT, "--tokenized", "--bpe", "300"]) == 0
        assert cli.main(["run", "own", *RUN_WORDS]) == 0
        yield here


@pytest.fixture
def here(home, monkeypatch):
    monkeypatch.chdir(home)
    return home


def translated(capfd, *words):
    capfd.readouterr()
    assert cli.main(["translate", *map(str, words)]) == 0
    return capfd.readouterr().out.splitlines()


@pytest.mark.parametrize("kind", ["codes", "data-bin"])
def test_text_that_is_there_gives_the_same_run(kind, here, capfd):
    words = [*TEXT, "--tokenized", *CODES, *DICTIONARIES]
    if kind == "data-bin":
        words = ["--data-bin", "own/data/bin", *CODES]
    assert cli.main(["new", kind, *words]) == 0
    assert cli.main(["run", kind, *RUN_WORDS]) == 0
    files = sorted(path.name for path in Path("own/data/bin").glob("[dtv]*"))
    assert len(files) == 14
    for name in files:
        assert Path(kind, "data/bin", name).read_bytes() == Path("own/data/bin", name).read_bytes()
    own, other = (read_record(Path(folder, f"{ARCH}-s1")) for folder in ("own", kind))
    assert other.settings == own.settings
    origin = "/".join(Path("own/data/bin").resolve().parts[-3:]) if kind == "data-bin" else None
    assert other.data == replace(own.data, origin=origin)
    (ours,), (theirs,) = own.decodings, other.decodings
    assert theirs.hypotheses_sha256 == ours.hypotheses_sha256
    assert theirs.scores == ours.scores and any(score.paper for score in ours.scores)
    lines = translated(capfd, f"{kind}/{ARCH}-s1", "test.en")
    assert lines == translated(capfd, RUN, "test.en") and any(lines)
    assert cli.main(["prepare", kind]) == 0
    assert "fairseq-preprocess" not in re.sub(".*done before", "", capfd.readouterr().out)


def test_the_printed_script_takes_the_files(here, capfd):
    assert cli.main(["new", "script", *TEXT, "--tokenized", *CODES, *DICTIONARIES]) == 0
    assert cli.main(["prepare", "script", "--dry-run"]) == 0
    script = capfd.readouterr().out
    assert 'cp script/codes/codes "$DATA/bpe/codes"' in script and "learn-pieces" not in script
    assert "--joined-dictionary \\\n  --srcdict script/codes/dict.txt" in script
    Path("script.sh").write_text(script[script.index("#!") :], "utf-8")
    code, printed = forks.run_script(Path("script.sh"), here)
    assert code == 0, printed
    assert sha256("script/data/bin/train.en-de.de.bin") == sha256("own/data/bin/train.en-de.de.bin")
    stamp = Path("script/data/bin/.stamp")
    assert not stamp.exists()


def test_another_content_is_another_text(here, capfd):
    """The stamp has the digests, so a changed file is not taken for prepared."""
    assert cli.main(["new", "changed", *TEXT, "--tokenized", *CODES]) == 0
    before = load("changed").text_facts()
    assert load("changed").task.bpe["default"].dictionaries == []
    with open("changed/codes/codes", "a", encoding="utf-8") as out:
        out.write("q q\n")
    assert load("changed").text_facts() != before


def test_codes_of_two_languages_in_their_order(here, capfd):
    content = yaml.safe_load(Path("own/recipe.yaml").read_text("utf-8"))
    assert cli.main(["new", "two", *TEXT, "--tokenized", "--bpe", "300"]) == 0
    content = yaml.safe_load(Path("two/recipe.yaml").read_text("utf-8"))
    content["bpe"]["default"] |= {"joint": False, "dictionary": "separate"}
    Path("two/recipe.yaml").write_text(yaml.safe_dump(content), "utf-8")
    assert cli.main(["prepare", "two"]) == 0
    codes = ["two/data/bpe/codes.en", "two/data/bpe/codes.de"]
    dictionaries = ["two/data/bin/dict.en.txt", "two/data/bin/dict.de.txt"]
    Path("fast").write_text("t h 9\nth e 7\n", "utf-8")  # of fastBPE, with counts
    words = [*TEXT, "--tokenized"]
    capfd.readouterr()
    for given, problem in (
        (["--codes", *codes[::-1]], "give first those of en"),
        (["--codes", *codes, "--dictionary", *dictionaries[::-1]], "is not the file that segm"),
        (["--codes", "fast"], "fast: is neither codes of subword-nmt nor a model"),
        (["--codes", codes[0], "--dictionary", codes[0]], "codes.en, line 1: '#version"),
        (["--dictionary", *dictionaries], "give the --codes that segmented its text"),
        (["--codes", *codes, "--bpe", "7"], "--bpe: contradicts --codes"),
        (["--codes", *codes, "--segment", "subword-nmt"], "--segment: contradicts --codes"),
        (["--codes", *codes, "own/data/bpe/codes"], "architecture: 'own/data/bpe/codes' is not"),
    ):
        assert cli.main(["new", "refused", *words, *given]) in (1, 2), given
        assert problem in capfd.readouterr().err
        assert not Path("refused").exists()
    capital = [line.upper() for line in read_lines("train.en")]
    Path("capital.en").write_text("\n".join(capital) + "\n", "utf-8")
    given = ["--train", "capital.en", "train.de", *SETS, "--tokenized", "--codes", *codes]
    assert cli.main(["new", "refused", *given, "--dictionary", *dictionaries]) == 1
    assert "two/data/bin/dict.en.txt: " in capfd.readouterr().err
    given = ["--codes", *codes, "--dictionary", *dictionaries]
    assert cli.main(["new", "like", *words, *given, "--like", "iwslt14_de_en"]) == 0
    assert "2,048 tokens, separate dictionary" in capfd.readouterr().out
    assert cli.main(["new", "again", *words, *given]) == 0
    assert cli.main(["prepare", "again"]) == 0
    for name in ("train.en-de.en.bin", "train.en-de.de.bin", "dict.de.txt"):
        assert sha256(f"again/data/bin/{name}") == sha256(f"two/data/bin/{name}")


def test_a_folder_without_test_set_and_without_codes(here, capfd):
    shutil.copytree("own/data/bin", "lacking")
    for path in Path("lacking").glob("test.*"):
        path.unlink()
    assert cli.main(["new", "refused", "--data-bin", "lacking"]) == 1
    assert "lacking: has no test.en-de.en.idx" in capfd.readouterr().err
    assert cli.main(["new", "refused", "--data-bin", "own"]) == 1
    assert "--data-bin own: has no set such as train.en-de.en.idx" in capfd.readouterr().err
    assert not Path("refused").exists()
    assert cli.main(["new", "bare", "--data-bin", "own/data/bin"]) == 0
    assert cli.main(["run", "bare", "--max-update", "2", "--average", "1", *SMALL]) == 0
    capfd.readouterr()
    assert cli.main(["translate", f"bare/{ARCH}-s1", "test.en"]) == 1
    assert "segmented by subword-nmt, and the codes are missing" in capfd.readouterr().err
    words = ["--bpe-codes", "own/data/bpe/codes"]
    assert any(translated(capfd, f"bare/{ARCH}-s1", "test.en", *words))


def test_a_folder_with_unknown_pieces_and_further_test_sets(here, capfd):
    """References with <unk> are scored as fairseq-generate does: no translation matches them."""
    words = ["--source-lang", "en", "--target-lang", "de", "--joined-dictionary"]
    for flag, names in (("train", ["train"]), ("valid", ["valid"]), ("test", ["test", "valid"])):
        words += [f"--{flag}pref", ",".join(f"own/data/bpe/{name}" for name in names)]
    words += ["--thresholdsrc", "40", "--workers", "1", "--destdir", "rare"]
    run(here, "preprocess", *words).good()
    assert cli.main(["new", "sets", "--data-bin", "rare"]) == 0
    assert cli.main(["run", "sets", *RUN_WORDS]) == 0
    assert re.search(r"test1.de: 20 lines, [1-9]\d* unknown pieces", capfd.readouterr().out)
    assert any("⁇" in line for line in read_lines("sets/data/raw/test.de"))
    assert cli.main(["evaluate", "sets", ARCH, "--average", "2", "--subset", "test1"]) == 0
    first, second = read_record(Path(f"sets/{ARCH}-s1")).decodings
    assert (first.subset, second.subset, second.sentences) == ("test", "test1", 20)
    assert first.scores and second.scores
    with open("rare/train.en-de.de.bin", "ab") as out:
        out.write(b"x")
    shutil.rmtree("sets/data")
    capfd.readouterr()
    assert cli.main(["prepare", "sets"]) == 1
    assert "rare/train.en-de.de.bin: has changed since" in capfd.readouterr().err


def test_fine_tuning_is_continued_and_stands_beside_its_start(here, monkeypatch, capfd):
    words = ["--train", "news.en", "news.de", *SETS]
    assert cli.main(["new", "news", "--train", "news.de", "news.en", "--from", RUN]) == 2
    assert f"from de to en, and --from {RUN} translates from en to de" in capfd.readouterr().err
    assert cli.main(["new", "news", "transformer_dc", *words, "--from", RUN]) == 2
    assert "ARCH: contradicts --from" in capfd.readouterr().err
    for code in ("en", "de"):  # dc-nmt new takes no fewer pairs
        Path(f"news.{code}").write_text(Path(f"news.{code}").read_text("utf-8") * 3, "utf-8")
    assert cli.main(["new", "news", *words, "--from", RUN]) == 0
    recipe = load("news")
    assert recipe.task.archs == [ARCH] and recipe.task.text.tokenizer == "none"
    assert sha256("news/codes/codes") == sha256("own/data/bpe/codes")
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "train_step", Trainer.train_step)
        kill_before_update(3)
        assert cli.main(["run", "news", "--save-interval-updates", "1"]) == 1
    save = Path(f"news/{ARCH}-s1")
    assert updates(save / "checkpoints") == 2
    assert "loading pretrained model from" in (save / "train.log").read_text("utf-8")
    # what the run is continued from is its own
    shutil.move(f"{RUN}/average", "moved")
    try:
        assert cli.main(["run", "news"]) == 0
    finally:
        shutil.move("moved", f"{RUN}/average")
    record, start = read_record(save), read_record(Path(RUN))
    assert record.settings["finetune-from-model"] == f"{RUN}/average/checkpoint.pt"
    assert record.training.start == sha256(f"{RUN}/average/checkpoint.pt")
    assert str(here) not in str(record.settings)
    assert record.settings["lr"] == pytest.approx(start.settings["lr"] / 10)
    assert record.settings["encoder-embed-dim"] == 16
    assert record.data.dictionaries == start.data.dictionaries
    capfd.readouterr()
    assert cli.main(["results", RUN, str(save)]) == 0
    table = capfd.readouterr().out
    assert f"--finetune-from-model {RUN}/average/checkpoint.pt instead of not" in table
    assert cli.main(["results", "news"]) == 0  # also alone
    assert f"{ARCH}-s1: fine-tuned from {RUN}/average/checkpoint.pt" in capfd.readouterr().out
    assert cli.main(["run", "news", "--sample", "40"]) == 0
    # both have one name
    assert cli.main(["evaluate", "own", ARCH, "--average", "2", "--with", str(save)]) == 0
    name = "ensemble.news_transformer_standard_s1"
    assert read_record(Path(RUN)).decodings[-1].name == name


def test_fine_tuning_keeps_tokeniser_and_casing(here, capfd):
    """The truecaser is that of the run: another text would have others."""
    assert cli.main(["new", "cased", *TEXT, "--bpe", "300"]) == 0
    content = yaml.safe_load(Path("cased/recipe.yaml").read_text("utf-8"))
    content["text"] = {"tokenizer": "moses", "hyphens": True, "casing": "truecase"}
    Path("cased/recipe.yaml").write_text(yaml.safe_dump(content), "utf-8")
    assert cli.main(["run", "cased", *RUN_WORDS]) == 0
    for code in ("en", "de"):
        lines = read_lines(f"train.{code}")[:220]
        Path(f"some.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    words = ["--train", "some.en", "some.de", *SETS, "--from", f"cased/{ARCH}-s1"]
    assert cli.main(["new", "kept", *words, "--tokenized"]) == 2
    assert "whose text is tokenised by moses; give raw text" in capfd.readouterr().err
    assert cli.main(["new", "kept", *words]) == 0, capfd.readouterr().err
    assert load("kept").task.text == load("cased").task.text
    assert cli.main(["prepare", "kept"]) == 0
    for name in ("raw/truecase.en", "raw/truecase.de", "bpe/test.en", "bin/test.en-de.de.bin"):
        assert sha256(f"kept/data/{name}") == sha256(f"cased/data/{name}"), name


def test_a_model_of_sentencepiece(here, capfd):
    pytest.importorskip("sentencepiece")
    assert cli.main(["new", "pieces", *TEXT, "--segment", "sentencepiece", "--bpe", "400"]) == 0
    assert cli.main(["prepare", "pieces"]) == 0
    codes = ["--codes", "pieces/data/bpe/codes.model"]
    dictionaries = [f"pieces/data/bin/dict.{code}.txt" for code in ("en", "de")]
    assert cli.main(["new", "same", *TEXT, *codes, "--dictionary", *dictionaries]) == 0
    assert load("same").task.text.tokenizer == "raw"
    assert cli.main(["new", "joined", "--data-bin", "pieces/data/bin", *codes]) == 0
    for folder in ("same", "joined"):
        assert cli.main(["prepare", folder]) == 0
        for name in ("bin/train.en-de.de.bin", "bin/dict.en.txt", "raw/test.de"):
            assert sha256(f"{folder}/data/{name}") == sha256(f"pieces/data/{name}"), name
    refused = ["--data-bin", "pieces/data/bin", "--codes", "own/data/bpe/codes"]
    assert cli.main(["new", "refused", *refused]) == 1
    assert "own/data/bpe/codes: is not the file that segmented" in capfd.readouterr().err


def test_an_ensemble_is_a_row_of_its_own(here, tmp_path, monkeypatch, capfd):
    other = "own/transformer_dc-s1"
    assert cli.main(["run", "own", "transformer_dc", *RUN_WORDS]) == 0
    words = ["evaluate", "own", ARCH, "--average", "2", "--with", other]
    assert cli.main(words) == 0
    capfd.readouterr()
    assert cli.main(words) == 0
    assert "transformer_dc-s1: translate the test set: done before" in capfd.readouterr().out
    record = read_record(Path(RUN))
    name = "ensemble.transformer_dc_s1"
    names = [decoding.name for decoding in record.decodings if "news" not in decoding.name]
    assert names == ["", name]
    decoding = record.decoding(name)
    (member,) = decoding.ensemble
    assert (member.run, member.architecture) == ("transformer_dc-s1", "transformer_dc")
    assert member.checkpoint == "../transformer_dc-s1/average/checkpoint.pt"
    assert decoding.hypotheses_sha256 != record.decoding().hypotheses_sha256
    lines = translated(capfd, RUN, "test.en", "--with", other)
    assert lines == read_lines(f"{RUN}/hypotheses-{name}.de")
    assert lines != translated(capfd, RUN, "test.en")
    model = dc_nmt_plugin.load(RUN, ensemble=[other])
    assert [line.hypothesis for line in model.translate(read_lines("test.en"))] == lines
    assert cli.main(["results", "own", "--json"]) == 0
    rows = {row["system"]["label"]: row for row in json.loads(capfd.readouterr().out)["rows"]}
    row = rows[f"{ARCH}-s1, {name}"]["system"]
    single = [rows[f"{arch}-s1"]["system"]["parameters"] for arch in (ARCH, "transformer_dc")]
    assert row["arch"] == f"{ARCH} + transformer_dc" and row["parameters"] == sum(single)
    assert row["updates"] is None
    test = rows[f"{ARCH}-s1, {name}"]["test"]
    assert "ensemble with transformer_dc-s1 instead" in test["differs"] + test["settings"]
    # another model of the other run is another ensemble
    assert cli.main(["evaluate", "own", "transformer_dc", "--average", "1"]) == 0
    capfd.readouterr()
    assert cli.main(words) == 0
    assert "transformer_dc-s1: translate the test set: done" not in capfd.readouterr().out
    assert cli.main(["evaluate", "own", ARCH, "--average", "2", "--with", RUN]) == 1
    assert f"--with {RUN}: is the evaluated run itself" in capfd.readouterr().err
    assert cli.main(["export", RUN, "--run", str(tmp_path / "packed")]) == 0
    (packed,) = read_record(tmp_path / "packed").decoding(name).ensemble
    assert packed.run == "transformer_dc-s1" and packed.checkpoint is None


def test_an_ensemble_of_other_dictionaries(here, capfd):
    assert cli.main(["new", "apart", *TEXT, "--tokenized", "--bpe", "50"]) == 0
    assert cli.main(["run", "apart", "--max-update", "2", "--average", "1", *SMALL]) == 0
    other = f"apart/{ARCH}-s1"
    capfd.readouterr()
    assert cli.main(["translate", RUN, "test.en", "--with", other]) == 1
    assert "dictionary has other words, or another order" in capfd.readouterr().err
    assert cli.main(["evaluate", "own", ARCH, "--average", "2", "--with", other]) == 1
    problem = capfd.readouterr().err
    assert f"--with {other}: translates from en to de with the dictionaries of" in problem
    assert "an ensemble needs those of own/data/bin" in problem
    assert cli.main(["evaluate", "own", ARCH, "--average", "2", "--with", "nothing"]) == 1
    assert "nothing: no such run folder" in capfd.readouterr().err


@pytest.mark.parametrize("arch", few([*FAMILIES, RECURRENT], "transformer_mlmha", RECURRENT))
def test_each_family_begins_with_the_parameters_of_its_run(arch, corpus, trained, tmp_path):
    """A learning rate of 0 keeps them, so the record and the checkpoint are what is tested."""
    if arch == RECURRENT:
        start = tmp_path / "start"
        run(start, "train", *recurrent_training(corpus, start, "", *ADADELTA, "--max-update", 2))
        words = recurrent_training(corpus, tmp_path / "save", "", *ADADELTA)
    else:
        start = trained(arch)
        words = [*training(corpus, tmp_path / "save"), *family(arch)]
    checkpoint = start / "checkpoint_last.pt"
    words += ["--finetune-from-model", checkpoint, "--lr", 0, "--max-update", 1]
    run(tmp_path, "train", *words).good()
    tuned, before = load_checkpoint(tmp_path / "save"), load_checkpoint(start)
    assert tuned["optimizer_history"][-1]["num_updates"] == 1
    assert same(tuned["model"], before["model"])
    assert read_record(tmp_path / "save").training.start == sha256(checkpoint)
