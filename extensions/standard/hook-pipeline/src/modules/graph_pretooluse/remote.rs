//! `RA01` and `RA02`: what is deleted on another machine for good, one row per program and verb.
//!
//! Pure.

use dispatch_toolcall::SimpleCommand;

use super::queries::is_scratch_name;
use super::rules::{GuardRule, RA01, RA02, RuleFindings};
use super::{JudgedCommand, flow};

/// A verb of a program that deletes: its operands in order (`*` is any), one of the options if any are listed.
struct RemoteAction {
    programs: &'static [&'static str],
    words: &'static [&'static str],
    options: &'static [&'static str],
    rule: &'static GuardRule,
}

const fn gone(programs: &'static [&'static str], words: &'static [&'static str]) -> RemoteAction {
    RemoteAction { programs, words, options: &[], rule: &RA01 }
}

const fn asks(programs: &'static [&'static str], words: &'static [&'static str]) -> RemoteAction {
    RemoteAction { programs, words, options: &[], rule: &RA02 }
}

const fn with(action: RemoteAction, options: &'static [&'static str]) -> RemoteAction {
    RemoteAction { options, ..action }
}

const TERRAFORM: &[&str] = &["terraform", "tofu", "terragrunt"];
const KUBERNETES: &[&str] = &["kubectl", "oc", "k", "kubecolor"];

static ACTIONS: &[RemoteAction] = &[
    gone(TERRAFORM, &["destroy", "run-all destroy"]),
    with(gone(TERRAFORM, &["apply"]), &["-destroy", "--destroy"]),
    asks(TERRAFORM, &["state rm", "workspace delete"]),
    gone(&["pulumi"], &["destroy", "down", "stack rm"]),
    with(asks(&["gh"], &["repo edit"]), &["--visibility", "--visibility=public"]),
    gone(&["cdk", "cdktf"], &["destroy"]),
    gone(&["sam"], &["delete"]),
    gone(&["serverless", "sls"], &["remove"]),
    gone(&["eksctl"], &["delete cluster"]),
    gone(KUBERNETES, &["delete namespace", "delete ns", "delete namespaces", "delete pv", "delete crd", "delete node"]),
    with(gone(KUBERNETES, &["delete"]), &["--all", "-A", "--all-namespaces"]),
    asks(KUBERNETES, &["delete pvc", "delete deployment", "delete statefulset", "delete secret", "delete service"]),
    asks(&["helm"], &["uninstall", "delete", "del"]),
    gone(&["gh"], &["repo delete"]),
    asks(&["gh"], &["release delete", "secret delete", "secret remove", "workflow disable", "repo archive"]),
    gone(&["glab"], &["repo delete", "project delete"]),
    with(gone(&["aws"], &["s3 rb"]), &["--force"]),
    with(gone(&["aws"], &["s3 rm"]), &["--recursive"]),
    asks(&["aws"], &["s3 rb"]),
    gone(
        &["aws"],
        &[
            "s3api delete-bucket",
            "ec2 terminate-instances",
            "rds delete-db-instance",
            "rds delete-db-cluster",
            "dynamodb delete-table",
            "cloudformation delete-stack",
            "eks delete-cluster",
            "ecr delete-repository",
            "organizations *",
            "kms schedule-key-deletion",
            "route53 delete-hosted-zone",
            "backup delete-*",
        ],
    ),
    asks(&["aws"], &["* delete-*", "* terminate-*", "* purge-*", "* deregister-*"]),
    gone(&["gcloud"], &["projects delete", "sql instances delete", "container clusters delete"]),
    asks(&["gcloud"], &["* delete", "* * delete", "* * * delete"]),
    with(gone(&["gcloud"], &["storage rm"]), &["-r", "--recursive", "-R"]),
    with(gone(&["gsutil"], &["rm"]), &["-r", "-R"]),
    gone(&["gsutil"], &["rb"]),
    gone(&["az"], &["group delete"]),
    asks(&["az"], &["* delete", "* * delete", "* * * delete"]),
    gone(&["heroku"], &["apps:destroy", "pg:reset", "destroy", "apps:delete"]),
    gone(&["fly", "flyctl"], &["apps destroy", "destroy", "volumes destroy", "postgres destroy"]),
    gone(&["vercel"], &["remove", "rm", "project rm", "projects rm"]),
    gone(&["netlify"], &["sites:delete", "delete"]),
    gone(&["wrangler"], &["delete", "d1 delete", "r2 bucket delete", "kv:namespace delete", "kv namespace delete"]),
    gone(&["supabase"], &["projects delete", "branches delete"]),
    with(gone(&["supabase"], &["db reset"]), &["--linked", "--db-url"]),
    gone(&["railway"], &["delete", "down"]),
    gone(&["firebase"], &["firestore:delete", "database:remove", "projects:delete", "hosting:disable"]),
    gone(&["doctl"], &["compute droplet delete", "databases delete", "kubernetes cluster delete", "apps delete"]),
    gone(&["hcloud", "linode-cli", "scw", "vultr-cli"], &["server delete", "linodes delete", "volume delete"]),
    gone(&["npm", "pnpm", "yarn"], &["unpublish", "npm unpublish"]),
    asks(&["cargo"], &["yank"]),
    with(asks(&["docker", "podman"], &["volume prune"]), &["-a", "-af", "-fa", "--all"]),
    with(asks(&["docker", "podman"], &["system prune"]), &["--volumes"]),
    gone(&["gem"], &["yank"]),
    asks(&["npm"], &["deprecate", "owner rm", "access revoke"]),
    gone(&["redis-cli", "valkey-cli", "keydb-cli"], &["flushall", "flushdb", "shutdown"]),
    gone(&["dropdb"], &["*"]),
    gone(&["mysqladmin", "mariadb-admin"], &["drop"]),
    gone(&["rabbitmqctl"], &["reset", "force_reset", "delete_vhost"]),
    with(gone(&["etcdctl"], &["del"]), &["--prefix", "--from-key"]),
    gone(&["rclone"], &["purge"]),
    asks(&["rclone"], &["delete", "deletefile"]),
    with(gone(&["mc"], &["rb"]), &["--force"]),
    with(gone(&["mc"], &["rm"]), &["--recursive", "-r"]),
    with(gone(&["s3cmd"], &["rb", "del"]), &["--recursive", "--force", "-r", "-f"]),
    asks(&["vault"], &["secrets disable", "kv metadata delete", "delete", "auth disable"]),
    with(asks(&["consul"], &["kv delete"]), &["-recurse"]),
    gone(&["argocd"], &["app delete", "cluster rm", "proj delete"]),
    gone(&["nomad"], &["namespace delete"]),
    with(asks(&["nomad"], &["job stop", "stop"]), &["-purge"]),
    gone(&["bq"], &["rm"]),
    with(asks(&["gh"], &["api *"]), &["DELETE", "-XDELETE"]),
    with(gone(&["kafka-topics", "kafka-topics.sh"], &["*"]), &["--delete"]),
];

/// Options of these programs that take the next word, so that it is not taken for a verb.
const VALUES: &[&str] = &[
    "--profile",
    "--region",
    "--project",
    "--context",
    "-n",
    "--namespace",
    "--kubeconfig",
    "-h",
    "-p",
    "-a",
    "--host",
    "--port",
    "-C",
    "--cwd",
    "-s",
    "--stack",
    "--subscription",
    "-R",
    "--repo",
    "-u",
    "-U",
    "--username",
    "--endpoint-url",
    "-chdir",
    "--output",
    "-o",
];

/// Verbs of `aws` that take away one entry by its key, as ordinary programs do.
const ONE_ENTRY: &[&[&str]] =
    &[&["sqs", "delete-message"], &["sqs", "delete-message-batch"], &["dynamodb", "delete-item"]];

/// What is known of a command and of the programs that were met in it: a long one calls the same few again and again.
#[derive(Default)]
pub(super) struct KnownActions<'c> {
    programs: Vec<(&'c str, Vec<&'static RemoteAction>)>,
    /// Whether a here-document may empty a store of Redis; the text is looked through once.
    flushes: Option<bool>,
    /// Whether a variable makes Terraform destroy.
    destroys: Option<bool>,
}

/// Programs that are remembered.
const MAX_PROGRAMS: usize = 32;

impl<'c> KnownActions<'c> {
    fn of(&mut self, program: &'c str) -> Vec<&'static RemoteAction> {
        if let Some((_, rows)) = self.programs.iter().find(|(known, _)| *known == program) {
            return rows.clone();
        }
        let rows: Vec<_> = ACTIONS.iter().filter(|row| row.programs.contains(&program)).collect();
        if self.programs.len() < MAX_PROGRAMS {
            self.programs.push((program, rows.clone()));
        }
        rows
    }

    fn flushes(&mut self, text: &str) -> bool {
        let look = || text.contains("<<") && flow::mentions(&text.to_ascii_lowercase(), FLUSHES);
        *self.flushes.get_or_insert_with(look)
    }

    fn destroys(&mut self, text: &str) -> bool {
        *self.destroys.get_or_insert_with(|| text.contains("TF_CLI_ARGS") && text.contains("-destroy"))
    }
}

/// Judges one program call.
pub(super) fn judge<'c>(
    shell: &JudgedCommand<'_>,
    index: usize,
    command: &'c SimpleCommand,
    known: &mut KnownActions<'c>,
    findings: &mut RuleFindings,
) {
    let words: Vec<&str> = command.argv.iter().skip(1).map(String::as_str).collect();
    if empties_by_text(shell, index, command)
        || (command.program == "gh" && words.iter().any(|word| word.contains("deleteRepository")))
    {
        findings.push(&RA01, &command.program);
    }
    if command.program.ends_with("-cli")
        && (known.flushes(shell.text) || flow::feeding(&shell.effects.commands, index).any(says_flush))
    {
        findings.push(&RA01, &command.program);
    }
    let tries = [
        "--help",
        "--dry-run",
        "--dryrun",
        "-help",
        "--dry-run=client",
        "--dry-run=server",
        "--whatif",
        "--what-if",
        "--undo",
        "--generate-cli-skeleton",
    ];
    if words.iter().any(|word| tries.contains(word)) {
        return;
    }
    if (TERRAFORM.contains(&command.program.as_str()) && known.destroys(shell.text))
        || deletes_everything(&command.program, &words)
        || deletes_what_is_listed(command, &words)
    {
        findings.push(&RA01, &command.program);
    }
    if command.program == "dropdb" && (is_made_here(shell, index, &words) || names_scratch(command, &words)) {
        return;
    }
    if command.program == "aws" && ONE_ENTRY.iter().any(|verb| operands(&words).starts_with(verb)) {
        return;
    }
    if let Some(row) = known.of(&command.program).into_iter().find(|row| row.applies(&words)) {
        findings.push(row.rule, &format!("{} {}", command.program, words.first().copied().unwrap_or_default()));
    }
    if drops_data(&command.program, &words) {
        findings.push(&RA01, &command.program);
    }
}

/// A server that is told through a connection or a document to empty itself.
fn empties_by_text(shell: &JudgedCommand<'_>, index: usize, command: &SimpleCommand) -> bool {
    match command.program.as_str() {
        "nc" | "ncat" | "netcat" | "socat" | "telnet" => flow::feeding(&shell.effects.commands, index).any(says_flush),
        "mongosh" | "mongo" => shell.text.contains('<') && shell.text.to_ascii_lowercase().contains("dropdatabase("),
        "redis-cli" | "valkey-cli" => shell.text.to_ascii_lowercase().contains("call(\"flush"),
        _ => false,
    }
}

/// Scripts for database servers, and tasks that empty a database of production.
fn drops_data(program: &str, words: &[&str]) -> bool {
    let says = |texts: &[&str]| {
        let has = |word: &&str| texts.iter().any(|text| word.to_ascii_lowercase().contains(text));
        words.iter().any(has)
    };
    match program {
        "mongosh" | "mongo" => says(&["dropdatabase(", ".drop()", "deletemany({})", ".remove({})"]),
        "redis-cli" | "valkey-cli" | "keydb-cli" => says(&["call(\"flush", "call('flush"]),
        "rails" | "rake" | "bin/rails" => {
            says(&["db:drop", "db:reset", "db:schema:load"]) && says(&["rails_env=production"])
        }
        _ => false,
    }
}

/// `curl -X DELETE .../_all`, `gh api -X DELETE repos/x/y`.
fn deletes_everything(program: &str, words: &[&str]) -> bool {
    let deletes = words.contains(&"-XDELETE")
        || words.windows(2).any(|pair| matches!(pair, ["-X" | "--request" | "--method", "DELETE"]));
    let whole = |word: &&str| match program {
        "gh" => word.trim_start_matches('/').starts_with("repos/") && word.trim_matches('/').split('/').count() == 3,
        _ => {
            let repository =
                word.split_once("api.github.com/repos/").map(|(_, rest)| rest.trim_matches('/').split('/'));
            let whole = repository.is_some_and(|parts| parts.count() == 2);
            whole || word.trim_end_matches('/').ends_with("/_all") || word.ends_with("/*")
        }
    };
    matches!(program, "gh" | "curl" | "http" | "xh") && deletes && words.iter().any(whole)
}

/// `kubectl get ns -o name | xargs kubectl delete`, `docker volume rm $(docker volume ls -q)`: nobody has read the list.
fn deletes_what_is_listed(command: &SimpleCommand, words: &[&str]) -> bool {
    let volumes = |word: &&str| word.contains("volume ls") && !word.contains("dangling") && !word.contains("grep");
    if matches!(command.program.as_str(), "docker" | "podman") && words.starts_with(&["volume", "rm"]) {
        return words.iter().any(volumes);
    }
    KUBERNETES.contains(&command.program.as_str())
        && words.first() == Some(&"delete")
        && command.wrapped_by.iter().any(|by| by == "xargs")
        && !command.exact
        && operands(words).len() <= 2
}

/// `createdb x && dropdb x`: what the same command made is nobody's data.
fn is_made_here(shell: &JudgedCommand<'_>, index: usize, words: &[&str]) -> bool {
    let names = operands(words);
    let earlier = shell.effects.commands.get(..index).unwrap_or_default();
    let made = |name: &&str| {
        earlier.iter().any(|other| other.program == "createdb" && other.argv.iter().skip(1).any(|word| word == name))
    };
    names.last().is_some_and(made)
}

/// `dropdb app_test`: a database whose name says that it is made again.
fn names_scratch(command: &SimpleCommand, words: &[&str]) -> bool {
    command.exact && operands(words).last().is_some_and(|name| is_scratch_name(name))
}

/// Commands of Redis that empty it.
const FLUSHES: &[&str] = &["flushall", "flushdb"];

/// A command for Redis that is piped to its client.
fn says_flush(feeder: &SimpleCommand) -> bool {
    let says = |word: &String| {
        FLUSHES.contains(&word.trim().to_ascii_lowercase().trim_end_matches("\\n").trim_end_matches("\\r"))
    };
    matches!(feeder.program.as_str(), "echo" | "printf") && feeder.argv.iter().skip(1).any(says)
}

impl RemoteAction {
    fn applies(&self, words: &[&str]) -> bool {
        let operands = operands(words);
        let verb = self.words.iter().any(|verb| {
            let parts: Vec<&str> = verb.split(' ').collect();
            parts.len() <= operands.len() && parts.iter().zip(&operands).all(|(part, word)| matches(part, word))
        });
        let option = self.options.is_empty() || words.iter().any(|word| self.options.contains(word));
        verb && option
    }
}

fn operands<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if VALUES.contains(word) {
            words.next();
        } else if !word.starts_with('-') {
            found.push(*word);
        }
    }
    found
}

/// Whether a word is the one of a row: as it is, in capitals, any, or any with this beginning.
fn matches(part: &str, word: &str) -> bool {
    match part.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning),
        None => part.eq_ignore_ascii_case(word),
    }
}
