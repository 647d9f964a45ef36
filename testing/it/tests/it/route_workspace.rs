//! A project with routing hooks, a model that answers by script, and the commands that show what became of an event.

use dispatch_support::{Output, Recorded, Reply, ScriptedModel, Served, TestContext};
use serde_json::Value;
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Fires for everything.
pub(crate) const ALL: &str = "export default (event: { content: string }) => ({ fire: true });\n";

pub(crate) struct RouteWorkspace {
    pub(crate) context: TestContext,
    pub(crate) model: ScriptedModel,
}

impl RouteWorkspace {
    /// A workspace whose model answers every question with the same words.
    pub(crate) fn saying(words: &'static str) -> Self {
        Self::answering(move |_| Reply::say(words), "")
    }

    /// The same with answers that depend on what is asked, and further settings.
    pub(crate) fn answering(answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static, settings: &str) -> Self {
        Self::with_settings(answer, &format!("[route]\nowners = [\"mail:me@example.org\"]\n\n{settings}"))
    }

    /// The same with these settings alone, but for the model.
    pub(crate) fn with_settings(answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static, settings: &str) -> Self {
        let (context, model) = (TestContext::new(), ScriptedModel::answering(answer));
        let base_url = model.base_url();
        context.write_home(
            "config/dispatch.toml",
            format!(
                "[model]\nbase_url = \"{base_url}\"\nmodel = \"scripted\"\n\n[policy]\nconfirm = \"none\"\n\n{settings}"
            ),
        );
        Self { context, model }
    }

    /// Writes a hook that the user approved.
    pub(crate) fn hook(&self, name: &str, source: &str) {
        let file = format!(".dispatch/hooks/{name}.ts");
        self.context.write(&file, source);
        let trusted = self.context.dispatch(&["trust", &file]);
        assert_eq!(trusted.status, 0, "{trusted:?}");
    }

    /// Writes a persona that the user approved.
    pub(crate) fn persona(&self, name: &str, text: &str) {
        let file = format!(".dispatch/personas/{name}.md");
        self.context.write(&file, text);
        let trusted = self.context.dispatch(&["trust", &file]);
        assert_eq!(trusted.status, 0, "{trusted:?}");
    }

    /// Posts an event and waits for all that follows from it.
    pub(crate) fn post(&self, text: &str, arguments: &[&str]) -> Value {
        let output = self.try_post(text, &[&["--wait"], arguments].concat());
        assert_eq!(output.status, 0, "{output:?}");
        output.json()
    }

    /// Posts an event.
    pub(crate) fn try_post(&self, text: &str, arguments: &[&str]) -> Output {
        self.context.dispatch(&[&["event", "post", text, "--json"], arguments].concat())
    }

    /// The receipt of an event.
    pub(crate) fn show(&self, event: &str) -> Value {
        self.context.dispatch(&["event", "show", event, "--json"]).json()
    }

    /// Waits until a receipt is as it should be.
    pub(crate) fn wait_for(&self, event: &str, is_reached: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let receipt = self.show(event);
            if is_reached(&receipt) {
                return receipt;
            }
            assert!(Instant::now() < until, "it never came to that: {receipt:#}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(crate) fn serve(&self) -> Served {
        Served::start(&self.context, &[], &[])
    }

    /// The requests for a reply, as JSON.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.model.requests().iter().filter(|request| request.method == "POST").map(Recorded::json).collect()
    }
}

/// What hooks decided, by hook.
pub(crate) fn outcomes(receipt: &Value) -> Vec<(String, String)> {
    let hooks = receipt["hooks"].as_array().unwrap().iter();
    let mut found: Vec<_> = hooks.map(|hook| (text(&hook["hook"]), text(&hook["outcome"]))).collect();
    found.sort();
    found
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The states of a list of the receipt.
pub(crate) fn states(receipt: &Value, list: &str) -> Vec<String> {
    receipt[list].as_array().unwrap().iter().map(|line| text(&line["state"])).collect()
}

/// Whether every dispatch of an event is over and every reply of it has left.
pub(crate) fn is_settled(receipt: &Value) -> bool {
    let dispatches = states(receipt, "dispatches");
    !dispatches.is_empty()
        && dispatches.iter().all(|state| matches!(state.as_str(), "done" | "merged"))
        && states(receipt, "sends").iter().all(|state| state == "sent")
}
