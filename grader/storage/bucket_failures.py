"""What a bucket's client says when something fails, as one sentence for who runs the site.

The client's own text goes on for thirty lines with the values of its structures.
"""

import os
import re
from urllib.parse import urlsplit

CODE = re.compile(r"<Code>([\w.]+)</Code>")
STATUS = re.compile(r"status code: (\d{3})")
LONGEST = 300
NO_BUCKET = "NoSuchBucket"
METADATA_SERVICE = "169.254.169.254"
WHOSE_KEYS = "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


def endpoint() -> str | None:
    """Return the address of the S3 server; None for that of Amazon."""
    return os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or None


def is_of_the_bucket(error: Exception) -> bool:
    """Return whether an error says that the bucket itself, not only a key in it, is not there."""
    return NO_BUCKET in CODE.findall(str(error))


def sentence(error: Exception, url: str) -> str:
    """Return what is wrong with the bucket at a storage URL, and what to look at."""
    text = str(error)
    bucket, server = urlsplit(url).netloc, endpoint() or "Amazon S3"
    codes, status = CODE.findall(text), STATUS.search(text)
    code = codes[-1] if codes else ""
    if code == NO_BUCKET:
        return f"The bucket {bucket!r} does not exist at {server}: make it, or correct its name."
    if code in ("InvalidAccessKeyId", "SignatureDoesNotMatch"):
        return f"{server} does not know these keys ({code}). {WHOSE_KEYS}."
    if METADATA_SERVICE in text:  # where the client looks when it was given none
        return (
            f"There are no keys for the bucket {bucket!r}. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        )
    if status and status[1] in ("401", "403"):
        return (
            f"{server} refuses access to the bucket {bucket!r}{_named(code)}. {WHOSE_KEYS}, and their rights."
        )
    if status and status[1] == "301":
        return f"The bucket {bucket!r} is in another region. Correct AWS_REGION."
    if status:
        return f"{server} answered {status[1]}{_named(code)} about the bucket {bucket!r}."
    if "error sending request" in text or "HTTP error" in text:
        return f"Nothing answers at {server}. Does it run, and is AWS_ENDPOINT_URL right?"
    return text.strip().partition("\n")[0][:LONGEST].rstrip(".") + "."


def _named(code: str) -> str:
    return f" ({code})" if code else ""
