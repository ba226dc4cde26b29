# One image for all roles, which docker-compose.yml and deploy/kubernetes select by command. By itself, the image runs a
# complete installation:
#   docker run --publish 127.0.0.1:7777:7777 --volume fairboard:/data IMAGE
# Build it for one platform (`make image`), for several, or on a plain Debian base:
#   docker build --build-arg COMMIT=$(git describe --always --dirty) --tag fairboard .
#   docker buildx build --platform linux/amd64,linux/arm64 --tag REGISTRY/fairboard:VERSION --push .
#   docker build --build-arg BASE=debian:trixie-slim --tag fairboard .

ARG BASE=python:3.13-slim-trixie@sha256:9d2e5553305c7c7b0097999bb17187c69b921ccd6bc9d40e4bb5ebe652c00285
FROM ${BASE} AS base
# Python images contain Python and certificates; a plain Debian base gets Debian's packages.
RUN command -v python3 >/dev/null \
    || { apt-get update && apt-get install --yes --no-install-recommends ca-certificates python3 \
    && rm -rf /var/lib/apt/lists/*; }

FROM base AS build
RUN python3 -c 'import ensurepip' 2>/dev/null \
    || { apt-get update && apt-get install --yes --no-install-recommends python3-venv; }
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /source
# Packages change less often than the source, so they are installed in separate layers that stay cached.
COPY requirements/image.lock requirements/build.lock requirements/precompile.py requirements/
RUN python3 -m venv /tools \
    && /tools/bin/pip install --require-hashes --no-deps -r requirements/build.lock \
    && python3 -m venv --without-pip /opt/fairboard \
    && /tools/bin/pip --python /opt/fairboard/bin/python install --no-compile --require-hashes --no-deps \
    -r requirements/image.lock \
    && rm -r /opt/fairboard/lib/python3*/site-packages/pandas/tests
COPY pyproject.toml README.md LICENSE ./
COPY fairboard fairboard
COPY grader grader
COPY webapp webapp
COPY migrations migrations
COPY docs docs
ARG COMMIT=unknown
RUN echo "${COMMIT:-unknown}" > grader/build.txt \
    && /opt/fairboard/bin/python -m webapp.documentation.build \
    && /tools/bin/pip wheel --no-build-isolation --no-deps --wheel-dir /wheels . \
    && /tools/bin/pip --python /opt/fairboard/bin/python install --no-compile --no-deps /wheels/*.whl \
    && /opt/fairboard/bin/python requirements/precompile.py

FROM base
LABEL org.opencontainers.image.title=Fairboard org.opencontainers.image.licenses=Apache-2.0
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin fairboard \
    && install --directory --owner 10001 --group 10001 --mode 700 /data /cache
COPY --from=build /opt/fairboard /opt/fairboard
ENV PATH=/opt/fairboard/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    OPENBLAS_NUM_THREADS=1 \
    OMP_NUM_THREADS=1 \
    FAIRBOARD_DATA_DIR=/data \
    FAIRBOARD_HOST=0.0.0.0
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 7777
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:7777/livez', timeout=5)"]
CMD ["fairboard", "serve"]
