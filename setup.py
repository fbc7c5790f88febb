"""Packaging of dc_nmt_plugin; what it needs is listed in requirements/*.txt."""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).resolve().parent


def requirements(name: str) -> list[str]:
    """The requirement lines of requirements/<name>.txt, without comments."""
    lines = (HERE / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def version() -> str:
    """``__version__`` of the package, which must not be imported without its requirements."""
    text = (HERE / "dc_nmt_plugin" / "__init__.py").read_text(encoding="utf-8")
    return text.split('__version__ = "')[1].split('"')[0]


# Without COMET, whose numpy<2 would change an environment: it is asked for by its own name.
OPTIONAL = {
    "analysis": requirements("analysis"),
    "ctranslate2": ["ctranslate2>=4"],
    "slurm": ["submitit>=1.5"],
    "tensorboard": ["tensorboard"],
    "wandb": ["wandb"],
}


# Where no wheel of fairseq is, pip would compile it against a second torch: `dc-nmt doctor` names
# the command that takes a minute instead (environment/install_fairseq.py).
FAIRSEQ = (
    've-fairseq==0.12.3 ; python_version < "3.13" and sys_platform == "linux" '
    'and platform_machine == "x86_64" and implementation_name == "cpython"'
)

setup(
    name="dc_nmt_plugin",
    version=version(),
    description="Published neural machine translation architectures for fairseq",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    # The address of the repository comes first here, once it has one.
    project_urls={
        "fairseq": "https://github.com/facebookresearch/fairseq",
        "Dual context": "https://doi.org/10.1007/s10590-021-09282-0",
        "Context-aware self-attention": "https://arxiv.org/abs/1902.05766",
        "Cross aggregation": "https://doi.org/10.1007/978-3-030-32233-5_30",
        "Residual decoder": "https://aclanthology.org/N18-1124",
    },
    author="dc_nmt_plugin contributors",
    python_requires=">=3.11,<3.15",
    packages=[*find_packages(include=["dc_nmt_plugin", "dc_nmt_plugin.*"]), "hydra_plugins"],
    py_modules=["dc_nmt_plugin_start"],
    package_data={
        "dc_nmt_plugin": ["py.typed"],
        "dc_nmt_plugin.papers": ["data/*.yaml"],
        "dc_nmt_plugin.recipes": ["*.yaml", "tasks/*.yaml"],
    },
    # Any recent torch is accepted, so that an existing one stays; before 2.10 the safe loader has
    # a hole (CVE-2026-24747).
    install_requires=["torch>=2.10", FAIRSEQ, *requirements("run")],
    extras_require={
        **OPTIONAL,
        "all": [each for packages in OPTIONAL.values() for each in packages],
        # it imports pkg_resources, which setuptools 81 took away
        "comet": ["unbabel-comet>=2.2,<3", "setuptools<81"],
        "dev": requirements("dev"),
    },
    entry_points={
        "console_scripts": ["dc-nmt = dc_nmt_plugin.cli:main"],
        # torch calls it when it is imported, which is before fairseq reads its settings
        "torch.backends": ["dc_nmt_plugin = dc_nmt_plugin_start:prepare"],
    },
    zip_safe=False,
    classifiers=[
        "Intended Audience :: Science/Research",
        "License :: OSI Approved :: MIT License",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Programming Language :: Python :: 3.14",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
