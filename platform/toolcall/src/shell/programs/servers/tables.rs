//! One row per way in which a program goes on until it is stopped.
//!
//! Pure.

/// A program that goes on if its first operands are one of `verbs` and one of `options` is given
/// (none listed: always), unless one of `unless` is.
pub(in crate::shell) struct EndlessProgram {
    pub(super) names: &'static [&'static str],
    pub(super) verbs: &'static [&'static str],
    pub(super) options: &'static [&'static str],
    pub(super) unless: &'static [&'static str],
    /// Options that take the next word.
    pub(super) values: &'static [&'static str],
}

type Words = &'static [&'static str];

const fn always(names: Words, unless: Words) -> EndlessProgram {
    EndlessProgram { names, verbs: &[], options: &[], unless, values: &[] }
}

const fn verbs(names: Words, verbs: Words, unless: Words) -> EndlessProgram {
    EndlessProgram { names, verbs, options: &[], unless, values: &[] }
}

const fn options(names: Words, options: Words, unless: Words) -> EndlessProgram {
    EndlessProgram { names, verbs: &[], options, unless, values: &[] }
}

const fn both(names: Words, verbs: Words, options: Words, values: Words) -> EndlessProgram {
    EndlessProgram { names, verbs, options, unless: &[], values }
}

const CONTAINERS: Words = &["docker", "podman", "nerdctl"];
const COMPOSE: Words = &["docker-compose", "podman-compose"];
const COMPOSE_VALUES: Words = &["-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--context", "-H"];
const KUBERNETES_VALUES: Words = &["-n", "--namespace", "--context", "--kubeconfig", "--cluster", "-l", "-c", "-o"];
const DETACHED: Words = &["-d", "--detach", "--wait", "--no-start", "--exit-code-from"];

pub(super) const ENDLESS: &[EndlessProgram] = &[
    // Looking at a file or the machine for ever.
    options(&["tail", "gtail"], &["-f", "-F", "--follow"], &["--pid"]),
    options(&["journalctl", "dmesg"], &["-f", "--follow", "-w", "-W"], &["-n0"]),
    always(&["htop", "btop", "nethogs", "nvtop", "glances", "k9s"], &["-n", "-c"]),
    always(&["lazydocker"], &["--config"]),
    always(&["top"], &["-b", "-n", "-l"]),
    always(&["iotop", "iftop"], &["-n", "-s", "-b"]),
    always(&["tcpdump"], &["-c", "-r", "-D", "-G"]),
    options(&["inotifywait"], &["-m", "--monitor"], &["-t", "--timeout"]),
    always(&["fswatch"], &["-1", "--one-event"]),
    always(&["dbus-monitor", "xev", "mosquitto_sub"], &["-C", "-W"]),
    verbs(&["udevadm"], &["monitor"], &[]),
    verbs(&["log"], &["stream"], &["--timeout"]),
    verbs(&["adb"], &["logcat"], &["-d", "-t", "-c"]),
    verbs(&["redis-cli", "valkey-cli"], &["monitor", "subscribe", "psubscribe", "MONITOR", "SUBSCRIBE"], &[]),
    always(&["kafka-console-consumer", "kafka-console-consumer.sh"], &["--max-messages", "--timeout-ms"]),
    verbs(&["nats"], &["sub", "subscribe"], &["--count"]),
    // Containers and clusters.
    both(CONTAINERS, &["logs", "service logs", "compose logs"], &["-f", "--follow"], COMPOSE_VALUES),
    both(CONTAINERS, &["container logs"], &["-f", "--follow"], &[]),
    both(COMPOSE, &["logs"], &["-f", "--follow"], COMPOSE_VALUES),
    EndlessProgram { values: COMPOSE_VALUES, ..verbs(CONTAINERS, &["compose up", "compose watch"], DETACHED) },
    EndlessProgram { values: COMPOSE_VALUES, ..verbs(COMPOSE, &["up", "watch"], DETACHED) },
    verbs(CONTAINERS, &["stats", "container stats"], &["--no-stream"]),
    verbs(CONTAINERS, &["events", "system events"], &["--until"]),
    verbs(CONTAINERS, &["attach"], &[]),
    both(&["kubectl", "oc", "k"], &["logs"], &["-f", "--follow"], KUBERNETES_VALUES),
    EndlessProgram {
        unless: &["--request-timeout"],
        ..both(&["kubectl", "oc", "k"], &["get"], &["-w", "--watch", "--watch-only"], KUBERNETES_VALUES)
    },
    EndlessProgram {
        values: KUBERNETES_VALUES,
        ..verbs(&["kubectl", "oc", "k"], &["port-forward", "proxy", "attach"], &["--request-timeout"])
    },
    always(&["stern", "kubetail"], &["--no-follow"]),
    verbs(&["minikube"], &["tunnel", "dashboard", "mount"], &[]),
    verbs(&["skaffold"], &["dev", "debug"], &[]),
    verbs(&["tilt"], &["up"], &[]),
    verbs(&["ngrok"], &["http", "tcp", "tls", "start"], &[]),
    verbs(&["cloudflared"], &["tunnel run"], &[]),
    options(&["heroku"], &["-t", "--tail"], &[]),
    verbs(&["fly", "flyctl"], &["logs"], &["-n", "--no-tail"]),
    both(&["aws"], &["logs tail"], &["--follow"], &[]),
    both(&["vercel"], &["logs"], &["-f", "--follow"], &[]),
    verbs(&["vercel", "netlify", "wrangler", "partykit", "amplify", "encore"], &["dev"], &[]),
    verbs(&["wrangler"], &["tail"], &[]),
    verbs(&["firebase"], &["serve", "emulators:start"], &[]),
    verbs(&["pm2"], &["logs", "monit", "log"], &["--nostream"]),
    // Servers and watchers of JavaScript projects.
    verbs(&["vite"], &["dev", "serve", "preview"], &[]),
    EndlessProgram { unless: &["build", "optimize", "preview"], ..always(&["vite"], &[]) },
    verbs(&["next"], &["dev", "start"], &[]),
    verbs(&["nuxt", "nuxi", "astro", "remix", "solid-start", "vinxi", "svelte-kit"], &["dev", "preview", "start"], &[]),
    verbs(&["ng"], &["serve", "s"], &[]),
    options(&["ng"], &["--watch"], &["--watch=false"]),
    verbs(&["vue-cli-service", "webpack", "poi", "umi", "parcel", "elm-app"], &["serve", "watch", "server"], &[]),
    verbs(&["react-scripts", "craco", "expo", "react-native", "elm-app", "rw"], &["start", "dev"], &[]),
    verbs(&["gatsby"], &["develop", "serve"], &[]),
    verbs(&["storybook", "ladle", "histoire"], &["dev", "serve"], &["--smoke-test", "--ci"]),
    always(&["start-storybook"], &["--smoke-test"]),
    always(
        &[
            "webpack-dev-server",
            "nodemon",
            "ts-node-dev",
            "tsnd",
            "live-server",
            "http-server",
            "json-server",
            "serve",
            "browser-sync",
            "verdaccio",
            "light-server",
            "onchange",
            "chokidar",
        ],
        &[],
    ),
    options(
        &[
            "tsc",
            "rollup",
            "webpack",
            "jest",
            "mocha",
            "ava",
            "tsup",
            "babel",
            "swc",
            "sass",
            "tailwindcss",
            "postcss",
            "unocss",
            "esbuild",
            "vitest",
            "graphql-codegen",
            "tap",
            "c8",
            "parcel",
            "ncc",
            "unbuild",
            "stylus",
            "svelte-check",
            "lessc",
            "markdownlint",
            "eslint",
        ],
        &["--watch", "-w", "--watchAll", "--watch-all", "--serve"],
        &["--watch=false", "--once"],
    ),
    verbs(&["vitest"], &["watch", "dev"], &["--run"]),
    options(&["node", "bun", "deno"], &["--watch", "--hot", "--watch-path"], &[]),
    verbs(&["tsx"], &["watch"], &[]),
    verbs(&["karma"], &["start"], &["--single-run"]),
    verbs(&["cypress"], &["open"], &[]),
    verbs(&["playwright"], &["show-report", "codegen", "open"], &[]),
    options(&["playwright"], &["--ui"], &[]),
    verbs(&["prisma", "drizzle-kit"], &["studio"], &[]),
    // Servers in other languages.
    both(&["python", "pypy"], &["http.server", "SimpleHTTPServer", "uvicorn", "gunicorn", "hypercorn"], &["-m"], &[]),
    both(
        &["python", "pypy"],
        &["flask run", "streamlit run", "mkdocs serve", "jupyter lab", "jupyter notebook"],
        &["-m"],
        &[],
    ),
    verbs(&["python", "pypy"], &["manage.py runserver", "./manage.py runserver"], &[]),
    verbs(&["manage.py", "django-admin"], &["runserver"], &[]),
    EndlessProgram { values: &["--app", "-A", "-e", "--env-file"], ..verbs(&["flask", "quart"], &["run"], &[]) },
    verbs(&["fastapi"], &["dev", "run"], &[]),
    always(
        &["uvicorn", "hypercorn", "daphne", "waitress-serve", "sphinx-autobuild", "gradio", "ptw", "pytest-watch"],
        &[],
    ),
    always(&["gunicorn"], &["-D", "--daemon", "--check-config"]),
    EndlessProgram {
        values: &["-A", "--app"],
        ..verbs(&["celery"], &["worker", "beat", "flower"], &["-D", "--detach"])
    },
    verbs(&["streamlit"], &["run"], &[]),
    verbs(&["jupyter"], &["notebook", "lab", "server", "console"], &["list", "stop"]),
    always(&["jupyter-lab", "jupyter-notebook"], &["list", "stop"]),
    verbs(&["mkdocs", "zola", "trunk", "dx", "mike", "antora"], &["serve", "watch"], &[]),
    verbs(&["mdbook"], &["serve", "watch"], &[]),
    verbs(&["hugo"], &["server", "serve"], &[]),
    options(&["hugo", "pelican"], &["-w", "--watch", "--listen", "-l"], &[]),
    verbs(&["jekyll"], &["serve", "s", "server"], &["--detach", "-B"]),
    options(&["jekyll"], &["--watch", "-w"], &[]),
    verbs(&["rails"], &["server", "s"], &["-d", "--daemon"]),
    always(&["rackup", "puma", "unicorn", "guard"], &["-D", "--daemonize", "-d"]),
    verbs(&["thin", "foreman", "overmind", "honcho", "hivemind", "goreman"], &["start"], &["-D", "--daemonize"]),
    always(&["hivemind"], &[]),
    options(&["php"], &["-S"], &[]),
    verbs(
        &["php"],
        &["artisan serve", "artisan queue:work", "artisan horizon", "artisan schedule:work", "artisan reverb:start"],
        &["--once", "--stop-when-empty"],
    ),
    verbs(&["symfony"], &["serve", "server:start", "local:server:start"], &["-d", "--daemon"]),
    verbs(&["mix"], &["phx.server"], &[]),
    EndlessProgram {
        unless: &["--list"],
        ..verbs(&["cargo"], &["watch", "leptos watch", "leptos serve", "lambda watch", "shuttle run"], &[])
    },
    always(
        &["bacon", "air", "modd", "watchexec", "reflex", "gow", "watchman-make", "entr"],
        &["-z", "--init", "--completions", "-n"],
    ),
    verbs(&["dotnet"], &["watch"], &["--list"]),
    verbs(&["gradle", "gradlew"], &["bootRun", "quarkusDev", "appRun"], &[]),
    options(&["gradle", "gradlew"], &["-t", "--continuous"], &[]),
    verbs(&["mvn", "mvnw"], &["spring-boot:run", "jetty:run", "quarkus:dev", "tomcat7:run"], &[]),
    verbs(&["lein"], &["ring server", "figwheel"], &[]),
    verbs(&["flutter"], &["run", "logs"], &[]),
    always(&["redis-server", "valkey-server"], &["--daemonize"]),
    always(
        &["mongod", "mysqld", "etcd", "postgres", "minio", "prometheus", "grafana-server"],
        &["--fork", "--daemonize", "-D"],
    ),
    verbs(&["caddy"], &["run", "file-server"], &[]),
];
