"""Commands that a command tells next can be pasted: what has a space is quoted."""

from __future__ import annotations

from pathlib import Path

from helpers import toy_text

from dc_nmt_plugin import cli


def test_the_folder_of_a_recipe_may_be_below_one_with_a_space(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pairs = toy_text("de", "en", 400, seed=3)
    for side, code in enumerate(("de", "en")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (tmp_path / f"a.{code}").write_text(text, "utf-8")
    assert cli.main(["new", "my texts/mine", "--train", "a.de", "a.en"]) == 0
    said = capsys.readouterr().out
    assert "dc-nmt run 'my texts/mine' " in said and "dc-nmt results 'my texts/mine' " in said
    words = ["evaluate", "my texts/mine", "transformer_standard"]
    assert cli.main(words) == 1
    errors = capsys.readouterr().err
    assert "dc-nmt train 'my texts/mine' transformer_standard and" in errors
    checkpoints = Path(errors.removeprefix("dc-nmt evaluate: error: ").split(" has no check")[0])
    checkpoints.mkdir(parents=True)
    (checkpoints / "checkpoint_last.pt").touch()
    assert cli.main(words) == 1
    assert "dc-nmt prepare 'my texts/mine' transformer_standard\n" in capsys.readouterr().err
