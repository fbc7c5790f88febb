"""Two processes that train together.

On a CPU fairseq's default backend only fails because it names a GPU to torch's
``DistributedDataParallel``; :func:`without_devices` leaves that out, so its default settings (no
search for unused parameters) are tested here too.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import fairseq.models.distributed_fairseq_model as distributed
from commands import Result, Run


def without_devices() -> None:
    stock = distributed.DistributedDataParallel
    distributed.DistributedDataParallel = lambda device_ids, output_device, **options: stock(
        **options
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def train_on_two(
    folder: Path, backend: str, *command: object, before: Callable[[], None] = without_devices
) -> list[Result]:
    """Results of two processes that train together, each after a call of `before`."""
    port = str(free_port())
    flags = ["--ddp-backend", backend, "--distributed-backend", "gloo", "--distributed-no-spawn"]
    flags += ["--distributed-init-method", "env://", "--distributed-world-size", 2]
    processes = [
        Run(
            folder,
            "train",
            *(*command, *flags, "--distributed-rank", rank),
            before=before,
            environment={
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
                "WORLD_SIZE": "2",
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
            },
        )
        for rank in range(2)
    ]
    return [process.wait().good() for process in processes]
