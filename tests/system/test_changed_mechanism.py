"""A mechanism of the user's own that was changed after the training is never silently another."""

import json
import re

import pytest
import torch
from commands import ROOT, Result, run
from systems import SOURCE, TARGET, load, training

from dc_nmt_plugin import cli
from dc_nmt_plugin.runs.record import read_record

FADING = '''
import torch
from torch import nn
import dc_nmt_plugin as dc
from .distances import distances

SCALE = 2

def unused():
    return 1

@dc.register_self_attention(
    "fading", options=[dc.Option("base", 4, "base", at_least=1), dc.Option("sign", -1, "sign")]
)
class Fading(dc.SelfAttention):
    """Fades."""

    def __init__(self, *, num_heads, **others):
        super().__init__(num_heads=num_heads, **others)
        self.scale = nn.Parameter(torch.ones(num_heads, 1, 1))

    def logits(self, query, key, flow):
        faded = self.sign * distances(query, key, flow) / (getattr(self, "base", 4) * SCALE)
        return super().logits(query, key, flow) + self.scale * faded
'''
DISTANCES = '''
import torch

def distances(query, key, flow):
    """Returns |i - j|, (T, S)."""
    here = flow.first_position + torch.arange(query.size(-2))
    return (here[:, None] - torch.arange(key.size(-2))).abs()
'''
ANOTHER_FORMULA = "'fading' was trained with another source than"
SCALE_LINE = "self.scale = nn.Parameter(torch.ones(num_heads, 1, 1))"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder of --user-dir."""
    return tmp_path_factory.mktemp("users") / "fading"


@pytest.fixture(scope="module")
def folder(place):
    """A function that writes the mechanism into that folder, with a change."""
    place.mkdir()

    def write(old="", new="", distances=DISTANCES):
        assert old in FADING
        (place / "__init__.py").write_text(FADING.replace(old, new) if old else FADING, "utf-8")
        (place / "distances.py").write_text(distances, "utf-8")

    return write


@pytest.fixture(scope="module")
def trained(corpus, folder, place, tmp_path_factory):
    """A run of three updates with the mechanism as it is, and its command line."""
    folder()
    save = tmp_path_factory.mktemp("trained") / "save"
    words = ["--arch", "transformer_standard", "--encoder-self-attention", "fading"]
    words += ["--task", "translation_dc_nmt", "--criterion", "joint_label_smoothed_cross_entropy"]
    words = training(corpus, save, *words, "--user-dir", place, "--max-update", 3)
    run(save, "train", *words).good()
    return save, words


@pytest.fixture
def programs(trained, corpus, place, bare, tmp_path):
    """A function that calls every program that loads the run, and returns what each one said."""
    save, words = trained
    text, last = tmp_path / "text", save / "checkpoint_last.pt"
    text.write_text("badun kefar\n", "utf-8")
    languages = ["--source-lang", SOURCE, "--target-lang", TARGET, "--task", "translation_dc_nmt"]
    commands = {
        "translate": ("dc-nmt", "translate", save, text, "--cpu", "--tokenizer", "none"),
        "generate": ("generate", corpus, "--path", last, "--cpu", *languages),
        "analyze": ("dc-nmt", "analyze", "attention", save, "--cpu", "--subset", "test1"),
        "average": ("dc-nmt", "average", last, "--out", tmp_path / "mean.pt"),
        "export": ("dc-nmt", "export", save, "--run", tmp_path / "packed"),
    }

    def call() -> dict[str, Result]:
        said = {
            name: run(tmp_path, *command, "--user-dir", place) for name, command in commands.items()
        }
        code = "import sys, dc_nmt_plugin; run = dc_nmt_plugin.load(sys.argv[1], flags=['--cpu'], "
        code += "user_dir=sys.argv[2], tokenizer='none'); print(run.translate(['badun']))"
        said["load"] = bare.run(code, save, place, folder=tmp_path, path=[ROOT])
        words[words.index("--max-update") + 1] += 1
        said["train"] = run(tmp_path, "train", *words)
        return said

    return call


def assert_refused(said, *pieces):
    for name, done in said.items():
        assert done.code != 0, name
        assert name == "load" or "Traceback" not in done.errors + done.output, (name, done.errors)
        line = done.errors.strip().splitlines()[-1]
        for piece in pieces:
            assert piece in line, (name, done.errors[-2000:])


OPTIONS = {
    'dc.Option("base", 4,': ('dc.Option("size", 8,', "the option base=4,", "the option size=8."),
    'dc.Option("base", 4, "base", at_least=1), ': ("", "the option base=4,", "no such option."),
}


@pytest.mark.parametrize("old", OPTIONS)
def test_another_option(old, folder, place, programs):
    new, trained_with, has_now = OPTIONS[old]
    folder(old, new)
    assert_refused(programs(), "'fading' was trained with", trained_with, has_now, str(place))


PARAMETERS = {
    SCALE_LINE + "\n": (
        f"{SCALE_LINE}\n        self.more = nn.Parameter(torch.ones(3))\n",
        "the checkpoint lacks encoder.stack.layers.0.self_attn.more",
    ),
    SCALE_LINE: ("self.scale = 1", "the model lacks encoder.stack.layers.0.self_attn.scale"),
    "nn.Parameter(torch.ones(num_heads, 1, 1))": (
        "nn.Parameter(torch.ones(1, 1, 1))",
        "another shape has encoder.stack.layers.0.self_attn.scale",
    ),
}


@pytest.mark.parametrize("old", PARAMETERS)
def test_another_parameter(old, folder, programs):
    new, problem = PARAMETERS[old]
    folder(old, new)
    said = programs()
    for name in ("average", "export"):  # which build no model
        assert said.pop(name).good().errors.count(ANOTHER_FORMULA) == 1, name
    assert_refused(said, "has other parameters than the model", problem)


def test_another_formula(folder, trained, programs, tmp_path):
    save, _ = trained
    before = read_record(save).sources
    folder("+ self.scale * faded", "- self.scale * faded")
    for name, done in programs().items():
        assert done.good().errors.count(ANOTHER_FORMULA) == 1, (name, done.errors)
        assert f"digest {before['fading']}, now" in done.errors
    record = read_record(save)
    assert record.sources.keys() == {"fading"} and record.sources != before
    (segment,) = record.segments
    assert segment.sources == before and segment.until_update >= 3
    facts = load(save)["extra_state"]["mechanisms"]["fading"]
    assert facts == {"options": {"base": 4, "sign": -1}, "source": record.sources["fading"]}
    facts["source"] = before["fading"]  # the run was packed before it continued
    packed = torch.load(next((tmp_path / "packed").glob("**/*.pt")), weights_only=True)
    assert packed["extra_state"]["mechanisms"]["fading"] == facts


EQUAL = {
    '"""Fades."""': "# fades with the distance",
    "return 1\n": "return 2\n",
    '"base", at_least=1': '"another help", at_least=0.5',
    "self.scale * faded": "(self.scale *  faded)",
}
OTHER = {"SCALE = 2": "SCALE = 3", "/ (getattr": "* (getattr"}


def test_what_is_another_source(folder, place, bare, tmp_path):
    code = "import sys, dc_nmt_plugin.extension as e; e.import_user_dirs(sys.argv[1]); "
    code += "print(e.SELF_ATTENTIONS['fading'].source)"

    def digest(*change, **files):
        folder(*change, **files)
        return bare.run(code, place, folder=tmp_path, path=[ROOT]).good().output.split()[-1]

    before = digest()
    assert re.fullmatch("[0-9a-f]{12}", before)
    for old, new in EQUAL.items():
        assert digest(old, new) == before, old
    for old, new in OTHER.items():
        assert digest(old, new) != before, old
    assert digest(distances=DISTANCES.replace("|i - j|", "a distance")) == before
    assert digest(distances=DISTANCES.replace(".abs()", ".abs().sqrt()")) != before


def test_a_translation_names_the_source_that_translated(folder, place, trained, corpus, tmp_path):
    save, _ = trained
    trained_source = load(save)["extra_state"]["mechanisms"]["fading"]["source"]
    folder("SCALE = 2", "SCALE = 5")
    words = [corpus, "--path", save / "checkpoint_last.pt", "--cpu", "--task", "translation_dc_nmt"]
    words += ["--source-lang", SOURCE, "--target-lang", TARGET, "--user-dir", place]
    done = run(tmp_path, "generate", *words, "--results-path", save / "generate").good()
    (tmp_path / "log").write_text(done.output, "utf-8")
    output, reference = save / "generate/generate-test.txt", corpus.parent / f"text/test.{TARGET}"
    words = ["score", output, "--reference", reference, "--target-lang", TARGET]
    words += ["--generate-log", tmp_path / "log"]
    assert cli.main([*map(str, words), "--out", str(save / "run.json")]) == 0
    (decoding,) = json.loads((save / "run.json").read_text("utf-8"))["decodings"]
    assert list(decoding["sources"]) == ["fading"] and decoding["scores"]
    assert decoding["sources"]["fading"] != trained_source
