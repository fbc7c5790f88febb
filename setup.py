import shutil

from setuptools import setup

# pip builds here, and would install modules of an earlier version that are still there
shutil.rmtree("build/lib", ignore_errors=True)
setup()
