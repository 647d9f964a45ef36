//! The same nonsense through the real process, which must keep silent and end well too.

use super::answer_check::check;
use super::fuzz;
use super::payloads::{MANIFEST, fixtures, host_and_event};
use dispatch_hook_dialects::{Hints, Reply, dialect};
use dispatch_support::TestContext;

#[test]
fn the_process_answers_nonsense_as_the_library_does() {
    let fixtures = fixtures();
    let context = TestContext::new();
    context.write(".ai/hooks/dispatch.manifest.json", MANIFEST);
    fuzz(60, move |generator| {
        let (host, event) = host_and_event(generator);
        let valid = generator.one_of(&fixtures);
        let stdin = generator.nonsense(valid);
        let output = context.run("dispatch-hook", &[&event, "--host", host], &stdin, &[]);
        let (dialect, name) = match dialect::parse(&stdin, Some(host), Some(&event), &Hints::default()) {
            Ok(parsed) => (parsed.dialect, parsed.event.name),
            Err(failure) => (failure.dialect, failure.name),
        };
        let reply = Reply {
            stdout: output.stdout.into_bytes(),
            stderr: output.stderr.into_bytes(),
            exit_code: u8::try_from(output.status).expect("no signal ended it"),
        };
        assert_eq!(
            check(dialect, &name, &reply),
            Ok(()),
            "{reply:?} to {host} {event} {}",
            String::from_utf8_lossy(&stdin)
        );
    });
}
