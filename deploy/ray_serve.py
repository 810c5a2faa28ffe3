"""The server as a deployment of Ray Serve, for a cluster that is there already.

`serve run deploy.ray_serve:app` takes DISPUTATIO_INDEX, DISPUTATIO_TOKEN and DISPUTATIO_HOSTS.
"""

import os

from fastapi import FastAPI
from ray import serve

from disputatio.config import read_settings
from disputatio.server.app import create_app
from disputatio.server.options import Access
from disputatio.server.service import Service


def build() -> FastAPI:
    """The application of one replica: the index lies where every machine of the cluster finds it."""
    access = Access(token=os.environ["DISPUTATIO_TOKEN"], hosts=tuple(os.environ["DISPUTATIO_HOSTS"].split()))
    return create_app(Service.open(read_settings(), access=access))


app = serve.deployment(max_ongoing_requests=64)(serve.ingress(build)()).bind()
