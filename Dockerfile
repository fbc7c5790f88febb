# dc_nmt_plugin with everything it needs.
#
#   docker build -t dc-nmt .                                                   # CPU
#   docker build -t dc-nmt --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu130 .
#   mkdir -p out && docker run --rm -it --user "$(id -u):$(id -g)" -e HOME=/tmp -v "$PWD/out:/work" dc-nmt \
#     dc-nmt doctor                                                           # /work is out
#
# With GPUs: docker run --gpus all --shm-size 8g …; on more than one CPU core: -e OMP_NUM_THREADS=8.
FROM python:3.12-slim

# the version that the tests ran with (requirements/torch.txt); another one where an index has not got it
ARG TORCH=2.13.0
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN pip install --no-cache-dir "torch==$TORCH" --index-url "$TORCH_INDEX"

# fairseq is ready-made for x86_64; elsewhere it is compiled
RUN [ "$(uname -m)" = x86_64 ] \
    || (apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*)

# what changes seldom comes first
WORKDIR /opt/dc_nmt_plugin
COPY requirements requirements
RUN pip install --no-cache-dir -r requirements/build.txt -r requirements/run.txt -c requirements/constraints.txt
COPY . .
RUN python scripts/install_fairseq.py \
    && pip install --no-cache-dir --no-deps --no-build-isolation .

# a container may be granted fewer cores than torch sees
ENV OMP_NUM_THREADS=1
# not beside the sources, where the plugin would be found twice
WORKDIR /work
RUN pip check && dc-nmt doctor
CMD ["bash"]
