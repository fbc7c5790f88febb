"""Mechanisms from outside the package: how they are registered, and what is refused."""

import sys
from itertools import count

import pytest
from hydra.core.config_store import ConfigStore

from dc_nmt_plugin import extension
from dc_nmt_plugin.cli import main
from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.models import presets
from dc_nmt_plugin.modules.mechanisms import SELF_ATTENTIONS, SOURCE_FEATURES

NUMBERS = count()  # a module is imported once
ATTENTION = "class Own(dc.SelfAttention):\n    pass\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A function that writes a folder with code; what it registers is taken back."""
    tables = [SELF_ATTENTIONS, SOURCE_FEATURES]
    before = [dict(table) for table in tables]
    families, modules, path = list(presets.FAMILIES), set(sys.modules), list(sys.path)
    # a folder enters the variable: without a value before, delenv alone would not take that back
    monkeypatch.setenv(extension.VARIABLE, "")
    monkeypatch.delenv(extension.VARIABLE)
    # as after a call of Hydra, whose groups are groups of groups
    ConfigStore.instance().store("disabled", {}, group="hydra/job_logging")
    extension._settings_of_fairseq.cache_clear()
    # fairseq's registry keeps what it has, so nothing is registered there
    monkeypatch.delitem(sys.modules, "dc_nmt_plugin.models.registry")

    def write(code, name="own{}"):
        place = tmp_path / name.format(next(NUMBERS))
        place.mkdir()
        text = "import torch\nimport dc_nmt_plugin as dc\n\n" + code
        (place / "__init__.py").write_text(text, "utf-8")
        return place

    yield write
    for table, content in zip(tables, before, strict=True):
        table.clear()
        table.update(content)
    presets.FAMILIES[:] = families
    presets.architectures.cache_clear()
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def attention(arguments, body=ATTENTION):
    return f"@dc.register_self_attention({arguments})\n{body}"


def option(arguments):
    return attention(f'"mine", options=[dc.Option({arguments})]')


def feature(arguments, body="class Own(dc.Aggregation):\n    pass\n"):
    return f"@dc.register_source_feature({arguments})\n{body}"


# each would silently replace something, or leave it out
WRONG = {
    attention('"standard"'): "'standard': the name exists, in this package; choose another",
    feature('"top"'): "'top': the name exists",
    attention('"mine"') + attention('"mine"'): "'mine': the name exists, in /.*own",
    # of an optimizer, all of fairseq-train, a schedule, a criterion, a task, and fairseq-generate
    attention('"adam", options=[dc.Option("eps", 0.5, "help")]'): "--adam-eps exists",
    attention('"valid", options=[dc.Option("subset", "a", "help")]'): "--valid-subset exists",
    attention('"lr", options=[dc.Option("patience", 1, "help")]'): "--lr-patience exists",
    feature('"label", options=[dc.Option("smoothing", 1, "help")]'): "--label-smoothing exists",
    attention('"decode", options=[dc.Option("with", 1, "help")]'): "--decode-with exists",
    option('"size", 1, "help", setting="beam"'): "--beam exists",
    option('"window", 1, "help", setting="dropout"'): "--dropout exists; choose another name",
    option('"size", 1, "help", setting="dc_kernel_size"'): "--dc-kernel-size exists",
    attention(
        '"mine"',
        "class Own(dc.SelfAttention):\n    def __init__(self, *, embed_dim, num_heads):\n"
        "        super().__init__(embed_dim=embed_dim, num_heads=num_heads)\n",
    ): "Own, .*: __init__ does not take dropout, which a model gives; name it there",
    'dc.register_architecture("transformer_dc", {})': "'transformer_dc' exists",
    'dc.register_architecture("own_x", {"dropout": 2})': "--dropout: 2 is not in",
    'dc.register_architecture("own_x", {"kernel": 3})': "TypeError: .* has no setting 'kernel'",
    'dc.register_architecture("own_x", {"encoder_self_attention": "mone"})': "'mone' is not one of",
}


@pytest.mark.parametrize("code", WRONG)
def test_a_wrong_registration_is_one_sentence(code, folder):
    with pytest.raises(UserError, match=WRONG[code]) as error:
        extension.import_user_dirs(str(folder(code)))
    assert "\n" not in str(error.value)
    assert "mine" not in {**SELF_ATTENTIONS, **SOURCE_FEATURES} or code.count("@") == 2


FAILING = {
    "raise SystemExit(0)": "SystemExit: 0",
    "dc.register_attention": "AttributeError: module 'dc_nmt_plugin' has no attribute",
    "import nothing_of_this_name": "ModuleNotFoundError: No module named 'nothing_of",
    "x = = 1": "SyntaxError: invalid syntax",
}


@pytest.mark.parametrize("code", FAILING)
def test_code_that_fails_is_one_sentence_with_its_line(code, folder):
    place = folder(code)
    with pytest.raises(UserError, match=FAILING[code]) as error:
        extension.import_user_dirs(str(place))
    assert f"{place}/__init__.py, line 4: " in str(error.value)


@pytest.mark.parametrize("command", ["train", "run"])
def test_an_option_of_the_command(command, folder, capsys):
    place = folder(attention('"dry", options=[dc.Option("run", 1, "help")]'))
    words = [command, "multi30k_en_de", "transformer_standard", "--user-dir", str(place)]
    assert main([*words, "--dry-run"]) == 1
    assert f"--dry-run: is an option of dc-nmt, which would keep it from 'dry' in {place}" in (
        capsys.readouterr().err
    )


def test_wrong_folders(folder, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    wrong = {
        tmp_path / "none": "is neither a folder nor an installed package",
        "no_such_package": "is neither a folder nor an installed package",
        tmp_path / "empty": "has no __init__.py",
        folder("", name="json"): "Python has another module 'json' already; rename the folder",
        f"{folder('')},{tmp_path / 'none'}": "is neither a folder",
    }
    for name, message in wrong.items():
        assert main(["arch-flags", "--user-dir", str(name)]) == 2
        printed = capsys.readouterr().err
        assert message in printed and printed.count("\n") == 1 and "--user-dir" in printed


def test_a_folder_and_its_options_are_in_every_listing(folder, capsys):
    place = folder(  # the architecture before the mechanism that it names
        'dc.register_architecture("own_net", {"encoder_self_attention": "mine"}, about="x")\n'
        + option('"window", 4.0, "deviation", at_least=0.5')
        + feature('"mean", options=[dc.Option("power", 2, "exponent")]')
    )
    assert main(["arch-flags", "own_net_iwslt", "--all", "--user-dir", str(place)]) == 0
    printed = capsys.readouterr().out
    assert "--mine-window 4.0: deviation. 0.5 or more" in printed
    assert "--mean-power 2: exponent. Whole number" in printed
    assert f"DC_NMT_USER_DIR={place}" in printed
    assert main(["arch-flags"]) == 0
    assert "own_net: x" in capsys.readouterr().out
