"""Published translation tasks: where their text is, how it is prepared, trained on and scored.

A task is a folder of ``examples`` with a ``recipe.ini`` (:mod:`.recipe`). Its files are fetched and
verified by :mod:`.sources`, read by :mod:`.formats` and made into training, validation and test
text by :mod:`.text`; :mod:`.settings` has what a paper trains with, :mod:`.launch` the GPUs.
"""
