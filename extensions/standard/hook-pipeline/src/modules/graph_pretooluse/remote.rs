//! `RA01` and `RA02`: what is deleted on another machine for good, one row per program and verb.
//!
//! Pure.

mod frameworks;

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
const CONTAINERS: &[&str] = &["docker", "podman", "nerdctl"];
const REDIS: &[&str] = &["redis-cli", "valkey-cli", "keydb-cli"];

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
    with(asks(CONTAINERS, &["volume prune"]), &["-a", "-af", "-fa", "--all"]),
    with(asks(CONTAINERS, &["system prune"]), &["--volumes"]),
    asks(&["podman"], &["system reset"]),
    gone(&["gem"], &["yank"]),
    asks(&["npm"], &["deprecate", "owner rm", "access revoke"]),
    gone(REDIS, &["flushall", "flushdb"]),
    with(gone(REDIS, &["shutdown"]), &["-h", "-u"]),
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
    asks(&["sst"], &["remove"]),
    asks(&["amplify"], &["delete"]),
    gone(&["oc"], &["delete project"]),
    gone(&["helmfile"], &["destroy", "delete"]),
    asks(&["flux", "istioctl"], &["uninstall"]),
    asks(&["vultr-cli"], &["instance delete", "database delete", "kubernetes delete", "bare-metal delete"]),
    asks(
        &["scw"],
        &["instance server delete", "instance server terminate", "k8s cluster delete", "rdb instance delete"],
    ),
    asks(&["neonctl", "neon"], &["projects delete", "databases delete"]),
    asks(&["pscale", "planetscale", "turso"], &["database delete", "database destroy", "db destroy"]),
    asks(&["render", "dokku", "koyeb"], &["apps:destroy", "services delete", "app delete"]),
    asks(&["influx"], &["bucket delete", "org delete", "delete"]),
    asks(&["rabbitmqadmin"], &["delete queue", "delete exchange", "delete vhost", "purge queue"]),
    asks(&["nats"], &["stream rm", "stream purge", "stream delete"]),
    with(asks(&["virsh"], &["undefine"]), &["--remove-all-storage", "--storage"]),
    asks(&["virsh"], &["vol-delete", "vol-wipe", "pool-delete"]),
    with(asks(&["multipass"], &["delete"]), &["--all", "--purge", "-p"]),
    asks(&["multipass"], &["purge"]),
    gone(&["gcloud"], &["kms keys versions destroy"]),
    asks(&["gcloud"], &["services disable"]),
    asks(&["az"], &["keyvault purge"]),
    asks(&["gh"], &["ssh-key delete", "gpg-key delete", "variable delete"]),
    asks(&["docker"], &["stack rm"]),
    with(asks(&["docker"], &["swarm leave"]), &["--force", "-f"]),
    with(gone(&["hdfs", "hadoop"], &["dfs", "fs"]), &["-rmr", "-skipTrash"]),
    with(gone(&["databricks"], &["fs rm"]), &["-r", "--recursive"]),
    asks(&["airflow"], &["db reset"]),
    gone(&["p4"], &["obliterate"]),
    gone(&["cf"], &["delete-space", "delete-org", "delete-service"]),
    with(asks(&["cf"], &["delete"]), &["-f"]),
    with(asks(&["oci"], &["* * delete"]), &["--force"]),
    asks(&["ibmcloud"], &["resource group-delete", "resource service-instance-delete"]),
    asks(&["heroku"], &["addons:destroy", "pg:killall"]),
    with(asks(&["vercel"], &["env rm", "domains rm"]), &["-y", "--yes"]),
    gone(&["pg_dropcluster", "pg_resetwal"], &["*"]),
    asks(&["borg"], &["delete"]),
    asks(&["atlas"], &["clusters delete", "projects delete"]),
    asks(&["liquibase"], &["drop-all", "dropall"]),
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
    /// Whether the text says that it is about production.
    production: Option<bool>,
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
        || removes_all_volumes(&shell.effects.commands, index, &words)
        || judges_inside(command)
        || deletes_every_key(&shell.effects.commands, index, &words)
    {
        findings.push(&RA01, &command.program);
    }
    if command.program == "dropdb" && (is_made_here(shell, index, &words) || names_scratch(command, &words)) {
        return;
    }
    let mut production = || *known.production.get_or_insert_with(|| frameworks::names_production(shell.text));
    if frameworks::empties_database(command) && (frameworks::is_forced(command) || production()) {
        findings.push(&RA01, &command.program);
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

/// Scripts for database servers.
fn drops_data(program: &str, words: &[&str]) -> bool {
    let says = |texts: &[&str]| {
        let has = |word: &&str| texts.iter().any(|text| word.to_ascii_lowercase().contains(text));
        words.iter().any(has)
    };
    match program {
        "mongosh" | "mongo" => says(&["dropdatabase(", ".drop()", "deletemany({})", ".remove({})"]),
        "redis-cli" | "valkey-cli" | "keydb-cli" => says(&["call(\"flush", "call('flush"]),
        _ => false,
    }
}

/// `kubectl exec db-0 -- dropdb prod`, `docker exec redis redis-cli FLUSHALL`: data is data on another machine too.
fn judges_inside(command: &SimpleCommand) -> bool {
    const CARRIERS: &[&str] = &["docker", "docker-compose", "podman", "nerdctl", "kubectl", "oc", "ssh"];
    const CLIENTS: &[&str] =
        &["dropdb", "redis-cli", "valkey-cli", "keydb-cli", "mongosh", "mongo", "mysqladmin", "etcdctl"];
    if !CARRIERS.contains(&command.program.as_str()) {
        return false;
    }
    // What runs there may be one word or many.
    let texts = command.argv.iter().skip(1).flat_map(|word| word.split_whitespace());
    let inner: Vec<&str> = texts.skip_while(|word| !CLIENTS.contains(word)).collect();
    let Some((program, words)) = inner.split_first() else {
        return false;
    };
    let scratch = *program == "dropdb" && operands(words).last().is_some_and(|name| is_scratch_name(name));
    let acts = ACTIONS.iter().any(|row| row.rule == &RA01 && row.programs.contains(program) && row.applies(words));
    (acts && !scratch) || drops_data(program, words)
}

/// Addresses at which what is deleted is a project, a zone or a machine.
const PROVIDERS: &[&str] = &[
    "api.cloudflare.com/",
    "api.digitalocean.com/",
    "gitlab.com/api/",
    "api.heroku.com/",
    "management.azure.com/",
    ".googleapis.com/",
    "api.vercel.com/",
    "api.netlify.com/",
    "api.linode.com/",
    "api.hetzner.cloud/",
    "api.machines.dev/",
    "api.render.com/",
    "api.bitbucket.org/",
    "api.github.com/orgs/",
    "api.stripe.com/",
    "registry.npmjs.org/",
    "hub.docker.com/",
    "api.supabase.com/",
    "api.railway.app/",
];

/// `curl -X DELETE .../_all`, `gh api -X DELETE repos/x/y`.
fn deletes_everything(program: &str, words: &[&str]) -> bool {
    let deletes = words.contains(&"-XDELETE")
        || (matches!(program, "http" | "https" | "xh" | "xhs") && words.contains(&"DELETE"))
        || words.windows(2).any(|pair| matches!(pair, ["-X" | "--request" | "--method", "DELETE"]));
    let whole = |word: &&str| match program {
        "gh" => word.trim_start_matches('/').starts_with("repos/") && word.trim_matches('/').split('/').count() == 3,
        _ => {
            let repository =
                word.split_once("api.github.com/repos/").map(|(_, rest)| rest.trim_matches('/').split('/'));
            let whole = repository.is_some_and(|parts| parts.count() == 2);
            let part = word.split('?').next().unwrap_or(word).rsplit('/').next().unwrap_or(word);
            let provider = PROVIDERS.iter().any(|address| word.contains(address));
            whole || provider || part == "_all" || part.ends_with('*')
        }
    };
    let by_query = || {
        words.iter().any(|word| word.contains("_delete_by_query"))
            && words.iter().any(|word| word.contains("match_all"))
    };
    matches!(program, "gh" | "curl" | "http" | "https" | "xh" | "xhs")
        && ((deletes && words.iter().any(whole)) || by_query())
}

/// `kubectl get ns -o name | xargs kubectl delete`, `docker volume rm $(docker volume ls -q)`: nobody has read the list.
fn deletes_what_is_listed(command: &SimpleCommand, words: &[&str]) -> bool {
    let volumes = |word: &&str| word.contains("volume ls") && !word.contains("dangling") && !word.contains("grep");
    let by_xargs = command.wrapped_by.iter().any(|by| by == "xargs") && !command.exact && operands(words).len() <= 2;
    if CONTAINERS.contains(&command.program.as_str()) && words.starts_with(&["volume", "rm"]) {
        return words.iter().any(volumes);
    }
    KUBERNETES.contains(&command.program.as_str()) && words.first() == Some(&"delete") && by_xargs
}

/// `redis-cli --scan | xargs redis-cli del`: all keys, where no pattern picks some.
fn deletes_every_key(commands: &[SimpleCommand], index: usize, words: &[&str]) -> bool {
    let is_client = |command: &SimpleCommand| REDIS.contains(&command.program.as_str());
    let Some(command) = commands.get(index).filter(|command| is_client(command)) else {
        return false;
    };
    let deletes =
        operands(words).iter().any(|word| word.eq_ignore_ascii_case("del") || word.eq_ignore_ascii_case("unlink"));
    let lists_all = |source: &SimpleCommand| {
        let has = |wanted: &str| source.argv.iter().any(|word| word.eq_ignore_ascii_case(wanted));
        let scans = has("--scan") && !source.argv.iter().any(|word| word.starts_with("--pattern"));
        is_client(source) && (scans || (has("keys") && has("*")))
    };
    let picks =
        |source: &SimpleCommand| source.program.ends_with("grep") || matches!(source.program.as_str(), "awk" | "head");
    deletes
        && !command.exact
        && !flow::feeding(commands, index).any(picks)
        && flow::feeding(commands, index).any(lists_all)
}

/// `docker volume ls -q | xargs docker volume rm`, where nothing picks some of them.
fn removes_all_volumes(commands: &[SimpleCommand], index: usize, words: &[&str]) -> bool {
    let is_container = |command: &SimpleCommand| CONTAINERS.contains(&command.program.as_str());
    let removes = words.starts_with(&["volume", "rm"])
        && commands.get(index).is_some_and(|command| is_container(command) && !command.exact);
    let lists = |command: &SimpleCommand| {
        let words = command.argv.get(1..).unwrap_or_default();
        is_container(command)
            && words.iter().any(|word| word == "ls")
            && !words.iter().any(|word| word.contains('f') && word.starts_with('-'))
    };
    let picks = |command: &SimpleCommand| command.program.ends_with("grep") || command.program == "awk";
    removes && !commands.get(..index).unwrap_or_default().iter().any(picks) && flow::feeding(commands, index).any(lists)
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
