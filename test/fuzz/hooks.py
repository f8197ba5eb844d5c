"""What the OpenAPI document can't say of requests: which parameters exclude each other, and what only the service can know."""

import json
import re

import schemathesis

TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]")


@schemathesis.hook
def before_call(context, case, kwargs):
    query, body = case.query, case.body
    if case.headers is not None and case.headers.get("If-Match") == "0":
        # The tool's own filler, which does not follow the document's pattern.
        del case.headers["If-Match"]
    if isinstance(query, dict):
        # Opaque, and of the page before.
        query.pop("cursor", None)
        if "tier" in query:
            query.pop("tiers", None)
    if isinstance(body, dict):
        if isinstance(query, dict) and "user_id" in body:
            query.pop("user_id", None)
        if isinstance(body.get("source_ids"), list) and all(isinstance(id, str) for id in body["source_ids"]):
            # Of memories that are there.
            body["source_ids"] = []
        if isinstance(body.get("expires_at"), str) and TIME.match(body["expires_at"]):
            # In the future.
            body["expires_at"] = "2999" + body["expires_at"][4:]
        # A name that JavaScript takes for more than a name is refused.
        case.body = json.loads(json.dumps(body).replace('"__proto__"', '"proto"'))
