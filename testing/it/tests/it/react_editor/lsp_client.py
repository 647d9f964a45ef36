"""An editor, as far as a server can tell: opens and saves a file and writes down what it is told."""

import asyncio
import json
import pathlib
import sys

from lsprotocol import types
from pygls.lsp.client import BaseLanguageClient

# `abilities` is what the editor does before a save: nothing, `tell` of it, or `wait` for edits.
program, project, file, text, abilities = sys.argv[1:]
PATIENCE_SECONDS = 60


def tell(name, value):
    print(json.dumps({"name": name, "value": value}), flush=True)


def saving():
    synchronization = types.TextDocumentSyncClientCapabilities(
        will_save=abilities != "", will_save_wait_until=abilities == "wait", did_save=True
    )
    return types.TextDocumentClientCapabilities(synchronization=synchronization)


async def before_save(client, document):
    params = types.WillSaveTextDocumentParams(text_document=document, reason=types.TextDocumentSaveReason.Manual)
    if abilities == "tell":
        client.text_document_will_save(params)
        return
    # An editor waits for about a second; on a slow machine another save may be needed.
    for version in range(2, 60):
        whole = types.TextDocumentContentChangeWholeDocument(text=text)
        changed = types.VersionedTextDocumentIdentifier(uri=document.uri, version=version)
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(text_document=changed, content_changes=[whole])
        )
        edits = await client.text_document_will_save_wait_until_async(params)
        if edits:
            span = lambda at: {"line": at.line, "character": at.character}
            tell("edits", [
                {"range": {"start": span(it.range.start), "end": span(it.range.end)}, "newText": it.new_text}
                for it in edits
            ])
            return


async def main():
    client = BaseLanguageClient("somebody-elses-editor", "1.0")
    ready, over = asyncio.Event(), asyncio.Event()
    logged, asked, progress, shown, remarks = [], [], [], [], []

    @client.feature(types.WINDOW_LOG_MESSAGE)
    def on_log(params):
        logged.append([int(params.type), params.message])
        if " on in " in params.message:
            ready.set()
        if " succeeded" in params.message or " failed" in params.message:
            over.set()

    @client.feature(types.WINDOW_SHOW_MESSAGE)
    def on_show(params):
        shown.append([int(params.type), params.message])

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def on_diagnostics(params):
        remarks[:] = [[int(it.severity), it.message] for it in params.diagnostics]

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
            capabilities=types.ClientCapabilities(window=window, text_document=saving()),
            root_uri=root,
            workspace_folders=[types.WorkspaceFolder(uri=root, name="project")],
        )
    )
    tell("server", answer.server_info.name if answer.server_info else None)
    client.initialized(types.InitializedParams())
    await asyncio.wait_for(ready.wait(), PATIENCE_SECONDS)
    path = pathlib.Path(project) / file
    document = types.TextDocumentItem(uri=path.as_uri(), language_id="plaintext", version=1, text="")
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=document))
    document_id = types.TextDocumentIdentifier(uri=path.as_uri())
    if abilities:
        await before_save(client, document_id)
    path.write_text(text)
    client.text_document_did_save(types.DidSaveTextDocumentParams(text_document=document_id))
    await asyncio.wait_for(over.wait(), PATIENCE_SECONDS)
    await client.shutdown_async(None)
    client.exit(None)
    await asyncio.wait_for(client._server.wait(), PATIENCE_SECONDS)
    tell("logged", logged)
    tell("asked", asked)
    tell("progress", progress)
    tell("shown", shown)
    tell("remarks", remarks)
    tell("status", client._server.returncode)


asyncio.run(main())
