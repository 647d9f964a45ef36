"""An editor, as far as a server can tell: opens and saves a file and writes down what it is told."""

import asyncio
import json
import pathlib
import sys

from lsprotocol import types
from pygls.lsp.client import BaseLanguageClient

program, project, file, text = sys.argv[1:]
PATIENCE_SECONDS = 60


def tell(name, value):
    print(json.dumps({"name": name, "value": value}), flush=True)


async def main():
    client = BaseLanguageClient("somebody-elses-editor", "1.0")
    over = asyncio.Event()
    logged, asked, progress = [], [], []

    @client.feature(types.WINDOW_LOG_MESSAGE)
    def on_log(params):
        logged.append([int(params.type), params.message])
        if " succeeded" in params.message or " failed" in params.message:
            over.set()

    @client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
    def on_create(params):
        asked.append(params.token)

    @client.feature(types.PROGRESS)
    def on_progress(params):
        value = params.value
        kind = value["kind"] if isinstance(value, dict) else getattr(value, "kind", None)
        progress.append([params.token, kind])
        if kind == "begin":
            (pathlib.Path(project) / "shown").touch()

    await client.start_io(program, "lsp", "--stdio", cwd=project)
    root = pathlib.Path(project).as_uri()
    window = types.WindowClientCapabilities(work_done_progress=True)
    answer = await client.initialize_async(
        types.InitializeParams(
            process_id=None,
            capabilities=types.ClientCapabilities(window=window),
            root_uri=root,
            workspace_folders=[types.WorkspaceFolder(uri=root, name="project")],
        )
    )
    tell("server", answer.server_info.name if answer.server_info else None)
    client.initialized(types.InitializedParams())
    path = pathlib.Path(project) / file
    document = types.TextDocumentItem(uri=path.as_uri(), language_id="plaintext", version=1, text="")
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=document))
    path.write_text(text)
    saved = types.TextDocumentIdentifier(uri=path.as_uri())
    client.text_document_did_save(types.DidSaveTextDocumentParams(text_document=saved))
    await asyncio.wait_for(over.wait(), PATIENCE_SECONDS)
    await client.shutdown_async(None)
    client.exit(None)
    await asyncio.wait_for(client._server.wait(), PATIENCE_SECONDS)
    tell("logged", logged)
    tell("asked", asked)
    tell("progress", progress)
    tell("status", client._server.returncode)


asyncio.run(main())
