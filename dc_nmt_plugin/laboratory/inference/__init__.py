"""A trained model: find it, load it with the processing of its text, translate, pack.

:mod:`.trained_run` finds the files of a run, :mod:`.model` loads its model, :mod:`.run_text`
prepares lines as the training text was, and :mod:`.loaded_run` puts them together:
``dc_nmt_plugin.load`` and ``dc-nmt translate``. :mod:`.attention` forces a translation and gives
every attention of the model. :mod:`.packing` writes a run for another place.
"""
