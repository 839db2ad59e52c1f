"""Big results in S3, or in a store with its protocol: one signed PUT each, with the credentials of the environment."""

from __future__ import annotations

import hashlib
import hmac
import os
import time
import urllib.error
import urllib.request
from urllib.parse import quote, urlsplit

from ._queue_store import object_name

_TRIES = 5
_TIMEOUT_SECONDS = 60.0


class S3Store:
    """Objects below a prefix. AWS_ENDPOINT_URL names another server than Amazon's."""

    def __init__(self, place: str) -> None:
        parts = urlsplit(place)
        self._bucket, self._prefix = parts.netloc, parts.path.strip("/")
        if not self._bucket:
            raise ValueError(f"{place!r} names no bucket: s3://BUCKET/PREFIX")
        self._region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        self._key_id = os.environ.get("AWS_ACCESS_KEY_ID", "")
        self._secret = os.environ.get("AWS_SECRET_ACCESS_KEY", "")
        if not self._key_id or not self._secret:
            raise ValueError("s3:// needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; with other credentials write the object yourself and commit its address")
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        self._endpoint = (endpoint or f"https://s3.{self._region}.amazonaws.com").rstrip("/")

    def save(self, key: str, generation: int, data: bytes, suffix: str) -> dict:
        digest = hashlib.sha256(data).hexdigest()
        name = "/".join(part for part in (self._prefix, object_name(key, generation, digest, suffix)) if part)
        path = quote(f"/{self._bucket}/{name}")
        for tried in range(1, _TRIES + 1):
            request = urllib.request.Request(self._endpoint + path, data, self._signed(path, digest), method="PUT")
            try:
                urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS).close()
                break
            except urllib.error.HTTPError as error:
                if error.code < 500 or tried == _TRIES:
                    raise OSError(f"s3://{self._bucket}/{name}: the store answered {error.code} {error.reason}") from None
            except OSError:
                if tried == _TRIES:
                    raise
            time.sleep(0.2 * 2**tried)
        return {"ref": f"s3://{self._bucket}/{name}", "bytes": len(data), "sha256": digest}

    def _signed(self, path: str, digest: str) -> dict:
        """The headers of signature version 4; the digest makes the store check what it got."""
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        headers = {"host": urlsplit(self._endpoint).netloc, "x-amz-content-sha256": digest, "x-amz-date": now}
        token = os.environ.get("AWS_SESSION_TOKEN")
        if token:
            headers["x-amz-security-token"] = token
        names = ";".join(sorted(headers))
        lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        request = "\n".join(["PUT", path, "", lines, names, digest])
        scope = f"{now[:8]}/{self._region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(request.encode()).hexdigest()])
        key = f"AWS4{self._secret}".encode()
        for part in (now[:8], self._region, "s3", "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        credential = f"{self._key_id}/{scope}"
        headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
        return headers
