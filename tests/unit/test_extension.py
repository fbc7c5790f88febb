"""Mechanisms from outside the package: every wrong registration and folder is one sentence."""

import sys
from itertools import count

import pytest

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


WRONG = {
    attention('"standard"'): "'standard'.: the name exists, in this package; choose another",
    attention('"m-10"'): "'m-10'.: the name exists",
    attention('"two words"'): "a name has small letters",
    attention('"Mine"'): "a name has small letters",
    f"@dc.register_self_attention\n{ATTENTION}": "the name is missing; write @dc.reg",
    attention("3"): r"register_self_attention\(3\): a name has small letters",
    attention('"mine"') + attention('"mine"'): "'mine'.: the name exists, in /.*own",
    attention('"mine"', "class Own(torch.nn.Module):\n    pass\n"): "Own is no dc_nmt_plugin.Self",
    attention('"mine"', "def own(x):\n    pass\n"): "own is no dc_nmt_plugin.SelfAttention",
    attention('"mine"', "class Own(dc.Aggregation):\n    pass\n"): "Own is no dc_nmt_plugin.Self",
    attention('"mine", options=["window"]'): "'window' is no dc_nmt_plugin.Option, such as",
    option('"window", None, "help"'): "default None is no bool, int, float or str",
    option('"window", [1], "help"'): r"default \[1\] is no bool",
    option('"Window", 1, "help"'): "option 'Window': a name has small letters",
    option('"window", 1, "help", at_least=2'): "option 'window': default: 1 is not at least 2",
    option('"window", float("nan"), "help"'): "option 'window': default: nan is no number",
    option('"window", 1.0, "help", below=2'): "option 'window': below needs at_least",
    option('"kind", "a", "help", one_of=("b", "c")'): "default: 'a' is not one of b, c",
    option('"dropout", 0.1, "help"'): "option 'dropout': the class has that name for something",
    option('"layer", 1, "help"'): "option 'layer': the class has that name",
    option('"forward", 1, "help"'): "option 'forward': the class has that name",
    option('"positions", 1, "help"'): "option 'positions': the class has that name",
    option('"window", 1, "help", setting="dropout"'): "--dropout exists; choose another name",
    option('"size", 1, "help", setting="dc_kernel_size"'): "--dc-kernel-size exists",
    attention('"mine", options=[dc.Option("a", 1, "b")] * 2'): "option 'a': is there twice",
    attention(
        '"mine", contradictions=[dc.Contradiction({"a": 1}, "no")]'
    ): "'a' is none of its opt",
    attention(
        '"mine"',
        "class Own(dc.SelfAttention):\n    def __init__(self, *, embed_dim, num_heads):\n"
        "        super().__init__(embed_dim=embed_dim, num_heads=num_heads)\n",
    ): r"Own.__init__ does not take dropout; take \*\*others",
    attention(
        '"mine"',
        "class Own(dc.SelfAttention):\n    def __init__(self, width, **others):\n"
        "        super().__init__(**others)\n",
    ): "Own.__init__ needs 'width', which is neither an option nor one of embed_dim",
    attention(
        '"mine"', "class Own(dc.SelfAttention):\n    def logits(self, query, key):\n        pass\n"
    ): r"logits is called as logits\(query, key, flow\)",
    attention(
        '"mine"', "class Own(dc.SelfAttention):\n    def weights(self, weights):\n        pass\n"
    ): r"weights is called as weights\(weights, flow\)",
    feature('"top"'): "the name exists",
    feature('"mine"', ATTENTION): "Own is no dc_nmt_plugin.Aggregation or dc_nmt_plugin.Attention",
    feature(
        '"mine"',
        "class Own(dc.Aggregation):\n    def __init__(self, *, num_heads):\n        pass\n",
    ): "needs 'num_heads', which is neither an option nor one of embed_dim, num_layers",
    'dc.register_architecture("transformer_dc", {})': "the name 'transformer_dc' exists",
    'dc.register_architecture("transformer-x", {})': "a name has small letters, digits and _ alone",
    'dc.register_architecture("own_x", {"kernel": 3})': "has no setting 'kernel'",
    'dc.register_architecture("own_x", {"encoder_self_attention": "dual"})': "'dual' is not one of",
    'dc.register_architecture("own_x", {"dropout": 2})': "--dropout: 2 is not in",
    "dc.register_attention": "AttributeError: module 'dc_nmt_plugin' has no attribute",
    "import nothing_of_this_name": "line 4: ModuleNotFoundError: No module named 'nothing_of",
    "x = = 1": "line 4: SyntaxError: invalid syntax",
    "1 / 0": "line 4: ZeroDivisionError",
}


@pytest.mark.parametrize("code", WRONG)
def test_a_wrong_registration_is_one_sentence_with_the_file(code, folder):
    place = folder(code)
    with pytest.raises(UserError, match=WRONG[code]) as error:
        extension.import_user_dirs(str(place))
    assert f"{place}/__init__.py, line " in str(error.value)
    assert "\n" not in str(error.value)
    assert "mine" not in {**SELF_ATTENTIONS, **SOURCE_FEATURES} or code.count("@") == 2


def test_wrong_folders(folder, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    wrong = {
        tmp_path / "none": "is neither a folder nor an installed package",
        "no_such_package": "is neither a folder nor an installed package",
        tmp_path / "empty": "has no __init__.py",
        folder("", name="json"): "Python has another module 'json' already; rename the folder",
        f"{folder('')},{tmp_path / 'none'}": "is neither a folder",
        ",": "',' names neither a folder nor a package",
    }
    for name, message in wrong.items():
        assert main(["arch-flags", "--user-dir", str(name)]) == 2
        printed = capsys.readouterr().err
        assert message in printed and printed.count("\n") == 1 and "--user-dir" in printed


def test_a_folder_and_its_options_are_in_every_listing(folder, capsys):
    place = folder(
        option('"window", 4.0, "deviation", at_least=0.5')
        + feature('"mean", options=[dc.Option("power", 2, "exponent")]')
        + 'dc.register_architecture("own_net", {"encoder_self_attention": "mine"}, about="x")\n'
    )
    assert main(["arch-flags", "own_net_iwslt", "--all", "--user-dir", str(place)]) == 0
    printed = capsys.readouterr().out
    assert "--mine-window 4.0: deviation. 0.5 or more" in printed
    assert "--mean-power 2: exponent. Whole number" in printed
    assert f"DC_NMT_USER_DIR={place}" in printed
    assert main(["arch-flags"]) == 0
    assert "own_net: x" in capsys.readouterr().out
