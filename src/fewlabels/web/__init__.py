"""The labelling page, and its HTTP API: a Session for people and for other programs, over loopback by default."""

from fewlabels.web.app import make_app
from fewlabels.web.client import Client
from fewlabels.web.desk import Desk, Rules
from fewlabels.web.door import Door
from fewlabels.web.media import Folder
from fewlabels.web.server import Place, serve

__all__ = ["Client", "Desk", "Door", "Folder", "Place", "Rules", "make_app", "serve"]
