"""/v1/store/*: the models that there are, their jobs, and what an administrator does with them.

A model is brought only by a name of the catalogue, from a hub that this server is set up for, and
only when an administrator asks for it; nothing else ever downloads.
"""

import asyncio
from typing import Literal

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool

from menura import models
from menura.catalogue import lookup, suggest
from menura.errors import ModelNotFoundError
from menura.server.border import audit
from menura.server.border.json_body import OpenBody
from menura.server.border.problems import Problem
from menura.server.routes import NO_BODY, OPTIONAL_JSON, Route, Scope, ServerParts, parts_of
from menura.server.store.jobs import JobKind, JobState, StoreJob, new_job
from menura.server.store.shelf import ShelfModel

_SHOWN = 60  # characters of a given name in an error


class StoreModel(BaseModel):
    """One model: what it is, what of it is here, and what it does now."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    title: str
    engine: str
    n_bytes: int = Field(description="What is here, in bytes.")
    download_bytes: int | None = Field(description="What a fresh pull brings; null: not known.")
    is_complete: bool
    missing: tuple[str, ...]
    licence: str
    output_licence: str = Field(description="Empty where nothing is said of generated speech.")
    state: str = Field(description="absent, cold, loading, ready, restarting or failing.")
    rss_bytes: int
    rows: int
    queue: int
    idle_s: float | None
    device: str
    precision: str
    is_default: bool
    capabilities: tuple[str, ...]


class StoreModels(BaseModel):
    """All models: those that are served first."""

    object: str = "list"
    data: tuple[StoreModel, ...]


class JobEntry(BaseModel):
    """One job. `message` is the file that it is at, or why it ended."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    kind: JobKind
    model: str
    state: JobState
    done_bytes: int
    total_bytes: int
    phase: str
    message: str
    report: dict[str, JsonValue] | None


class JobAnswer(BaseModel):
    """A job."""

    job: JobEntry


class JobList(BaseModel):
    """The jobs since the server's start, the newest first."""

    object: str = "list"
    data: tuple[JobEntry, ...]


class ModelAnswer(BaseModel):
    """A model, as it is after what was asked for."""

    model: StoreModel


class PullBody(OpenBody):
    """Where from: the hub that has the model."""

    source: Literal["huggingface", "modelscope"] = "huggingface"


class VerifyBody(OpenBody):
    """How thoroughly: `full` hashes the files too whose digest nobody published."""

    full: StrictBool = False


class NoFields(OpenBody):
    """Nothing: `{}`."""


async def list_models(request: Request) -> StoreModels:
    """The models that there are, with what of them is here and what they do now."""
    found = await parts_of(request).shelf.models()
    return StoreModels(data=tuple(map(_model_entry, found)))


async def pull(request: Request, name: str, body: PullBody | None = None) -> JobAnswer:
    """Bring a model of the catalogue to this server, as a job that goes on after the answer."""
    body = body or PullBody()
    known = lookup(name)
    if known is None:
        raise ModelNotFoundError(
            f"model {name[:_SHOWN]!r} is not in the catalogue of GET /v1/store/models, and only "
            f"those are brought.{suggest(name[:_SHOWN])}",
            param="name",
        )
    plan = await asyncio.to_thread(models.describe_pull, known.name, source=body.source)
    job = new_job(JobKind.PULL, known.name, plan.total_bytes)
    return _started(request, job, {"source": body.source})


async def verify(request: Request, name: str, body: VerifyBody | None = None) -> JobAnswer:
    """Check a model's files, as a job that goes on after the answer; its report is the verdict."""
    body = body or VerifyBody()
    parts = parts_of(request)
    model, source = await _here(parts, name)
    total_bytes = (await parts.shelf.one(model)).n_bytes
    job = new_job(JobKind.VERIFY, model, total_bytes)
    return _started(request, job, {"model": source, "full": body.full})


async def load(request: Request, name: str, _body: NoFields | None = None) -> ModelAnswer:
    """Have a model loaded; it goes on after the answer."""
    parts = parts_of(request)
    model = await _served(parts, name)
    parts.pool.preload(model)
    return ModelAnswer(model=_model_entry(await parts.shelf.one(model)))


async def unload(request: Request, name: str, _body: NoFields | None = None) -> ModelAnswer:
    """Take a model out of memory, where nobody needs it; the next request loads it again."""
    parts = parts_of(request)
    model = await _served(parts, name)
    if not await parts.pool.unload(model):
        raise Problem(
            409, "model_in_use", f"The model {model!r} speaks, or somebody waits for it.",
            param="name",
        )  # fmt: skip
    return ModelAnswer(model=_model_entry(await parts.shelf.one(model)))


async def list_jobs(request: Request) -> JobList:
    """The jobs since the server's start."""
    return JobList(data=tuple(map(_job_entry, parts_of(request).jobs.all())))


async def one_job(request: Request, job_id: str) -> JobAnswer:
    """One job as it is now."""
    return JobAnswer(job=_job_entry(parts_of(request).jobs.one(job_id)))


async def cancel_job(request: Request, job_id: str) -> JobAnswer:
    """End a job at once; what has arrived is kept, and the same job goes on from there."""
    jobs = parts_of(request).jobs
    before = jobs.one(job_id)
    job = await jobs.cancel(job_id)
    if job.state is not before.state:
        audit.note(request, f"{job.kind} cancelled", job.id)
    return JobAnswer(job=_job_entry(job))


def _started(request: Request, job: StoreJob, more: dict[str, object]) -> JobAnswer:
    running = parts_of(request).jobs.start(job, more)
    if running is job:
        audit.note(request, f"{job.kind} of {job.model} started", job.id)
    return JobAnswer(job=_job_entry(running))


async def _served(parts: ServerParts, name: str) -> str:
    """The name of a model that is served. Raises: ModelNotFoundError."""
    await parts.names.refresh()
    return parts.names.model(name)


async def _here(parts: ServerParts, name: str) -> tuple[str, str]:
    """The name of a model of which something may be here, and what the store calls it.

    Raises: ModelNotFoundError: neither this server nor the catalogue knows it.
    """
    await parts.names.refresh()
    known = lookup(name)
    if known is not None and known.name not in parts.names.models():
        return known.name, known.name
    model = parts.names.model(known.name if known else name)
    return model, parts.names.source(model)


def _model_entry(model: ShelfModel) -> StoreModel:
    return StoreModel.model_validate(model)


def _job_entry(job: StoreJob) -> JobEntry:
    return JobEntry.model_validate(job)


_MODEL = "/v1/store/models/{name}"
ROUTES = (
    Route("/v1/store/models", ("GET",), Scope.SPEAK, NO_BODY, list_models, "List what is here"),
    Route(f"{_MODEL}/pull", ("POST",), Scope.ADMIN, OPTIONAL_JSON, pull, "Bring a model"),
    Route(
        f"{_MODEL}/verify", ("POST",), Scope.ADMIN, OPTIONAL_JSON, verify, "Check a model's files"
    ),
    Route(f"{_MODEL}/load", ("POST",), Scope.ADMIN, OPTIONAL_JSON, load, "Load a model"),
    Route(f"{_MODEL}/unload", ("POST",), Scope.ADMIN, OPTIONAL_JSON, unload, "Unload a model"),
    Route("/v1/store/jobs", ("GET",), Scope.ADMIN, NO_BODY, list_jobs, "List the jobs"),
    Route("/v1/store/jobs/{job_id}", ("GET",), Scope.ADMIN, NO_BODY, one_job, "Show a job"),
    Route("/v1/store/jobs/{job_id}", ("DELETE",), Scope.ADMIN, NO_BODY, cancel_job, "End a job"),
)
