//! What a new user meets first: help, version, wrong arguments, completions, pipes.

use dispatch_support::TestContext;
use insta::assert_snapshot;
use std::process::Stdio;

#[test]
fn help_fits_one_screen_and_lists_every_command() {
    let output = TestContext::new().dispatch(&["--help"]);
    assert_snapshot!(output.snapshot(), @r"
    status: 0
    --- stdout
    One policy pipeline between AI agents and the code, messages and machines they touch

    Usage: dispatch [OPTIONS] <COMMAND>

    Commands:
      up               Check, prepare and start everything that our own agent needs
      chat             Talk to Dispatch's own agent
      session          Read and arrange the conversations of our own agent
      queue            Show what waits or runs in the sessions, and take it back
      serve            Serve our own agent over HTTP, WebSocket, or standard input and output
      acp              Let an editor drive our own agent over ACP, on standard input and output
      watch            Watch the workspace and run its hooks, until somebody ends it
      lsp              Let an editor run the workspace's hooks over LSP, on standard input and output
      event            Send an event that starts the workspace's `custom:` hooks
      workspace-hooks  Say what the workspace hooks are, which of them run, and what is wrong with their file
      runs             Show, start, stop and repeat the runs of workspace hooks
      init             Make the agents' hosts call Dispatch, or say what differs, or take it back
      canary           Ask each registered host about a call that must be refused
      schema           Print a JSON Schema of the hook pipeline
      doctor           Say what is configured, found and wrong, and how to fix it
      auth             Keep keys for model servers, each for one server alone
      config           Show the settings in force
      hook             Answer one hook event of a coding agent, read from standard input
      ext              List and switch extensions
      events           Show what happened in the sessions of this workspace
      why              Say who decided about a hook event, on what, and what would change the answer
      explain          Say what would be decided about a payload on standard input; nothing is written
      replay           Judge recorded tool calls again by the present rules and show what differs
      allow-once       Let one rule pass for a while
      state            Show the state of a session, or make it again from its log
      phase            Show or set where the work of a session stands
      plan             Show the plan of a session and take it step by step
      intent           Declare what is meant to change and where, and bind sessions to it
      mcp              Serve intents and plans to an agent over MCP, on standard input and output
      memory           Show what sessions learned, and make reminders of it
      module           Make, try and list the modules of the hook pipeline
      trace            Ask the ledger of intents: what happened, whether it is whole, who wrote which line
      trust            Approve the present content of files that came with a project
      completions      Print a completion script for a shell
      help             Print this message or the help of the given subcommand(s)

    Options:
          --project <DIR>     Work on the project in this folder instead of the current one
          --set <NAME=VALUE>  Set one setting for this run, for example --set model.model=qwen3
          --minimal           Run with the core extensions alone
      -h, --help              Print help
      -V, --version           Print version

    Exit status: 0 done, 1 the answer is no, 2 usage, 3 configuration, 4 internal.
    --- stderr
    ");
}

#[test]
fn a_wrong_argument_is_a_usage_error() {
    let output = TestContext::new().dispatch(&["docter"]);
    assert_eq!(output.status, 2);
    assert!(output.stderr.contains("doctor"), "{output:?}");
    assert_eq!(output.stdout, "");
}

#[test]
fn no_argument_shows_the_help() {
    let output = TestContext::new().dispatch(&[]);
    assert_eq!(output.status, 2);
    assert!(output.stderr.contains("Usage: dispatch"), "{output:?}");
}

#[test]
fn every_shell_gets_a_completion_script() {
    let context = TestContext::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = context.dispatch(&["completions", shell]);
        assert_eq!(output.status, 0, "{shell}");
        assert!(output.stdout.contains("doctor"), "{shell}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let context = TestContext::new();
    let mut child = context
        .command("dispatch")
        .args(["config", "schema"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_script_worker_without_a_parent_ends() {
    let output = TestContext::new().run("dispatch", &["script-worker"], b"", &[]);
    assert_eq!(output.status, 0, "{output:?}");
}
