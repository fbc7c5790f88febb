"""Published translation tasks: source of the text, preparation, training and scoring.

A task is a file of ``tasks``, read by :mod:`.recipe`. :mod:`.preparation` plans its text: files are
fetched and verified (:mod:`.sources`), read (:mod:`.formats`), turned into splits (:mod:`.splits`),
segmented and binarised. :mod:`.plan` plans a training run with its paper's settings
(:mod:`.settings`) on the available GPUs.
"""
