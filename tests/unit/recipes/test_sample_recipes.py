"""scripts/sample_recipes.sh: what it leaves behind."""

from __future__ import annotations

import os

import pytest
import sample_recipes

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.recipes import recipe
from dc_nmt_plugin.steps import Command


@pytest.mark.parametrize("own", [True, False])
def test_the_users_own_recipes_are_there_again_after_each_sample(own, tmp_path, monkeypatch):
    folder = recipe.recipes_folder()
    if own:
        monkeypatch.setenv("DC_NMT_RECIPES", str(folder))
    else:
        monkeypatch.delenv("DC_NMT_RECIPES", raising=False)
    seen = []

    def run(command, log):
        seen.append(os.environ["DC_NMT_RECIPES"])
        raise UserError("enough")

    monkeypatch.setattr(Command, "run", run)
    words = ["multi30k_en_de:transformer_dc", "--pairs", "20", "--out", str(tmp_path)]
    with pytest.raises(UserError, match="enough"):
        sample_recipes.main(words)
    assert seen == [str(tmp_path / "multi30k_en_de" / "files" / "recipes")]
    assert os.environ.get("DC_NMT_RECIPES") == (str(folder) if own else None)


def test_the_table_is_whole_or_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sample_recipes, "_sample", lambda *_: ["1s", "2s", "3s", "BLEU 4"])
    words = ["a:b", "--out", str(tmp_path / "out")]
    assert sample_recipes.main(words) == 0
    table = (tmp_path / "out" / "table.txt").read_text()
    assert "BLEU 4" in table and capsys.readouterr().out.endswith(f"\n\n{table}")
    (tmp_path / "out" / "table.txt").unlink()
    (tmp_path / "out" / "table.txt").mkdir()
    with pytest.raises(UserError, match=r"cannot write .*table.txt: it is a folder"):
        sample_recipes.main(words)
