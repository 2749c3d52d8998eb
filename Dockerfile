# syntax=docker/dockerfile:1
# Two targets, both of which speak at once with the built-in voice and need no root:
#   docker build --target cpu  -t menura:cpu .     kernels for this CPU inside, torch without CUDA
#   docker build --target cuda -t menura:cuda .    torch with CUDA; run it with --gpus all
# Everything that is kept (keys, settings, voices, models) is in /data: mount a volume there.
ARG PYTHON=3.11-slim-bookworm

FROM python:${PYTHON} AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
RUN python -m venv /opt/menura
ENV PATH=/opt/menura/bin:$PATH
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE NOTICE ./
COPY menura ./menura

FROM build AS build-cpu
# The index that has torch without CUDA: a tenth of the size.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN pip install --constraint constraints.txt --extra-index-url "${TORCH_INDEX}" torch \
    && MENURA_BUILD_NATIVE=1 pip install --constraint constraints.txt '.[torch]'

FROM build AS build-cuda
RUN pip install --constraint constraints.txt '.[torch]'

FROM python:${PYTHON} AS runtime
RUN useradd --uid 10001 --create-home --home-dir /data --shell /usr/sbin/nologin menura \
    && chmod 700 /data
ENV PATH=/opt/menura/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MENURA_HOME=/data/menura \
    HF_HOME=/data/huggingface
WORKDIR /data
VOLUME /data
EXPOSE 8000 10200
# /ready says 503 while the server stops; it needs no key.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/ready', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["menura"]
# Inside its container it listens on every address, so it asks for a key: the log of the first start
# shows it. Publish the port on the host's loopback (-p 127.0.0.1:8000:8000) or behind a TLS proxy.
CMD ["serve", "--host", "0.0.0.0"]

FROM runtime AS cuda
COPY --from=build-cuda /opt/menura /opt/menura
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001

FROM runtime AS cpu
COPY --from=build-cpu /opt/menura /opt/menura
USER 10001
