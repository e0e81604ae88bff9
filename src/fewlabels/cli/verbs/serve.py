"""`fewlabels serve`: the labelling pages of all sessions in a folder, under one address."""

from pkgutil import resolve_name

from fewlabels.cli.options import Columns, File
from fewlabels.cli.page_options import ServerOptions

SERVE_FOLDER = "fewlabels.cli.folder_server:serve_folder"  # imported only to serve


def serve(folder: File, /, *, server: ServerOptions = ServerOptions(), columns: Columns = Columns()) -> int:
    """Serve the labelling pages of all sessions in a folder, under one address.

    Each session has a path with the name of its file, and links of its own, which `fewlabels access` manages.
    Sessions that are added later are served after a restart.

    Parameters
    ----------
    folder: str
        Folder with sessions: files that end in .db, made by `fewlabels ask` or `fewlabels label`. Their predictions are
        where they were then, or in this folder.
    """
    resolve_name(SERVE_FOLDER)(folder, server, columns)
    return 0
