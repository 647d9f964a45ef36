//! What routing counts, and what the doctor says about it, with the real executable.

use crate::route_workspace::{ALL, PATIENCE, RouteWorkspace};
use dispatch_support::Reply;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn line<'a>(metrics: &'a Value, list: &str, field: &str, name: &str) -> &'a Value {
    let lines = metrics[list].as_array().unwrap_or_else(|| panic!("{metrics:#}"));
    lines.iter().find(|line| line[field] == name).unwrap_or_else(|| panic!("no {name}: {metrics:#}"))
}

#[test]
fn hooks_and_channels_are_counted_for_commands_and_over_http() {
    let settings = "[route.webhooks.shop]\nsignature = \"hmac\"\nsecrets = [\"a-secret-of-the-shop\"]\n";
    let workspace = RouteWorkspace::answering(|_| Reply::say("yes"), settings);
    assert_eq!(workspace.context.dispatch(&["route", "metrics"]).stdout, "no events and no replies in this time\n");
    workspace.hook("all", ALL);
    workspace.hook("throws", "export default () => { throw new Error('no'); };\n");
    workspace.hook("odd", "export default () => ({ fires: true });\n");
    for id in ["1", "2", "2"] {
        workspace.post("hello", &["--from", "ann", "--id", id]);
    }
    let served = workspace.serve();
    let refused = served.client.post("/v1/hooks/shop", &json!({ "a": 1 }));
    assert_eq!(refused.status, 401, "{refused:?}");
    let until = Instant::now() + PATIENCE;
    let metrics = loop {
        let metrics = served.client.get("/v1/route/metrics").json();
        let channels = metrics["channels"].as_array().into_iter().flatten();
        if channels.into_iter().any(|channel| channel["channel"] == "webhook" && channel["refused"] == 1) {
            break metrics;
        }
        assert!(Instant::now() < until, "the refused request is not counted: {metrics:#}");
        std::thread::sleep(Duration::from_millis(100));
    };
    let all = line(&metrics, "hooks", "hook", "all");
    assert_eq!((&all["fired"], &all["passed"], &all["failed"]), (&json!(2), &json!(0), &json!(0)), "{metrics:#}");
    assert!(all["medianMs"].is_u64() && all["p95Ms"].as_u64() >= all["medianMs"].as_u64(), "{metrics:#}");
    assert_eq!(line(&metrics, "hooks", "hook", "throws")["failed"], 2, "{metrics:#}");
    assert_eq!(line(&metrics, "hooks", "hook", "odd")["invalid"], 2, "{metrics:#}");
    let cli = line(&metrics, "channels", "channel", "cli");
    assert_eq!((&cli["received"], &cli["duplicates"], &cli["sent"]), (&json!(2), &json!(1), &json!(2)), "{metrics:#}");
    assert_eq!(line(&metrics, "channels", "channel", "webhook")["received"], 0, "nothing of it was stored");
    let printed = workspace.context.dispatch(&["route", "metrics", "--json"]).json();
    assert_eq!((&printed["hooks"], &printed["channels"]), (&metrics["hooks"], &metrics["channels"]));
    let shown = workspace.context.dispatch(&["route", "metrics", "--since", "1d"]).stdout;
    assert!(shown.contains("median") && shown.contains("duplicates") && shown.contains("throws"), "{shown}");
    assert_eq!(served.client.get("/v1/route/metrics?sinceMs=soon").status, 400);
}

#[test]
fn the_doctor_names_webhooks_that_cannot_work_and_hooks_that_wait() {
    let settings = "[route.webhooks.open]\nsignature = \"none\"\n\
                    [route.webhooks.bare]\nsignature = \"github\"\n\
                    [route.webhooks.unset]\nsignature = \"hmac\"\nsecrets = [\"env:NO_SUCH_SECRET_HERE\"]\n\
                    [route.webhooks.plain]\nsignature = \"hmac\"\nsecrets = [\"canary-secret-of-plain\"]\n\
                    reply_url = \"http://replies.example.org/x\"\n";
    let workspace = RouteWorkspace::answering(|_| Reply::say("yes"), settings);
    workspace.context.write(".dispatch/hooks/cloned.ts", ALL);
    let output = workspace.context.dispatch(&["doctor", "--json"]);
    assert_eq!(output.status, 1, "{output:?}");
    assert!(!output.stdout.contains("canary-secret"), "{output:?}");
    let report = output.json();
    let findings = report["findings"].as_array().unwrap();
    let found = |word: &str| {
        let about = |finding: &&Value| finding["detail"].as_str().is_some_and(|detail| detail.contains(word));
        let finding = findings.iter().find(about).unwrap_or_else(|| panic!("nothing about {word}: {report:#}"));
        (finding["health"].as_str().unwrap().to_owned(), finding["fix"].as_str().unwrap().to_owned())
    };
    assert_eq!(found("`open`").0, "note");
    assert_eq!(found("`bare`").0, "wrong");
    assert!(found("`bare`").1.contains("dispatch auth add channel:webhook:bare"), "{report:#}");
    assert!(found("NO_SUCH_SECRET_HERE").1.contains("NO_SUCH_SECRET_HERE"), "{report:#}");
    assert!(found("`plain`").1.contains("https"), "{report:#}");
    let (health, fix) = found("cloned.ts");
    assert_eq!(health, "note");
    assert!(fix.contains("dispatch trust"), "{fix}");
    assert!(!workspace.context.home().join("dispatch.db").exists(), "looking makes no database");
}
