"""Published translation tasks: source of the text, preparation, training and scoring.

A task is a file of ``tasks``, read by :mod:`.recipe`. Four files plan it as data (``steps.py``):
:mod:`.preparation` the text, :mod:`.plan` a training with its paper's settings
(:mod:`.settings`), :mod:`.scoring` the evaluation. :mod:`.execution` carries a plan out,
:mod:`.script` prints it. Files are fetched and verified (:mod:`.sources`), read (:mod:`.formats`,
:mod:`.corpora`) and turned into splits (:mod:`.splits`).
"""
