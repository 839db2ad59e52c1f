"""The token file of a queue worker may be anything."""

import os
import socket

import pytest

from holdfast._queue_client import Client, QueueError


def test_a_token_file_that_is_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "token")
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = Client(f"http://127.0.0.1:{server.getsockname()[1]}", str(tmp_path / "token"))
        with pytest.raises(QueueError, match="is not a regular file"):
            client.ask("/v1/lease", {}, 5.0)
