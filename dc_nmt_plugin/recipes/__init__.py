"""Published translation tasks: source of the text, preparation, training and scoring.

A task is a file of ``tasks``, read by :mod:`.recipe`. :mod:`.text_plan` and :mod:`.run_plan` make
steps of it for :mod:`dc_nmt_plugin.pipeline`: files are fetched and verified (:mod:`.sources`),
read (:mod:`.formats`) and made into text (:mod:`.text`), which is segmented and binarised
(:mod:`.preparation`); a model is trained and evaluated (:mod:`.training`) with its paper's settings
(:mod:`.settings`) on what GPUs there are (:mod:`.launch`). Text of one's own is then prepared in
the same way (:mod:`.run_text`) and translated (:mod:`.translating`).
"""
