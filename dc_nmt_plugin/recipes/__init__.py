"""Published translation tasks: source of the text, preparation, training and scoring.

A task is a file of ``tasks``, read by :mod:`.recipe`. :mod:`.text_plan` and :mod:`.run_plan` make
steps of it for :mod:`dc_nmt_plugin.steps`. The files are fetched and verified (:mod:`.sources`),
read (:mod:`.formats`) and turned into text (:mod:`.text`). The text is segmented and binarised
(:mod:`.preparation`). A model is trained and evaluated (:mod:`.training`) with its paper's settings
(:mod:`.settings`) on the available GPUs (:mod:`.launch`). New text is prepared in the same way
(:mod:`.run_text`) and translated (:mod:`.translating`).
"""
