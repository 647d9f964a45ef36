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
    One policy pipeline between AI agents and your code

    Usage: dispatch [OPTIONS] <COMMAND>

    Guard: check what coding agents do
      hook             Answer one hook event of a coding agent, read from standard input
      canary           Check that every registered agent asks Dispatch before it acts
      check            Check the files of the policy: what is wrong, in which file, line and key
      events           Show what the agents did and what was decided
      why              Explain a decision: who decided, by which rule, and what would change it
      explain          Judge a command, or a payload from standard input, without recording anything
      rules            List your own rules and try them on a call
      replay           Judge recorded tool calls by the current rules and show what differs
      allow-once       Let one call pass a rule, or suspend the rule for a limited time
      module           Create, test and list modules of the hook pipeline
      plan             Submit, show and work through the plan of a session
      phase            Show or set the phase of a session
      state            Show the state of a session or rebuild it from its log
      memory           Show what sessions learned and turn it into reminders

    Trace: tie every change to a declared intent
      intent           Declare what is meant to change and where, and bind sessions to it
      trace            Query, verify and export the ledger of changes
      mcp              Serve intents and plans to an agent over MCP on standard input and output

    React: run prompts and programs when files change
      watch            Watch the workspace and run its hooks until interrupted
      service          Keep the workspace watched without an open terminal, as a service of your system
      lsp              Let an editor run the workspace's hooks over LSP on standard input and output
      workspace-hooks  Check, list and describe the hooks of the workspace
      runs             List, follow, start, cancel and retry runs of workspace hooks

    Route: bring in events from outside
      event            Store events from outside, list them, and show what was done with one
      route            List, test and switch routing hooks, which say where an event goes
      outbox           Show replies on their way to a channel, and settle those that may have arrived
      person           Say which senders are the same person, and list the persons
      channel          List the accounts of channels, and try one

    Run: use Dispatch's own agent
      chat             Talk to Dispatch's own agent
      run              Run a command that an extension adds
      session          List, read, fork and delete conversations
      queue            Show and cancel messages that wait or run
      approvals        Show and answer the questions of agents that wait for a person
      permissions      Show and remove what was allowed for good
      serve            Serve the agent over HTTP, WebSocket, or standard input and output
      acp              Let an editor drive the agent over ACP on standard input and output
      storage          Show which database is used, or copy it to another

    Set-up: install, configure and check
      init             Register Dispatch with coding agents, check the registration or undo it
      up               Check the machine, write settings, find a model and start the server
      doctor           Report what is configured, found and wrong, and how to fix it
      trust            Approve the current content of files that came with a project
      auth             Store API keys, each for exactly one model server
      config           Show the settings in force and where each one comes from
      ext              List, describe, make, switch on and off, and remove extensions
      schema           Print the JSON Schemas of hook payloads and configuration files
      completions      Print a completion script for a shell
      help             Print this message or the help of a command

    Options:
          --project <DIR>     Use the project in DIR instead of the one of the current folder
          --set <NAME=VALUE>  Override one setting for this run, for example --set model.model=qwen3
          --minimal           Load the core extensions only
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
