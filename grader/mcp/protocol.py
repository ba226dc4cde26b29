"""Model Context Protocol over two streams: one JSON-RPC message per line, tools only."""

import json
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

from grader.client.errors import ClientError
from grader.mcp.tools import Tools

# Tools are identical in all of these versions.
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
INSTRUCTIONS = (
    "A site with competitions that score predictions, for example for accuracy and unintended bias. Read a "
    "competition, download its data, write a CSV file with the columns of the sample submission to the "
    "folder, check it, submit it, and wait for its score."
)
PARSE_ERROR, INVALID_REQUEST, NO_SUCH_METHOD, INVALID_PARAMETERS = -32700, -32600, -32601, -32602
INTERNAL_ERROR = -32603

Json = Mapping[str, Any]


class ProtocolError(Exception):
    """A message to which the response is an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def serve(tools: Tools, lines: Iterable[str], out: TextIO) -> None:
    """Respond to a host's messages until its stream has closed and all running calls have finished.

    Tool calls run concurrently, so a call that waits for a score does not block others.
    """
    lock = threading.Lock()
    calls: list[threading.Thread] = []

    def send(message: Json) -> None:
        with lock:
            out.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            out.flush()

    for line in filter(None, map(str.strip, lines)):
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            send({"id": None, "error": {"code": PARSE_ERROR, "message": "The line is not valid JSON."}})
            continue
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            # A message without a method is a response.
            if not isinstance(message, dict) or "method" in message:
                send(
                    {
                        "id": None,
                        "error": {
                            "code": INVALID_REQUEST,
                            "message": "The message is not a JSON-RPC 2.0 request.",
                        },
                    }
                )
        elif "id" in message and message["method"].startswith("tools/"):
            calls = [*filter(threading.Thread.is_alive, calls), _started(_answer, tools, message, send)]
        elif "id" in message:
            _answer(tools, message, send)
    # The host still expects the results of running calls.
    for call in calls:
        call.join()


def _started(act: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=act, args=arguments, daemon=True)
    thread.start()
    return thread


def _answer(tools: Tools, message: Json, send: Callable[[Json], None]) -> None:
    parameters = message.get("params")
    try:
        result = _result(tools, message["method"], parameters if isinstance(parameters, dict) else {})
    except ProtocolError as error:
        send({"id": message["id"], "error": {"code": error.code, "message": str(error)}})
    # Without a response, the host would wait forever.
    except Exception as error:
        traceback.print_exc()
        sent = {"code": INTERNAL_ERROR, "message": f"Internal error: {type(error).__name__}."}
        send({"id": message["id"], "error": sent})
    else:
        send({"id": message["id"], "result": result})


def _result(tools: Tools, method: str, parameters: Json) -> Json:
    match method:
        case "initialize":
            wanted = parameters.get("protocolVersion")
            return {
                "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[-1],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "fairboard", "version": "1"},
                "instructions": INSTRUCTIONS,
            }
        case "ping":
            return {}
        case "tools/list":
            try:
                return {"tools": [tool.as_json() for tool in tools.offered.values()]}
            except ClientError as error:
                raise ProtocolError(INVALID_REQUEST, error.message) from error
        case "tools/call":
            return _call(tools, parameters)
    raise ProtocolError(NO_SUCH_METHOD, f"There is no method {method!r}.")


def _call(tools: Tools, parameters: Json) -> Json:
    name, arguments = parameters.get("name"), parameters.get("arguments")
    try:
        tool = tools.offered.get(str(name))
        if tool is None:
            raise ProtocolError(INVALID_PARAMETERS, f"There is no tool {name!r} for this token.")
        arguments = {} if arguments is None else arguments
        if not isinstance(arguments, dict):
            raise ProtocolError(INVALID_PARAMETERS, f"The arguments of {name} must be an object.")
        answer: Json = tool.act(**tool.checked(arguments))
    # The agent can correct its call.
    except (ClientError, OSError) as error:
        details = getattr(error, "details", {}) or {}
        answer = {"error": getattr(error, "public_name", "file"), "message": str(error), **details}
        return {"content": [_text(answer)], "isError": True}
    return {"content": [_text(answer)], "structuredContent": answer, "isError": False}


def _text(answer: Json) -> Json:
    return {"type": "text", "text": json.dumps(answer, ensure_ascii=False)}
