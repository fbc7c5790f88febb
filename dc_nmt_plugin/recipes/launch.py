"""Starts training on any GPUs and machines, with the published tokens per update."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UsageError, check_choices

LAUNCHERS = ("fairseq", "torchrun")
DEFAULT_PORT = 29500


@dataclass(frozen=True)
class MachineOptions:
    """The user's options for :class:`Machines`; None means detected."""

    launcher: str | None = None
    gpus: int | None = None
    nodes: int | None = None
    node_rank: int | None = None
    rendezvous: str = ""


@dataclass(frozen=True)
class Machines:
    """GPUs and machines of a training run."""

    # fairseq starts a process for each GPU of this machine; torchrun does so on each machine where
    # the command is called
    launcher: str
    gpus: int  # of each machine; 0 for the CPU
    nodes: int  # machines
    rank: int  # number of this machine
    rendezvous: str  # host:port of the first machine

    @property
    def workers(self) -> int:
        """Returns the number of processes; the CPU counts as one."""
        return max(1, self.gpus) * self.nodes

    def command(self) -> list[str]:
        """Returns the words before fairseq-train's own flags."""
        if self.launcher == "fairseq":
            return ["fairseq-train"]
        words = ["torchrun", f"--nnodes={self.nodes}", f"--nproc-per-node={self.gpus}"]
        if self.nodes == 1:
            words += ["--standalone"]
        else:
            host, _, port = self.rendezvous.partition(":")
            words += [f"--node-rank={self.rank}", f"--master-addr={host}"]
            words += [f"--master-port={port or DEFAULT_PORT}"]
        # torchrun starts Python files; fairseq_cli.train is what fairseq-train calls
        return [*words, "-m", "fairseq_cli.train"]

    def flags(self) -> list[str]:
        """Returns fairseq-train's flags for it."""
        if self.gpus == 0:
            # fairseq uses all GPUs, and with --cpu starts a process for each
            return ["--cpu", "--distributed-world-size", "1"]
        if self.workers > 1 or self.launcher == "fairseq":
            return ["--distributed-world-size", str(self.workers)]
        return []


@dataclass(frozen=True)
class Batch:
    """Distribution of an update's tokens over processes."""

    workers: int  # number of processes
    max_tokens: int  # of one process at a time
    update_freq: int  # number of batches whose gradients each process sums

    @property
    def tokens(self) -> int:
        """Returns the tokens of one update."""
        return self.workers * self.max_tokens * self.update_freq

    def describe(self, published: int) -> str:
        """Returns a sentence for the user."""
        text = (
            f"{self.tokens:,} tokens per update = {self.workers} x {self.max_tokens:,} "
            f"(--max-tokens) x {self.update_freq} (--update-freq)"
        )
        if abs(self.tokens - published) > 0.01 * published:
            return f"{text}; not the recipe's {published:,}"
        return text


def share_out(tokens: int, workers: int, max_tokens: int, longest: int = 0) -> Batch:
    """Distributes an update's ``tokens`` over ``workers``, each ``max_tokens`` at most at a time.

    Raises:
        UserError: a process would get fewer tokens than the longest sentence has
    """
    update_freq = -(-tokens // (workers * max_tokens))
    batch = Batch(workers, round(tokens / (workers * update_freq)), update_freq)
    if batch.max_tokens >= max(1, longest):
        return batch
    if max_tokens < longest:
        raise UsageError(
            f"--max-tokens {max_tokens}: the longest sentence has {longest} tokens and has to "
            "fit into a batch"
        )
    raise UsageError(
        f"--gpus: {workers} processes would each get {batch.max_tokens} of an update's "
        f"{tokens:,} tokens, and the longest sentence has {longest}: use fewer"
    )


def find_machines(options: MachineOptions) -> Machines:
    """Returns machines and GPUs from the options and this machine.

    Raises:
        UserError: options that contradict each other
    """
    launcher, nodes = options.launcher or "fairseq", options.nodes or 1
    check_choices("--launcher", [launcher], LAUNCHERS)
    gpus = visible_gpus() if options.gpus is None else options.gpus
    if launcher == "fairseq" and nodes > 1:
        raise UsageError(f"--nodes {nodes}: needs --launcher torchrun")
    if launcher == "torchrun" and gpus == 0:
        raise UsageError("--launcher torchrun: needs GPUs; on a CPU leave it out")
    if nodes > 1 and (not options.rendezvous or options.node_rank is None):
        raise UsageError(
            f"--nodes {nodes}: needs --rendezvous HOST:PORT, of the first machine, and "
            "--node-rank, 0 on the first machine"
        )
    rank = options.node_rank or 0
    if not 0 <= rank < nodes:
        raise UsageError(f"--node-rank {rank}: is not from 0 to {nodes - 1} (--nodes {nodes})")
    return Machines(launcher, gpus, nodes, rank, options.rendezvous)


def visible_gpus() -> int:
    """Returns the number of GPUs of this machine that torch may use."""
    import torch

    return torch.cuda.device_count()
