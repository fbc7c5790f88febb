"""Stand-in for ``torch.utils.cpp_extension`` while pip compiles fairseq.

fairseq's ``setup.py`` builds three C++ extensions against torch (libbase, libnat,
alignment_train) that translation does not need and that take ten times as long as the rest.
With this folder on ``PYTHONPATH`` during that one pip call they are left out; the Cython
extensions and libbleu are compiled as ever.
"""

from setuptools import Extension
from setuptools.command.build_ext import build_ext


class _TorchExtension(Extension):
    """Marks an extension that links against torch."""


def CppExtension(name, sources, *args, **kwargs):
    return _TorchExtension(name, sources)


CUDAExtension = CppExtension


class BuildExtension(build_ext):
    def finalize_options(self):
        self.distribution.ext_modules = [
            extension
            for extension in self.distribution.ext_modules
            if not isinstance(extension, _TorchExtension)
        ]
        super().finalize_options()
