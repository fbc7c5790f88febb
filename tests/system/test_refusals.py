"""A table of what cannot work: command line, exit status, and what the one sentence must name.

Every case ends before any work is done, with no traceback.
"""

from __future__ import annotations

import itertools
import shlex
import shutil
import struct

import pytest
from commands import run
from systems import SMALL, SOURCE, TARGET, binarise, family, generation, training

# flags of fairseq-train → pieces of the sentence
TRAINING = {
    "--label-smoothing 1": ["--label-smoothing", "1.0", "[0, 1)"],
    "--label-smoothing 1.5": ["--label-smoothing", "1.5"],
    "--label-smoothing=-0.1": ["--label-smoothing", "-0.1"],
    "--label-smoothing nan": ["--label-smoothing", "not a number"],
    "--encoder-self-attention-layers 1-": ["--encoder-self-attention-layers", "'1-'", "1-2"],
    "--decoder-self-attention-layers 1": ["--decoder-self-attention-layers", "1", "standard"],
    "--aux-weight 0.5": ["--aux-weight", "0.5", "--aux-layers"],
    "--max-tokens 0": ["--max-tokens", "0", "at least 1"],
    "--max-tokens=-5": ["--max-tokens", "-5"],
    "--max-tokens 3": ["--max-tokens", "3", "sentence"],
    "--max-tokens-valid 2": ["--max-tokens", "2", "sentence"],
    "--batch-size 0": ["--batch-size", "0", "at least 1"],
    "--batch-size=-1": ["--batch-size", "-1"],
    "--batch-size-valid 0": ["--batch-size-valid", "0"],
    "--update-freq 0": ["--update-freq", "0", "at least 1"],
    "--update-freq 1,0": ["--update-freq", "0"],
    "--update-freq=-1": ["--update-freq", "-1"],
    "--seed=-1": ["--seed", "-1", "4294967295"],
    "--seed 1099511627776": ["--seed", "1099511627776"],
    "--max-update 0": ["--max-update", "0", "at least 1"],
    "--max-update=-5": ["--max-update", "-5"],
    "--max-epoch 0": ["--max-epoch", "0"],
    "--max-epoch=-1": ["--max-epoch", "-1"],
    "--lr=-1": ["--lr", "-1.0", "at least 0"],
    "--lr 1e-3,-2": ["--lr", "-2.0"],
    "--clip-norm=-1": ["--clip-norm", "-1"],
    "--clip-norm nan": ["--clip-norm", "not a number"],
    "--weight-decay nan": ["--weight-decay", "not a number"],
    "--weight-decay=-1": ["--weight-decay", "-1"],
    "--adam-betas (0.9": ["--adam-betas", "(0.9", "[0, 1)"],
    "--adam-betas (2,3)": ["--adam-betas", "(2,3)"],
    "--adam-betas exit()": ["--adam-betas", "exit()"],
    "--adam-eps nan": ["--adam-eps", "not a number"],
    "--adam-eps 0": ["--adam-eps", "above 0"],
    "--warmup-updates=-4": ["--warmup-updates", "-4"],
    "--patience 0": ["--patience", "0"],
    "--save-interval 0": ["--save-interval", "0"],
    "--save-interval-updates=-1": ["--save-interval-updates", "-1"],
    "--validate-interval 0": ["--validate-interval", "0"],
    "--log-interval 0": ["--log-interval", "0"],
    "--keep-last-epochs=-3": ["--keep-last-epochs", "-3"],
    "--num-workers=-1": ["--num-workers", "-1"],
    "--required-batch-size-multiple 0": ["--required-batch-size-multiple", "0"],
    "--max-source-positions 0": ["--max-source-positions", "0"],
    "--max-source-positions 3": ["--max-source-positions", "tokens", "(3, 1024)"],
    "--curriculum=-1": ["--curriculum", "-1"],
    "--stop-time-hours=-1": ["--stop-time-hours", "-1"],
    "--num-shards 2": ["--num-shards", "fairseq-generate"],
    "--num-batch-buckets=-3": ["--num-batch-buckets"],
    "--distributed-world-size 3": ["--distributed-world-size", "3", "0 GPUs"],
    "--tpu": ["--tpu"],
    "--fp16": ["--fp16", "GPU"],
    "--eval-bleu --eval-bleu-args {": ["--eval-bleu-args", "'{'", "JSON"],
    "--eval-bleu --eval-bleu-args [1]": ["--eval-bleu-args", "[1]", "JSON"],
    "--eval-bleu --eval-bleu-args '{\"bema\":4}'": ["--eval-bleu-args", "bema", "mean 'beam'"],
    "--eval-bleu --eval-bleu-args '{\"beam\":0}'": ["--eval-bleu-args", "--beam", "0"],
    "--eval-bleu --eval-bleu-detok moess": ["--eval-bleu-detok", "moess", "'moses'"],
    "--eval-bleu --eval-bleu-detok-args {": ["--eval-bleu-detok-args", "JSON"],
    "--eval-bleu --eval-bleu-remove-bpe bpe": ["--eval-bleu-remove-bpe", "bpe", "subword_nmt"],
    "--best-checkpoint-metric bleu": ["--best-checkpoint-metric", "bleu", "--eval-bleu"],
    "--best-checkpoint-metric losss": ["--best-checkpoint-metric", "losss"],
    "--train-subset nothing": ["--train-subset", "nothing", "it has"],
    "--valid-subset nothing": ["--valid-subset", "nothing", "valid"],
    "--valid-subset valid,nothing": ["--valid-subset", "nothing"],
    "--encoder-embed-path {nowhere}": ["--encoder-embed-path", "no such file"],
    "--encoder-embed-path {empty}": ["embeddings", "the file is empty"],
    "--restore-file {nowhere}": ["--restore-file", "no such file"],
    "--finetune-from-model {nowhere}": ["--finetune-from-model", "no such file"],
    "--quantization-config-path {nowhere}": ["--quantization-config-path", "no such file"],
    "--log-file {nowhere}/log": ["--log-file", "no such folder"],
    "--save-dir {file}/save": ["not a directory"],
    "--source-lang xx --target-lang xx": ["--target-lang", "'xx'"],
    "--source-lang zz --target-lang yy": ["dict.zz.txt"],
    "--optimizer-overrides {": ["--optimizer-overrides", "dictionary"],
    "--left-pad-source False": ["--left-pad-source", "takes no value", "leave it out for True"],
    "--cpu True": ["--cpu", "takes no value", "leave it out for False"],
    "--share-all-embeddings 1": ["--share-all-embeddings", "takes no value"],
    "--save-dir '{nowhere} 12:30'": ["--save-dir", "':'", "ensemble"],
    "--xagg-iterations 9": ["--xagg-iterations", "--encoder-self-attention cross_aggregation"],
    "--ctx-context deep --xagg-checkpoint": ["--ctx-context", "--xagg-checkpoint"],
    "--encoder-self-attention standard --dc-kernel-size 5": ["--dc-kernel-size", "dual_context"],
    "--skip-remainder-batch --update-freq 20": ["--skip-remainder-batch", "--update-freq 20"],
}
# flags of fairseq-generate
DECODING = {
    "--beam 0": ["--beam", "0", "at least 1"],
    "--beam=-1": ["--beam", "-1"],
    "--nbest 6 --beam 2": ["--nbest", "6", "--beam 2"],
    "--nbest 0": ["--nbest", "0"],
    "--lenpen nan": ["--lenpen", "not a number"],
    "--unkpen nan": ["--unkpen", "not a number"],
    "--max-tokens 0": ["--max-tokens", "0"],
    "--max-tokens 2": ["--max-tokens", "2", "sentence"],
    "--batch-size 0": ["--batch-size", "0"],
    "--gen-subset tset": ["--gen-subset", "tset", "test"],
    "--model-overrides {": ["--model-overrides", "dictionary"],
    "--model-overrides [1]": ["--model-overrides", "[1]"],
    "--model-overrides \"{'encoder_layer':5}\"": ["--model-overrides", "'encoder_layers'"],
    "--model-overrides \"{'encoder_layers':5}\"": ["--model-overrides", "encoder.stack"],
    "--results-path {file}/results": ["not a directory"],
    "--temperature 0": ["--temperature", "above 0"],
    "--sampling-topk 3": ["--sampling-topk", "--sampling"],
    "--sampling --beam 4": ["--sampling", "--nbest 4"],
    "--sampling --nbest 5 --sampling-topp 2": ["--sampling-topp", "2.0", "(0, 1]"],
    "--prefix-size=-1": ["--prefix-size", "-1"],
    "--max-len-a=-1": ["--max-len-a", "-1"],
    "--max-len-b=-5": ["--max-len-b", "-5"],
    "--min-len 30": ["--min-len", "30", "12"],
    "--num-shards 2 --shard-id 5": ["--shard-id", "5", "--num-shards 2"],
    "--num-shards 2 --shard-id=-1": ["--shard-id", "-1"],
    "--num-shards 0": ["--num-shards", "0"],
    "--distributed-world-size 2 --distributed-rank 7": ["--distributed-rank", "7"],
    "--diverse-beam-groups 3 --beam 5": ["--diverse-beam-groups", "--beam 5"],
    "--no-repeat-ngram-size=-1": ["--no-repeat-ngram-size", "-1"],
    "--mask-source-layers ²": ["--mask-source-layers", "²"],
    "--lm-path {nowhere}": ["--lm-path", "no such file"],
    "--replace-unk": ["--replace-unk", "alignments"],
    "--replace-unk --dataset-impl raw": ["--replace-unk", "alignments"],
    "--retain-dropout": ["--retain-dropout", "outside training"],
    "--remove-bpe bpe": ["--remove-bpe", "'bpe'", "subword_nmt"],
    "--constraints": ["--constraints", "fairseq-interactive"],
    "--print-step": ["--print-step", "translation_lev"],
    "--retain-iter-history": ["--retain-iter-history"],
    "--seed=-1": ["--seed", "-1"],
    "--bpe subword_nmt": ["--bpe-codes", "subword_nmt"],
    "--bpe sentencepiece --sentencepiece-model {nowhere}": ["--sentencepiece-model"],
    "--dataset-impl lazy": ["--dataset-impl"],
    "--max-source-positions 3": ["tokens", "--skip-invalid-size-inputs-valid-test"],
    "--scoring wer": ["editdistance"],
}
# what is read → (bytes, flags of fairseq-interactive, pieces)
INTERACTIVE = {
    "Latin-1": (b"badun\nk\xe9far\n", "", ["line 2", "0xe9", "UTF-8"]),
    "a line without end": (
        b"badun\n" + b"badun " * 1500 + b"\nlogol\n",
        "--buffer-size 5 --batch-size 5",
        ["line 2", "1,501 tokens", "1,024 positions"],
    ),
    "a batch of more than the buffer": (b"badun\n", "--batch-size 5", ["--batch-size", "5"]),
    "a buffer of nothing": (b"badun\n", "--buffer-size=-1", ["--buffer-size", "-1"]),
}


def assert_refused(result, pieces):
    """Exit status 1; one sentence, the last thing on the screen, with all of the pieces."""
    everything = result.output + result.errors
    assert result.code == 1, everything[-2000:]
    assert "Traceback" not in everything, everything[-3000:]
    told = [line for line in result.errors.splitlines() if line.startswith("error: ")]
    assert len(told) == 1, result.errors[-2000:]
    # several problems have a line each
    sentence = result.errors[result.errors.index(told[0]) :]
    for piece in pieces:
        assert piece.lower() in sentence.lower(), sentence


def words(flags, folder):
    """Flags with names of files: one that is there, one that is empty, one that is not there."""
    (folder / "file").write_text("text\n")
    (folder / "empty").touch()
    places = {name: folder / name for name in ("file", "empty", "nowhere")}
    for name, path in places.items():
        flags = flags.replace(f"{{{name}}}", str(path))
    return shlex.split(flags)


@pytest.mark.parametrize("flags", TRAINING)
def test_training(flags, corpus, tmp_path):
    command = training(corpus, tmp_path / "save", *family("transformer_dc"))
    result = run(tmp_path, "train", *command, *words(flags, tmp_path))
    assert_refused(result, TRAINING[flags])
    assert not list(tmp_path.glob("save/*.pt"))


def test_flags_of_kinds_that_a_plain_transformer_lacks(corpus, tmp_path):
    flags = {"--dc-kernel-size": 5, "--xagg-iterations": 9, "--ctx-context": "deep"}
    command = training(corpus, tmp_path / "save", *family("transformer_standard"))
    result = run(tmp_path, "train", *command, *itertools.chain(*flags.items()))
    assert_refused(result, [*flags, "--encoder-self-attention dual_context"])
    assert not list(tmp_path.glob("save/*.pt"))


@pytest.mark.parametrize("flags", DECODING)
def test_decoding(flags, corpus, trained, tmp_path):
    checkpoint = trained("transformer_dc") / "checkpoint_last.pt"
    command = generation(corpus, checkpoint, "transformer_dc")
    result = run(tmp_path, "generate", *command, *words(flags, tmp_path))
    assert_refused(result, DECODING[flags])


@pytest.mark.parametrize("case", INTERACTIVE)
def test_interactive(case, corpus, trained, tmp_path):
    content, flags, pieces = INTERACTIVE[case]
    (tmp_path / "input").write_bytes(content)
    checkpoint = trained("transformer_dc") / "checkpoint_last.pt"
    command = generation(corpus, checkpoint, "transformer_dc", "--input", tmp_path / "input")
    result = run(tmp_path, "interactive", *command, *flags.split())
    assert_refused(result, pieces)
    if "line 2" in pieces:
        assert list(result.hypotheses()) == [0], "what came before is answered"


def test_a_translation_model_as_a_language_model(corpus, tmp_path):
    command = [corpus, "--arch", "transformer_dc", "--task", "language_modeling"]
    result = run(tmp_path, "train", *command, "--optimizer", "adam", "--max-tokens", 80)
    assert_refused(result, ["--task language_modeling", "transformer_dc"])


def test_a_language_model_that_translates(corpus, tmp_path):
    command = [corpus, "--arch", "lstm_lm_selfattn_residual", "--task", "translation"]
    result = run(tmp_path, "train", *command, "--optimizer", "adam", "--max-tokens", 80)
    assert_refused(result, ["--task translation", "--task language_modeling"])


def test_a_metric_that_is_not_measured(corpus, tmp_path):
    """Not known before the first validation."""
    command = training(corpus, tmp_path / "save", *family("transformer_dc"))
    metric = ("--best-checkpoint-metric", "gates", "--max-epoch", 1)
    result = run(tmp_path, "train", *command, *metric)
    assert_refused(result, ["--best-checkpoint-metric", "'gates'", "valid_"])


DIVERGED = {
    "transformer_dc": ("1e30", ["NaN or infinite", "--lr", "--clip-norm"]),
    "gru_selfattn_residual": ("1e8", ["diverged", "infinite perplexity", "--lr"]),
}


@pytest.mark.parametrize("arch", DIVERGED)
def test_a_training_that_diverges(arch, corpus, tmp_path):
    """Also where fairseq would train on: a recurrent model's gradients stay finite."""
    rate, pieces = DIVERGED[arch]
    small = SMALL if arch == "transformer_dc" else ["--embed-dim", 8, "--hidden-dim", 8]
    command = [corpus, "--save-dir", tmp_path / "save", *family("transformer_standard")]
    command += ["--arch", arch, *small, "--cpu"]
    command += ["--optimizer", "adam", "--lr", rate, "--max-tokens", 80, "--max-update", 20]
    assert_refused(run(tmp_path, "train", *command), pieces)


def test_a_full_line_is_one_answer(corpus, trained, tmp_path):
    """fairseq's own reader ends lines at a carriage return too, and answers once more."""
    separators = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
    lines = [f"badun{separator}logol" for separator in separators]
    (tmp_path / "input").write_bytes("\n".join(lines).encode())
    checkpoint = trained("transformer_dc") / "checkpoint_last.pt"
    command = generation(corpus, checkpoint, "transformer_dc", "--input", tmp_path / "input")
    answers = run(tmp_path, "interactive", *command).good().hypotheses()
    assert list(answers) == list(range(len(lines)))
    assert len({text for _, text in answers.values()}) == 1


# -- data folders ----------------------------------------------------------------------------


def empty(path):
    path.write_bytes(b"")


def missing(path):
    path.unlink()


def cut_off(path):
    path.write_bytes(path.read_bytes()[:-20])


def cut_off_early(path):
    path.write_bytes(path.read_bytes()[:12])


def text(path):
    path.write_text("this is not binary data, and long enough to be a header\n")


def another_type(path):
    content = bytearray(path.read_bytes())
    content[17:18] = struct.pack("<B", 99)
    path.write_bytes(bytes(content))


def small(path):
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))


def without_counts(path):
    path.write_text(path.read_text().replace(" ", ""))


def superscript(path):
    path.write_text("né ³\n")


def doubled(path):
    path.write_text(path.read_text() + path.read_text().splitlines(keepends=True)[0])


def latin(path):
    path.write_bytes("né 3\n".encode("latin-1"))


def blank(path):
    path.write_text("\n\n")


DAMAGE = {
    "dict.xx.txt": (missing, empty, blank, small, without_counts, superscript, doubled, latin),
    "test.xx-yy.xx.idx": (missing, empty, cut_off, cut_off_early, text, another_type),
    "test.xx-yy.xx.bin": (missing, empty, cut_off),
    "test.xx-yy.yy.bin": (missing, cut_off),
}
CASES = [(name, damage) for name, damages in DAMAGE.items() for damage in damages]


@pytest.mark.parametrize(("name", "damage"), CASES)
def test_damaged_data(name, damage, corpus, trained, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(corpus, data)
    damage(data / name)
    checkpoint = trained("transformer_dc") / "checkpoint_last.pt"
    result = run(tmp_path, "generate", *generation(data, checkpoint, "transformer_dc"))
    # a dictionary that is too small is found where a token has no word
    assert_refused(result, ["test.xx-yy.xx.bin" if damage is small else name])


@pytest.mark.parametrize("name", ["train.xx-yy.xx.idx", "train.xx-yy.yy.bin", "valid.xx-yy.xx.bin"])
def test_damaged_training_data(name, corpus, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(corpus, data)
    cut_off(data / name)
    result = run(tmp_path, "train", *training(data, tmp_path / "s", *family("transformer_dc")))
    assert_refused(result, [name])


@pytest.mark.parametrize("kind", ["missing", "empty", "a file"])
def test_no_data(kind, tmp_path):
    data = tmp_path / "data"
    if kind == "empty":
        data.mkdir()
    elif kind == "a file":
        data.touch()
    result = run(tmp_path, "train", *training(data, tmp_path / "s", *family("transformer_dc")))
    assert_refused(result, [str(data), "fairseq-preprocess"])


def test_two_corpora(corpus, trained, tmp_path):
    other = binarise(tmp_path / "other", {"train": 8, "valid": 3, "test": 20}, seed=3)
    data = tmp_path / "data"
    shutil.copytree(corpus, data)
    for end in ("idx", "bin"):
        shutil.copy(other / f"test.{SOURCE}-{TARGET}.{TARGET}.{end}", data)
    checkpoint = trained("transformer_dc") / "checkpoint_last.pt"
    result = run(tmp_path, "generate", *generation(data, checkpoint, "transformer_dc"))
    assert_refused(result, ["50 of xx", "20 of yy", "two corpora"])
