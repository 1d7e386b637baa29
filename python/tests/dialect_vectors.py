"""The results of the dialects for a case of tests/llm/vectors.json."""

from __future__ import annotations

from typing import Any

from nuthatch.integrations.dialects.anthropic_messages import Messages
from nuthatch.integrations.dialects.dialect import Allowed, Bypassed
from nuthatch.integrations.dialects.events import Event, Reader
from nuthatch.integrations.dialects.openai_chat import Chat
from nuthatch.integrations.dialects.openai_responses import Responses
from nuthatch.integrations.questions import Question, asked

DIALECTS: dict[str, Any] = {"chat": Chat(), "responses": Responses(), "messages": Messages()}


def outcome(kind: str, case: dict[str, Any]) -> Any:
    """The outcome, as JSON."""
    return {"questions": _question, "objections": _objection, "streams": _stream}[kind](DIALECTS[case["api"]], case)


def _question(dialect: Any, case: dict[str, Any]) -> Any:
    allowed = Allowed(media=case.get("media", False))
    try:
        question = dialect.question(case["request"], case.get("headers", {}), allowed)
    except Bypassed as why:
        return {"bypass": str(why)}
    placed = Question(question.text, {"url": "https://x/v1", "request": question.rest}, question.by_meaning)
    prompt, scope = asked(placed)
    told = {"prompt": prompt, "scope": scope, "by_meaning": question.by_meaning}
    # Of long ones, the hashes say enough.
    return told if len(question.text) > 1000 else {**told, "text": question.text, "rest": question.rest}


def _objection(dialect: Any, case: dict[str, Any]) -> Any:
    return dialect.objection(case["request"], case["answer"], Allowed(tool_calls=case.get("tool_calls", False)))


def _stream(dialect: Any, case: dict[str, Any]) -> Any:
    events: list[Event] = []
    for event in Reader().feed(case["events"].encode()):
        events.append(event)
        if dialect.is_last(event):
            break
    else:
        return None
    answer = dialect.assembled(events)
    if answer is None:
        return None
    replayed = Reader().feed(b"".join(dialect.stream(case["request"], answer)))
    return {
        "answer": answer.body,
        "pieces": answer.lengths,
        "can_give": dialect.can_give(case["request"], answer.body),
        "replayed": [[event.name, event.data if event.data == "[DONE]" else event.json()] for event in replayed],
    }
