"""Tasks, published ones and one's own: from the text to trained and scored models.

A task is a file of ``tasks``, read by :mod:`.recipe`, with the settings of papers
(:mod:`.settings`). Files are fetched and verified (:mod:`.sources`), read (:mod:`.formats`,
:mod:`.corpora`) and turned into sets (:mod:`.splits`, :mod:`.held_out`); :mod:`.new_recipe` makes a
task of one's own text (:mod:`.new_text`, which may be :mod:`.downloaded`), with settings that the
text chooses (:mod:`.new_settings`) or that are there (:mod:`.existing`).

What is asked for (:mod:`.planned`) is planned as steps: the text by :mod:`.preparation` and
:mod:`.segmenting`, a training by :mod:`.plan`, its evaluation by :mod:`.scoring`. :mod:`.done`
knows what is there. :mod:`.execution` carries steps out, and :mod:`.script` prints them.
:mod:`.grid` does many runs: here, as :mod:`.jobs` (:mod:`.side_by_side`, :mod:`.slurm`), or it
times them (:mod:`.estimate`).

Tests: ``tests/unit/recipes``, ``tests/system/test_recipe_*.py``, ``test_grid.py``.
"""
