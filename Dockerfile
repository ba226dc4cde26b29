# One image for all roles, which docker-compose.yml selects by command.
# By itself, it runs a complete installation: docker run -p 7777:7777 -v fairboard:/data IMAGE

FROM python:3.13-slim-trixie AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /source
# Packages change less often than the source, so they are installed in separate layers that stay cached.
COPY requirements/app.lock requirements/build.lock requirements/
RUN python -m venv /opt/fairboard \
    && /opt/fairboard/bin/pip install --require-hashes --no-deps -r requirements/app.lock \
    && pip install --require-hashes --no-deps -r requirements/build.lock
COPY pyproject.toml README.md LICENSE ./
COPY grader grader
COPY webapp webapp
COPY migrations migrations
COPY docs docs
RUN pip wheel --no-build-isolation --no-deps --wheel-dir /wheels . \
    && /opt/fairboard/bin/pip install --no-deps /wheels/*.whl \
    && /opt/fairboard/bin/python -m compileall -q /opt/fairboard/lib

FROM python:3.13-slim-trixie
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
CMD ["fairboard", "serve"]
