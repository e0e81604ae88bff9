"""The labelling page, and its HTTP API: a Session for people and for other programs, over loopback by default."""

from fewlabels.web.addresses import Place
from fewlabels.web.app import make_app
from fewlabels.web.client import Client
from fewlabels.web.credentials import Credentials, CredentialStore, MemoryStore
from fewlabels.web.desk import Desk, Rules
from fewlabels.web.door import Door
from fewlabels.web.media import Folder
from fewlabels.web.server import serve

__all__ = [
    "Client",
    "CredentialStore",
    "Credentials",
    "Desk",
    "Door",
    "Folder",
    "MemoryStore",
    "Place",
    "Rules",
    "make_app",
    "serve",
]
