"""Errors in OpenAI's form, for every route of the chat API."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel

from disputatio.errors import DisputatioError, LLMError, ReplyError, UnknownName
from disputatio.server.faults import NO_OBJECT, NO_OBJECT_MESSAGE, Fault, fault_of
from disputatio.server.replies import json_response


class ChatError(BaseModel):
    """An error in OpenAI's form."""

    message: str
    type: str
    param: str | None
    code: str | None


class ChatFault(BaseModel):
    """The body of every error response of `/v1`."""

    error: ChatError


CHAT_FAULTS: dict[int | str, dict[str, Any]] = {"default": {"model": ChatFault, "description": "a fault"}}
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def error_of(error: BaseException) -> tuple[Fault, dict[str, Any]]:
    """Return the fault of an error, and its body in OpenAI's form."""
    fault = fault_of(error)
    code: str | None = fault.kind
    param: str | None = None
    if isinstance(error, UnknownName) and error.kind == "model":
        fault = Fault(status=404, kind=fault.kind, message=fault.message)
        code, param = "model_not_found", "model"
    elif fault.status == 400:
        name, colon, _ = fault.message.partition(": ")
        param = name if colon and " " not in name else None
    return fault, {"error": {"message": fault.message, "type": _type(fault), "param": param, "code": code}}


def response_of(error: BaseException) -> Response:
    """Return the response to an error; one of a model is not to be retried, as the server has."""
    fault, body = error_of(error)
    headers = dict(fault.headers)
    if isinstance(error, LLMError | ReplyError) or fault.status in (409, 501):
        headers["x-should-retry"] = "false"
    return json_response(body, status=fault.status, headers=headers)


def invalid(error: RequestValidationError) -> Response:
    """Report the first invalid field of a request."""
    first = error.errors()[0]
    whole = first["type"] in NO_OBJECT
    where = "" if whole else ".".join(str(part) for part in first["loc"] if part != "body")
    message = NO_OBJECT_MESSAGE if whole else f"{where or 'the body'}: {first['msg']}"
    fault = Fault(status=400, kind="invalid_value", message=message)
    body = {"message": message, "type": _type(fault), "param": where or None, "code": "invalid_value"}
    return json_response({"error": body}, status=400)


def _type(fault: Fault) -> str:
    return _TYPES.get(fault.status, "server_error" if fault.status >= 500 else "invalid_request_error")


class OpenAIRoute(APIRoute):
    """A route whose faults are in OpenAI's form."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the route's handler, which turns errors and invalid requests into responses."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except DisputatioError as error:
                return response_of(error)
            except RequestValidationError as error:
                return invalid(error)

        return handle
