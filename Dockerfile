# dc_nmt_plugin with everything it needs.
#
#   docker build -t dc-nmt .                                                   # CPU
#   docker build -t dc-nmt --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu130 .
#   docker run --rm -it -v "$PWD/runs:/work/runs" [--gpus all --shm-size 8g] dc-nmt dc-nmt doctor
FROM python:3.12-slim

ARG TORCH=2.11.0
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

# git: dc-nmt notes the version of a checkout in its runs
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir "torch==$TORCH" --index-url "$TORCH_INDEX"

# what changes seldom comes first; on Python 3.12 fairseq is ready-made, nothing is compiled
WORKDIR /opt/dc_nmt_plugin
COPY requirements requirements
RUN pip install --no-cache-dir -r requirements/build.txt -r requirements/run.txt -c requirements/constraints.txt \
    && pip install --no-cache-dir --no-deps --no-build-isolation -r requirements/fairseq.txt
COPY . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation . && pip check && dc-nmt doctor

ENV OMP_NUM_THREADS=1
WORKDIR /work
CMD ["bash"]
