//! Dispatch on a PostgreSQL server: what it keeps there, what happens when the server is away, and several processes
//! that work on one database.

use crate::run_workspace::wait_until;
use crate::seeded_random::SeededRandom;
use dispatch_support::{PostgresServer, Served, TestContext};
use serde_json::json;
use std::time::{Duration, Instant};

const REHEARSAL: &str = "model.provider=rehearsal";

fn url_setting(url: &str) -> String {
    format!("storage.url={url}")
}

fn serve(context: &TestContext, url: &str) -> Served {
    Served::start(context, &["--set", REHEARSAL, "--set", &url_setting(url)], &[])
}

#[test]
fn a_server_that_goes_away_costs_no_acknowledged_message() {
    let mut server = PostgresServer::start();
    let context = TestContext::new();
    let url = server.url().replace("dispatch@", "dispatch:hunter2@");
    let served = serve(&context, &url);
    assert_eq!(served.client.say("main", "hello")["state"], "done");
    let told = context.dispatch(&["--set", &url_setting(&url), "doctor"]);
    assert!(told.stdout.contains("PostgreSQL 1") && !told.stdout.contains("hunter2"), "{told:?}");

    server.crash();
    let message = json!({"text": "are you there?", "id": "m1"});
    let refused = served.client.post("/v1/sessions/main/messages", &message);
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.headers.iter().any(|(name, _)| name == "retry-after"), "{refused:?}");
    server.resume();
    let offer = || served.client.post("/v1/sessions/main/messages", &message);
    wait_until("the server takes messages again", || offer().status == 202);
    let again = offer();
    assert_eq!(served.client.ended(again.json()["dispatch"].as_str().unwrap())["state"], "done");
    let listed = context.dispatch(&["--set", &url_setting(&url), "session", "search", "there", "--json"]).json();
    assert_eq!(listed["hits"].as_array().map(Vec::len), Some(1), "{listed}");
    let log = std::fs::read_to_string(context.home().join("serve.log")).unwrap();
    assert!(!log.contains("hunter2"), "{log}");
    assert!(!context.home().join("dispatch.db").exists(), "nothing is kept beside the server");
}

#[test]
fn a_database_that_is_not_ours_is_refused_and_left_alone() {
    let server = PostgresServer::start();
    let context = TestContext::new();
    let list = |url: &str| {
        let output = context.dispatch(&["--set", &url_setting(url), "session", "list"]);
        assert_ne!(output.status, 0, "{output:?}");
        assert!(!output.stderr.contains("hunter2"), "{output:?}");
        output.stderr
    };
    server.psql("CREATE TABLE accounts (id INTEGER)");
    let tables =
        "SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    let before = server.psql(tables);
    let said = list(&server.url());
    assert!(said.contains("belongs to another program"), "{said}");
    assert_eq!(server.psql(tables), before);
    server.psql("DROP TABLE accounts");

    let fresh = context.dispatch(&["--set", &url_setting(&server.url()), "session", "list"]);
    assert_eq!(fresh.status, 0, "{fresh:?}");
    server.psql("UPDATE dispatch_layout SET version = 99");
    assert!(list(&server.url()).contains("use the newer version"));
    server.psql("UPDATE dispatch_layout SET version = 1");

    let protected = format!("{}?sslmode=require", server.url());
    let said = list(&protected);
    assert!(said.to_lowercase().contains("tls"), "{said}");
    server.require_password("right");
    let wrong = server.url().replace("dispatch@", "dispatch:hunter2@");
    wait_until("the rule is in force", || {
        context.dispatch(&["--set", &url_setting(&wrong), "session", "list"]).status != 0
    });
    let said = list(&wrong);
    assert!(said.contains("check user and password") && !said.contains("hunter2"), "{said}");
    let nobody = list("postgres://me:hunter2@127.0.0.1:1/none");
    assert!(nobody.contains("cannot be reached"), "{nobody}");
    let off = r#"extensions.disabled=["storage-postgres"]"#;
    let output = context.dispatch(&["--set", off, "--set", &url_setting(&server.url()), "session", "list"]);
    assert!(output.stderr.contains("`storage-postgres` is not active"), "{output:?}");
}

/// Several processes on one database, in one folder.
struct Nodes<'a> {
    contexts: Vec<TestContext>,
    served: Vec<Option<Served>>,
    url: &'a str,
}

impl<'a> Nodes<'a> {
    fn start(count: usize, url: &'a str) -> Self {
        let contexts: Vec<TestContext> = (0..count).map(|_| TestContext::new()).collect();
        let mut nodes = Self { served: contexts.iter().map(|_| None).collect(), contexts, url };
        (0..count).for_each(|at| nodes.restart(at));
        nodes
    }

    fn restart(&mut self, at: usize) {
        if let Some(mut served) = self.served[at].take() {
            served.kill();
        }
        let context = &self.contexts[at];
        let mut command = context.command("dispatch");
        let setting = url_setting(self.url);
        command.current_dir(self.contexts[0].project());
        command.args(["serve", "--listen", "127.0.0.1:0", "--set", REHEARSAL, "--set", &setting]);
        let log = std::fs::File::options().create(true).append(true).open(context.home().join("serve.log")).unwrap();
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped()).stderr(log);
        // The database may be away at this moment; the next message starts it again.
        self.served[at] = Served::over(command.spawn().unwrap(), &context.home()).ok();
    }

    /// Gives a message to one node after the other until one has it.
    fn deliver(&mut self, random: &mut SeededRandom, session: &str, id: &str) {
        let deadline = Instant::now() + Duration::from_secs(180);
        loop {
            assert!(Instant::now() < deadline, "nobody takes {id}");
            let at = usize::try_from(random.below(self.served.len() as u64)).unwrap();
            let Some(served) = &self.served[at] else {
                self.restart(at);
                continue;
            };
            let path = format!("/v1/sessions/{session}/messages");
            if served
                .client
                .try_post(&path, &json!({"text": format!("message {id}"), "id": id}))
                .is_ok_and(|it| it.status == 202)
            {
                return;
            }
        }
    }
}

#[test]
fn three_nodes_lose_nothing_and_answer_nothing_twice() {
    let (sessions, messages, kills_every) = if dispatch_support::slow_lane() { (40, 5_000, 250) } else { (6, 60, 12) };
    let mut server = PostgresServer::start();
    let url = server.url();
    let mut random = SeededRandom(7);
    let mut nodes = Nodes::start(3, &url);
    for number in 0..messages {
        nodes.deliver(&mut random, &format!("s{}", number % sessions), &format!("m{number}"));
        if number % kills_every == kills_every - 1 {
            let at = usize::try_from(random.below(3)).unwrap();
            nodes.restart(at);
        }
        if number == messages / 3 || number == 2 * messages / 3 {
            server.crash();
            server.resume();
        }
    }
    (0..3).for_each(|at| {
        if nodes.served[at].is_none() {
            nodes.restart(at);
        }
    });
    let open = "SELECT count(*) FROM dispatches WHERE state IN ('pending', 'running')";
    let deadline = Instant::now() + Duration::from_secs(240);
    while server.psql(open) != "0" {
        let left =
            "SELECT string_agg(state || ' ' || reason, '; ') FROM dispatches WHERE state IN ('pending', 'running')";
        assert!(Instant::now() < deadline, "these do not end: {}", server.psql(left));
        std::thread::sleep(Duration::from_millis(100));
    }
    let count = |sql: &str| server.psql(sql).parse::<u64>().unwrap();
    assert_eq!(count("SELECT count(*) FROM dispatches"), messages, "each message is there once");
    assert_eq!(count("SELECT count(*) FROM dispatches WHERE state <> 'done'"), 0, "and has its end");
    let consumed = "SELECT count(*) FROM dispatches d JOIN turn_inputs i ON i.dispatch_id = d.id";
    assert_eq!(count(consumed), messages, "one turn has consumed each");
    let chains =
        "SELECT count(*) FROM (SELECT session, ord, row_number() OVER (PARTITION BY session ORDER BY ord) - 1 AS place
                  FROM agent_turns WHERE id IN (SELECT turn_id FROM turn_inputs)) t WHERE ord < place";
    assert_eq!(count(chains), 0, "the turns of a session follow each other");
    let twice = "SELECT count(*) FROM (SELECT turn FROM agent_messages WHERE kind = 'turn_ended' GROUP BY turn HAVING count(*) > 1) t";
    assert_eq!(count(twice), 0, "no turn ends twice");
}
