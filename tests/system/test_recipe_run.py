"""A recipe's run: ``dc-nmt translate`` of its test set and of lines that are typed; its record."""

from __future__ import annotations

import io
import json
import random
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import forks
import pytest
import torch
import yaml
from commands import ROOT
from html_pages import Page
from interruption import updates
from records import change

from dc_nmt_plugin import cli
from dc_nmt_plugin.checkpoints.loading import load_checkpoint
from dc_nmt_plugin.files import sha256
from dc_nmt_plugin.laboratory import steps
from dc_nmt_plugin.laboratory.commands import translate as command
from dc_nmt_plugin.laboratory.recipes.new_recipe import NewOptions, make_recipe
from dc_nmt_plugin.runs.data import dictionaries_of
from dc_nmt_plugin.runs.record import read_record
from dc_nmt_plugin.text.lines import read_lines

ARCH = "transformer_ms_aux"
BEAM1 = ["evaluate", "mine", ARCH, "--as", "beam1", "--"]
# what Moses' scripts change: apostrophes, "&", brackets, hyphens, capitals, foreign quotation marks
EN = ["It's", "Bob's", "well-known", "R&D", "[now]", "“so”", "The", "dog", "cats", "42", "House"]
FR = ["C'est", "l'eau", "peut-être", "R&D", "[ici]", "«si»", "Le", "chien", "chats", "42", "Maison"]
# at the end of the test set; but for their capitals, nothing of them is truecased or normalised
UNCHANGED = ["dog well-known cats.", "cats R&D 42 dog.", "well-known dog."]
SMALL = "--encoder-layers 2 --decoder-layers 2 --dropout 0.1 --num-workers 0 --cpu"
for side in ("encoder", "decoder"):
    SMALL += f" --{side}-embed-dim 16 --{side}-ffn-embed-dim 16 --{side}-attention-heads 2"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder in which ``dc-nmt new mine`` and ``dc-nmt run mine`` have been called."""
    here = tmp_path_factory.mktemp("home")
    choice = random.Random(1)
    sizes = {"train": 250, "valid": 12, "test": 40}
    for split, size in sizes.items():
        numbers = [choice.choices(range(len(EN)), k=choice.randint(2, 9)) for _ in range(size)]
        for code, words in (("en", EN), ("fr", FR)):
            lines = [" ".join(words[n] for n in line) + "." for line in numbers]
            lines += UNCHANGED if split == "test" else []
            lines = [line[0].upper() + line[1:] for line in lines]  # for the truecaser
            (here / f"{split}.{code}").write_text("\n".join(lines) + "\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        patch.setenv("OMP_NUM_THREADS", "1")
        forks.start_for_recipes(patch)
        files = [[here / f"{split}.{code}" for code in ("en", "fr")] for split in sizes]
        make_recipe(NewOptions(here / "mine", *files, archs=[ARCH]))
        recipe = yaml.safe_load((here / "mine/recipe.yaml").read_text("utf-8"))
        recipe["text"] = {"hyphens": True, "casing": "truecase", "punctuation": True}
        recipe["bpe"]["default"] |= {"operations": 30, "joint": False, "dictionary": "separate"}
        recipe["settings"] = {
            "all": recipe["settings"]["all"]
            | {"flags": f"{SMALL} --optimizer adam --lr 1e-6", "size": "unshared", "average": 2}
            | {"decode": "--beam 3 --max-len-b 8 --max-len-a 0 --lenpen 0.7"}
        }
        (here / "mine/recipe.yaml").write_text(yaml.safe_dump(recipe), "utf-8")
        assert cli.main(["run", "mine", "--max-update", "2"]) == 0
    return here


@pytest.fixture
def here(home, monkeypatch):
    monkeypatch.chdir(home)
    return home


RUN = f"mine/{ARCH}_unshared-s1"


@pytest.fixture
def translate(capfdbinary):
    """Arguments → the lines that the command prints."""

    def call(*words):
        code = cli.main(["translate", *map(str, words)])
        output, errors = (text.decode("utf-8") for text in capfdbinary.readouterr())
        assert code == 0, errors
        return output.splitlines()

    return call


def test_a_packed_model_translates_elsewhere(here, translate, tmp_path, monkeypatch, capfdbinary):
    lines = (here / "test.en").read_text("utf-8").splitlines()[:5]
    expected = translate(RUN, *(word for line in lines for word in ("--sentence", line)))
    assert cli.main(["export", str(RUN), "--run", str(tmp_path / "packed")]) == 0
    place = tmp_path / "elsewhere" / "model"
    place.parent.mkdir()
    shutil.move(tmp_path / "packed", place)
    monkeypatch.chdir(place.parent)
    capfdbinary.readouterr()
    assert translate(place, *(word for line in lines for word in ("--sentence", line))) == expected
    tensors = load_checkpoint(str(place / "average/checkpoint.pt"))["model"].values()
    assert {each.dtype for each in tensors if each.is_floating_point()} == {torch.float16}
    assert str(here).encode() not in (place / "average/checkpoint.pt").read_bytes()
    packed = read_record(place).decodings[0]
    assert packed.hypotheses_sha256 == sha256(place / packed.hypotheses)


def test_the_tour_of_a_reviewer(here, capfd):
    """Each command of docs/runs.md, on a run by mail and a copy of it as another seed."""
    mailed = here / "mail" / Path(RUN).name
    copied = mailed.with_name(mailed.name.replace("-s1", "-s2"))
    assert cli.main(["export", RUN, "--run", str(mailed)]) == 0
    shutil.copytree(mailed, copied)
    change(copied, name=copied.name, seed=2)
    page = (ROOT / "docs/runs.md").read_text("utf-8")
    (block,) = re.findall(r"```bash\n(dc-nmt results RUN\n.*?)```", page, re.S)
    names = {"RUN2": copied, "RUN": mailed, "BASELINE": RUN, "SOURCE": "test.en"}
    printed = {}
    for line in block.splitlines():
        line = re.sub("|".join(names), lambda match: str(names[match[0]]), line)
        command, _, file = line.partition(" > ")
        if not command.startswith("dc-nmt"):
            words = ["bash", "-c", command.replace("DATA", str(here / "mine/data/bin"))]
            printed["sha256sum"] = subprocess.run(words, capture_output=True, text=True).stdout
            continue
        capfd.readouterr()
        code = cli.main(shlex.split(command)[1:])
        output, errors = capfd.readouterr()
        assert code == (2 if "--over-seeds" in command else 0), errors
        printed[" ".join(command.split()[1:2] + command.split()[3:])] = output + errors
        if file:
            Path(file).write_text(output, "utf-8")
    assert "as recorded: updates, architectures, speeds\n" in printed["results"]
    assert re.search(r"^again +\S+ +\S+ +[+-]0\.0", printed["compare again"], re.M)
    assert "one run under two names" in printed[f"results {copied} --over-seeds"]
    assert "valid:loss" in printed["analyze " + str(mailed)]
    assert printed["sha256sum"].split()[0] == read_record(mailed).data.text
    shutil.rmtree(mailed.parent)


def test_the_test_set_is_translated_as_its_evaluation_did(here, translate):
    expected = read_lines(here / RUN / "hypotheses.fr")
    assert len(set(expected)) > 5, "what is said does not depend on the source"
    results = [json.loads(line) for line in translate(RUN, "test.en", "--json")]
    assert [each["source"] for each in results] == read_lines(here / "test.en")
    assert [each["hypothesis"] for each in results] == expected
    log = (here / RUN / "generate/generate-test.txt").read_text("utf-8")
    scores = {int(n): float(s) for n, s in re.findall(r"^H-(\d+)\t(\S+)", log, re.M)}
    assert [each["score"] for each in results] == pytest.approx(
        [scores[number] for number in range(len(results))], abs=1e-5
    )


def test_how_far_trainings_are(here, capfd):
    """By what fairseq printed; at the speed of the last updates, one in half a second here."""
    words = ["run", "mine", "--seeds", "1,2", "--status", "--max-update"]
    other = here / RUN.replace("-s1", "-s2")
    other.mkdir()
    log = (here / RUN / "train.log").read_text("utf-8")
    for update in (20, 40):
        times = {"num_updates": update, "wall": update // 2}
        for name, value in times.items():
            log = re.sub(rf'(train_inner.*"{name}": )"[^"]*"', rf'\1"{value}"', log)
        with open(other / "train.log", "a", encoding="utf-8") as file:
            file.write(log)
    for asked, left in (("2", ""), ("100", ", 30 seconds left")):
        assert cli.main([*words, asked]) == 0
        first, second = capfd.readouterr().out.splitlines()[-2:]
        assert f" 2 of {asked} updates" in first, first
        assert f" 40 of {asked} updates{left}" in second, second
    shutil.rmtree(other)


def standard_input(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))


def test_as_a_filter_a_line_comes_out_for_each_that_goes_in(here, translate, monkeypatch):
    first, second, third = read_lines(here / "test.en")[:3]
    second = second.replace(" ", "\u2028")  # ends a line for some tools
    text = f"\ufeff{first}\r\n\n  \n{second}\n{third}"
    standard_input(monkeypatch, text.encode())
    expected = read_lines(here / RUN / "hypotheses.fr")
    monkeypatch.setattr(command, "BUFFER", 2)
    assert translate(RUN) == [expected[0], "", "", *expected[1:3]]


def test_other_flags_are_fairseqs_and_come_last(here, translate):
    """Each of these changes what is said, so that an ignored one is seen."""
    for flags in (["--beam", 1], ["--decode-with", "aux:1"]):
        assert translate(RUN, "test.en", *flags) != read_lines(here / RUN / "hypotheses.fr"), flags


def test_without_a_recipe_the_tokenizer_can_be_named(here, translate, tmp_path, monkeypatch):
    (tmp_path / "small.en").write_text("".join(f"{line}\n" for line in UNCHANGED))
    expected = read_lines(here / RUN / "hypotheses.fr")[-len(UNCHANGED) :]
    monkeypatch.chdir(shutil.copytree(here / "mine", tmp_path / "mine"))
    shutil.rmtree("data/raw")
    words = [RUN.split("/")[1], "../small.en"]
    assert cli.main(["translate", *words]) == 1, "its score was of truecased text"
    results = translate(*words, "--tokenizer", "moses-a")
    assert [line[0].upper() + line[1:] for line in results] == expected and results != expected
    Path(words[0], "run.json").unlink()
    assert cli.main(["translate", *words]) == 1, "nothing says how its text was tokenised"


def test_a_run_s_text_is_that_of_its_training(here, translate, tmp_path, monkeypatch, capfdbinary):
    """Neither an edited recipe's, nor that of another folder of the same name, nor newer text."""
    expected = read_lines(here / RUN / "hypotheses.fr")
    for name in ("one", "other"):
        shutil.copytree(here / "mine", tmp_path / name / "mine")
    path = tmp_path / "one/mine/recipe.yaml"
    recipe = yaml.safe_load(path.read_text("utf-8"))
    recipe["text"] = {"casing": "lower"}
    path.write_text(yaml.safe_dump(recipe), "utf-8")
    with open(tmp_path / "other/mine/data/bin/dict.en.txt", "a") as dictionary:
        dictionary.write("newer 1\n")
    monkeypatch.chdir(tmp_path / "other")
    assert translate(tmp_path / "one" / RUN, here / "test.en") == expected
    assert cli.main(["translate", RUN, str(here / "test.en")]) == 1
    assert b"was trained when" in capfdbinary.readouterr().err


# what is done to a copy of the run → what the sentence has
BROKEN = {
    "no checkpoint": (
        lambda run: [shutil.rmtree(run / name) for name in ("average", "checkpoints")],
        ["has no checkpoint (average/checkpoint.pt"],
    ),
    "no BPE codes": (
        lambda run: shutil.rmtree(run.parent / "data/bpe"),
        ["data/bin: its text is segmented", "--bpe-codes"],
    ),
    "too long": (lambda run: [RUN, "long.en"], ["line 2: has 3,301 pieces", "1,024 positions"]),
}


@pytest.mark.parametrize("what", BROKEN)
def test_refused_in_one_sentence(what, here, tmp_path, monkeypatch, capsys):
    copy = shutil.copytree(here, tmp_path / "home")
    (copy / "long.en").write_text(f"dog\n{'dog ' * 1100}\n")
    monkeypatch.chdir(copy)
    change, pieces = BROKEN[what]
    words = change(copy / RUN)
    words = words if words and isinstance(words[0], str) else [RUN, "test.en"]
    assert cli.main(["translate", *words]) in (1, 2)
    output, errors = capsys.readouterr()
    assert output == "" and errors.count("\n") == 1, errors
    for piece in pieces:
        assert piece in errors


# -- run.json: two updates, two translations, a score by hand; renamed and moved ---------------


@pytest.fixture(scope="module")
def run(home):
    """The run of ``dc-nmt run mine``, translated again with another beam, and scored by hand."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setattr(steps, "start", forks.start)
        assert cli.main([*BEAM1, "--beam", "1", "--max-len-b", "8"]) == 0
        words = [f"{RUN}/hypotheses.fr", "--reference", "test.fr"]
        words += ["--target-lang", "fr", "--as", "by.hand", "--out", f"{RUN}/run.json"]
        assert cli.main(["score", *words]) == 0
    return home / RUN


@pytest.fixture
def outputs(capfdbinary):
    """A run's folder → what each command prints of it, without the folder's name."""

    def of(folder: Path) -> dict[str, str]:
        Path("lines.en").write_text("The dog.\nBob's cats.\n")
        results = {}
        for name, words in {
            "results": ["results", folder, "--json"],
            "compare": ["compare", folder, f"{folder}:beam1"],
            "curves": ["analyze", "curves", folder],
            "translate": ["translate", folder, "lines.en", "--json"],
        }.items():
            assert cli.main(list(map(str, words))) == 0, capfdbinary.readouterr().err
            results[name] = capfdbinary.readouterr().out.decode()
        rows = json.loads(results["results"])["rows"]
        for row in rows:
            row["system"]["run"] = ""
        results["results"] = json.dumps(rows)
        return results

    return of


def test_everything_is_in_one_record(run):
    record = read_record(run)
    assert record.name == run.name and record.system == run.name.removesuffix("-s1")
    assert (record.task, record.seed, record.training.updates) == ("mine", 1, 2)
    assert record.settings["encoder-embed-dim"] == 16 and record.settings["max-update"] == 2
    data = run.parent / "data/bin"
    assert record.data.dictionaries == dictionaries_of(data)
    assert record.data.text == sha256(*sorted(data.glob("train.*")))
    main, beam, hand = record.decodings
    assert (main.key, beam.key, hand.key) == ("", "beam1", "by.hand")
    assert main.search == {"beam": 3, "max-len-b": 8, "max-len-a": 0, "lenpen": 0.7}
    assert beam.search == {**main.search, "beam": 1}
    assert main.checkpoint == "average/checkpoint.pt" and main.averaged == 2
    scores = {score.metric: score.value for score in main.scores}
    assert scores["mteval-v13a"] == hand.score("mteval-v13a").value
    (start,) = record.starts
    assert "torch" in start.versions and record.training.device == start.device
    assert start.command == main.translated.command == main.scored.command
    assert start.command == "dc-nmt run mine --max-update 2"
    assert beam.scored.command.startswith(f"dc-nmt evaluate mine {ARCH} --as beam1")
    assert hand.translated is None and hand.scored.command.startswith(f"dc-nmt score {RUN}/")
    assert start.date <= main.translated.date <= main.scored.date <= hand.scored.date
    assert hand.hypotheses_sha256 == sha256(run / "hypotheses.fr")
    assert main.hypotheses_sha256 not in (hand.hypotheses_sha256, beam.hypotheses_sha256)
    assert main.device == beam.device == record.training.device and hand.device is None
    text = (run / "run.json").read_text("utf-8")
    # places of this machine: `written_in`, and the reference from outside of the task's folder
    assert text.count(str(run.parents[1])) == 2


def test_a_run_says_the_same_wherever_it_is(run, outputs, cwd):
    expected = outputs(run)
    assert run.name in expected["compare"] and "beam1" in expected["results"]
    with_text = shutil.copytree(run.parent, cwd / "deep" / "task")
    renamed = (with_text / run.name).rename(with_text / "the best-s7")
    alone = shutil.copytree(run, cwd / "alone-s2")
    for folder in (renamed, alone):
        assert outputs(folder) == expected


@pytest.fixture
def copy(run, tmp_path, monkeypatch):
    """A copy of the run, in a copy of its folders, which is the working directory."""
    place = shutil.copytree(run.parents[1], tmp_path / "copy")
    monkeypatch.chdir(place)
    monkeypatch.setattr(steps, "start", forks.start)
    return place / RUN


def test_a_page_has_every_part(copy, capfd):
    """A run with three translations: it is one run, with three rows."""
    change(copy, name="a$b{$ <b>")
    words = ["results", str(copy), "--page", "out", "--sentences", "2,1"]
    assert cli.main(words) == 0, capfd.readouterr().err
    page = Page(Path("out/index.html")).check()
    about = [picture["alt"] for picture in page.of("img")]
    assert about[1:] == [
        "losses, and BLEU where it was logged, against updates",
        "BLEU by words of the reference",
        "F1 of words by frequency in the reference",
        "sentence 2, a$b{$ <b>: attention in the last layers",
        "sentence 1, a$b{$ <b>: attention in the last layers",
    ]
    assert "train: loss" in page.pictures[1] and "decoder.2.source" in page.pictures[-1]
    assert "--beam" in page.text and "versions" in page.text
    assert not [line for line in page.text if line.startswith("Left out")]
    assert max(map(len, page.pictures)) < 100_000  # a page with 30 of them is below 5 MB
    assert str(Path.cwd()) not in Path("out/index.html").read_text("utf-8")


def test_a_training_that_was_killed_before_its_last_record(copy, capfd):
    """Its last checkpoint has all updates: the same command makes no further one."""
    change(copy, training=replace(read_record(copy).training, updates=1))
    (copy / "train.log").unlink()
    assert cli.main(["evaluate", "mine", ARCH]) == 0
    assert "has not finished" in capfd.readouterr().err
    assert cli.main(["train", "mine", ARCH, "--max-update", "2"]) == 0
    assert updates(copy / "checkpoints") == 2
    assert read_record(copy).training.updates == 2
    # what was translated of other checkpoints is translated again
    capfd.readouterr()
    assert cli.main(["evaluate", "mine", ARCH, "--average", "1"]) == 0
    assert "translate the test set\n" in capfd.readouterr().out
    assert read_record(copy).decoding().averaged == 1


def test_a_run_is_evaluated_on_the_text_that_it_was_trained_for(copy, capfd):
    for code in ("en", "fr"):  # as if the test set had been prepared anew: one more space
        text = copy.parent / f"data/raw/test.{code}"
        text.write_text(text.read_text("utf-8").replace(".\n", " .\n", 1), "utf-8")
        assert cli.main(["evaluate", "mine", ARCH]) == 0
        assert "translate the test set\n" in capfd.readouterr().out
    assert cli.main(["evaluate", "mine", "transformer_dc", "--name", copy.name]) == 2
    assert f"has a run of {ARCH}_unshared, not of " in capfd.readouterr().err
    with open(next(copy.parent.glob("data/bin/train.*.idx")), "ab") as index:
        index.write(b"newer")
    assert cli.main(["evaluate", "mine", ARCH]) == 1
    assert "was trained when mine/data/bin had other text" in capfd.readouterr().err


def test_another_set_than_that_of_the_output_is_refused(copy, capsys):
    words = ["score", f"{RUN}/generate/generate-test.txt", "--reference", "test.fr"]
    words += ["--target-lang", "fr", "--tokenizer", "moses-a", "--out", f"{RUN}/run.json"]
    before = (copy / "run.json").read_bytes()
    assert cli.main([*words, "--subset", "valid"]) == 2
    assert "--subset valid: " in capsys.readouterr().err
    assert (copy / "run.json").read_bytes() == before
    other = (copy / "generate/generate-test.txt").rename(copy / "generate/generate-valid.txt")
    words[1] = str(other)
    # without its settings the output has the set of its name
    text = [line for line in read_lines(other) if line[1:2] == "-"]
    other.write_text("\n".join(text) + "\n", "utf-8")
    assert cli.main([*words, "--name", "mine-s1"]) == 0
    record = read_record(copy)
    assert record.decodings[-1].subset == "valid"
    assert (record.name, record.system, record.seed) == ("mine-s1", "mine", 1)


def test_a_refused_training_prints_no_script_and_leaves_no_file(copy, capsys):
    for words in (["--max-tokens", "3", "--dry-run"], ["--bf16", "--name", "new"]):
        for name in ("run", "train"):
            assert cli.main([name, "mine", ARCH, *words]) in (1, 2)
            output, errors = capsys.readouterr()
            assert output == "" and errors.count("\n") == 1 and words[0] in errors
    assert not (copy.parent / "new").exists()
    # a script may run on another machine
    assert cli.main(["train", "mine", ARCH, "--bf16", "--name", "new", "--dry-run"]) == 0


def test_it_is_done_once(run, monkeypatch, capsys):
    monkeypatch.chdir(run.parents[1])
    monkeypatch.setattr(steps, "start", lambda *_, **__: pytest.fail("it ran again"))
    before = (run / "run.json").read_bytes()
    assert cli.main(["run", "mine", "--max-update", "2"]) == 0
    assert cli.main([*BEAM1, "--max-len-b=8", "--beam", "1"]) == 0, "in another order"
    capsys.readouterr()
    assert (run / "run.json").read_bytes() == before
