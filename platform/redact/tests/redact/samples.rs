//! Made-up secrets of every built-in kind, put together at run time so that no scanner finds them here.

/// A made-up secret in its natural surroundings.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) kind: &'static str,
    /// What a text would hold.
    pub(crate) text: String,
    /// The part of it that must vanish.
    pub(crate) secret: String,
    /// Something of nearly the same form that must stay.
    pub(crate) near_miss: String,
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";

/// Pseudo-random characters; equal seeds give equal characters.
pub(crate) struct SeededRandom(u64);

impl SeededRandom {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next_number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    /// `length` characters of `alphabet`, the first a letter where there is one and the third a digit.
    pub(crate) fn of(&mut self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().filter(|c| c.is_ascii_alphabetic()).collect();
        let all: Vec<char> = alphabet.chars().collect();
        (0..length)
            .map(|place| match place {
                0 if !letters.is_empty() => letters[self.next_number() as usize % letters.len()],
                2 => char::from(b'0' + (self.next_number() % 10) as u8),
                _ => all[self.next_number() as usize % all.len()],
            })
            .collect()
    }

    pub(crate) fn alnum(&mut self, length: usize) -> String {
        self.of(&format!("{LOWER}{UPPER}{DIGITS}"), length)
    }

    pub(crate) fn hex(&mut self, length: usize) -> String {
        self.of(HEX, length)
    }

    pub(crate) fn upper(&mut self, length: usize) -> String {
        self.of(&format!("{UPPER}{DIGITS}"), length)
    }

    fn lower(&mut self, length: usize) -> String {
        self.of(&format!("{LOWER}{DIGITS}"), length)
    }

    fn digits(&mut self, length: usize) -> String {
        self.of(DIGITS, length)
    }

    /// Base64 as it stands in a URL; dashes only inside, as an end of a token would be unclear.
    pub(crate) fn base64_url(&mut self, length: usize) -> String {
        let mut text = self.of(&format!("{LOWER}{UPPER}{DIGITS}-_"), length - 1);
        text.push('k');
        text
    }

    pub(crate) fn base64(&mut self, length: usize) -> String {
        self.of(&format!("{LOWER}{UPPER}{DIGITS}+/"), length)
    }
}

/// At least one sample of every built-in kind.
pub(crate) fn all(seed: u64) -> Vec<Sample> {
    let random = &mut SeededRandom::new(seed);
    [
        generic(random),
        cloud(random),
        git_hosting(random),
        model_providers(random),
        chat(random),
        registries(random),
        services(random),
    ]
    .concat()
}

/// A token that vanishes whole.
fn token(kind: &'static str, text: String, near_miss: String) -> Sample {
    let secret = text.clone();
    Sample { kind, text, secret, near_miss }
}

/// A secret after something that stays.
fn after(kind: &'static str, shown: &str, secret: String, near_miss: String) -> Sample {
    let text = format!("{shown}{secret}");
    Sample { kind, text, secret, near_miss }
}

/// Several tokens whose prefixes differ and whose near miss is a body cut to `short`.
fn prefixed(kind: &'static str, prefixes: &[&str], short: usize, mut body: impl FnMut() -> String) -> Vec<Sample> {
    prefixes
        .iter()
        .map(|prefix| {
            let body = body();
            let cut = body.get(..short).unwrap_or_default();
            token(kind, format!("{prefix}{body}"), format!("{prefix}{cut}"))
        })
        .collect()
}

/// A private key block with the given label.
pub(crate) fn key_block(label: &str, random: &mut SeededRandom, line_end: &str) -> String {
    let lines: Vec<String> = (0..6).map(|_| random.base64(64)).collect();
    let body = lines.join(line_end);
    format!("-----BEGIN {label}-----{line_end}{body}{line_end}-----END {label}-----")
}

fn generic(random: &mut SeededRandom) -> Vec<Sample> {
    let mut samples = Vec::new();
    for label in [
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        let miss = key_block("CERTIFICATE", random, "\n");
        samples.push(token("private-key", key_block(label, random, "\n"), miss));
    }
    let opening = ["ey", "J"].concat();
    let (header, payload, signature) = (random.base64_url(30), random.base64_url(60), random.base64_url(43));
    samples.push(token(
        "jwt",
        format!("{opening}{header}.{opening}{payload}.{signature}"),
        format!("{opening}{header}.{payload}"),
    ));
    samples.push(token(
        "age-secret-key",
        format!("AGE-SECRET-KEY-{}{}", 1, random.upper(58)),
        "AGE-SECRET-KEY-1SHORT".into(),
    ));
    samples.push(token(
        "age-plugin-key",
        format!("AGE-PLUGIN-{}{}", "YUBIKEY-1", random.upper(58)),
        "AGE-PLUGIN-YUBIKEY-1".into(),
    ));
    for scheme in ["postgres", "mongodb+srv", "redis", "amqp", "mysql", "https"] {
        let secret = random.alnum(14);
        samples.push(Sample {
            kind: "url-password",
            text: format!("{scheme}://app:{secret}@db.internal:5432/orders?ssl=1"),
            secret,
            near_miss: format!("{scheme}://app@db.internal:5432/a:b@c"),
        });
    }
    samples.push(after(
        "authorization-header",
        "Authorization: Bearer ",
        random.base64_url(24),
        "Authorization: Bearer ${ACCESS}".into(),
    ));
    samples.push(after(
        "authorization-header",
        "authorization: Basic ",
        format!("{}=", "dXNlcjpodW50ZXJodW50ZXI"),
        "authorization: Basic <credentials>".into(),
    ));
    samples.push(after(
        "bearer-token",
        "use bearer ",
        random.base64_url(30),
        "use bearer authentication-with-oauth2".into(),
    ));
    samples.push(after(
        "session-cookie",
        "Cookie: theme=dark; sessionid=",
        random.alnum(32),
        "Cookie: theme=dark1234567890; lang=en-GB".into(),
    ));
    samples.push(after(
        "session-cookie",
        "Set-Cookie: connect.sid=",
        random.alnum(32),
        "Set-Cookie: sid=; Max-Age=0000000000".into(),
    ));
    for (shown, near_miss) in [
        ("curl -u admin:", "curl -u admin:$PASSWORD https://example.org/a:b"),
        ("curl -sSLu admin:", "curl -sSL https://example.org:8080/x"),
        ("curl https://example.org --user bob:", "curl --user bob: --url https://example.org"),
        ("sshpass -p ", "sshpass -p is not safe to use"),
        ("sshpass -p", "sshpass -f file ssh me@host"),
        ("mysql -u root -p", "mysql -u root -p orders"),
        ("mysqldump --single-transaction -p", "mysqldump -p -P 3306"),
        ("docker login -u me -p ", "docker run -p 8080:80 image1"),
        ("redis-cli -h db1 -a ", "redis-cli -h db1 -a word"),
        ("unzip -P ", "unzip -p archive1.zip file"),
    ] {
        samples.push(after("command-password", shown, random.alnum(12), near_miss.into()));
    }
    samples.push(after("assigned-secret", "DB_PASSWORD=", random.alnum(14), "DB_PASSWORD=${DB_PASSWORD_14}".into()));
    samples
}

fn cloud(random: &mut SeededRandom) -> Vec<Sample> {
    let mut samples = prefixed("aws-access-key-id", &["AKIA", "ASIA"], 15, || random.upper(16));
    samples.push(token(
        "aws-bedrock-key",
        format!("ABSK{}{}", "QmVkcm9ja0FQSUtleS", random.base64(60)),
        "ABSKQmVkcm9ja0FQSUtleSshort".into(),
    ));
    samples.extend(prefixed("google-api-key", &["AIza"], 34, || random.base64_url(35)));
    samples.extend(prefixed("google-oauth-secret", &["GOCSPX-"], 12, || random.base64_url(28)));
    samples.extend(prefixed("google-access-token", &["ya29."], 12, || random.base64_url(60)));
    samples.extend(prefixed("google-refresh-token", &["1//0"], 20, || random.base64_url(60)));
    for name in ["AccountKey=", "SharedAccessKey="] {
        let secret = format!("{}==", random.base64(86));
        samples.push(after("azure-account-key", &format!("Endpoint=sb://x/;{name}"), secret, format!("{name}<key>")));
    }
    let secret = format!("{}%3D", random.alnum(43));
    samples.push(after(
        "azure-sas-signature",
        "https://x.blob.core.windows.net/c?sv=2024-01-01&sig=",
        secret,
        "https://x.net/c?sig=short&x=1".into(),
    ));
    let (head, tail) = (random.alnum(3), random.alnum(34));
    samples.push(token("azure-client-secret", format!("{head}{}Q~{tail}", 8), format!("{head}8Q~{}", &tail[..20])));
    samples.extend(prefixed("alibaba-access-key-id", &["LTAI"], 8, || random.alnum(20)));
    samples.extend(prefixed("tencent-secret-id", &["AKID"], 20, || random.alnum(32)));
    samples.extend(prefixed("digitalocean-token", &["dop_v1_", "doo_v1_"], 30, || random.hex(64)));
    samples.extend(prefixed("heroku-key", &["HRKU-"], 20, || random.base64_url(60)));
    samples.extend(prefixed("fly-token", &["fm2_"], 30, || random.base64(80)));
    samples.extend(prefixed("render-key", &["rnd_"], 12, || random.alnum(28)));
    samples.extend(prefixed("netlify-token", &["nfp_"], 20, || random.alnum(36)));
    samples.extend(prefixed("supabase-key", &["sbp_"], 20, || random.hex(40)));
    samples.extend(prefixed("supabase-secret", &["sb_secret_"], 10, || random.base64_url(31)));
    samples.extend(prefixed("planetscale-secret", &["pscale_tkn_", "pscale_pw_"], 16, || random.base64_url(43)));
    samples.extend(prefixed("terraform-token", &[".atlasv1."], 30, || random.base64_url(67)));
    samples.extend(prefixed("pulumi-token", &["pul-"], 20, || random.hex(40)));
    samples.extend(prefixed("doppler-token", &["dp.pt.", "dp.st."], 20, || random.alnum(43)));
    samples.extend(prefixed("vault-token", &["hvs.", "hvb."], 12, || random.base64_url(90)));
    samples.extend(prefixed("databricks-token", &["dapi"], 20, || random.hex(32)));
    samples.extend(prefixed("tailscale-key", &["tskey-auth-"], 6, || random.alnum(40)));
    samples.extend(prefixed("openshift-token", &["sha256~"], 30, || random.base64_url(43)));
    samples.extend(prefixed("scaleway-key", &["SCW"], 12, || random.upper(17)));
    samples.extend(prefixed("yandex-key", &["AQVN"], 20, || random.base64_url(38)));
    samples.extend(prefixed("onepassword-token", &["ops_eyJ"], 30, || random.base64(120)));
    let (public, private) = (random.upper(24), random.upper(64));
    samples.push(token("dynatrace-token", format!("dt0c01.{public}.{private}"), format!("dt0c01.{public}.short")));
    samples
}

fn git_hosting(random: &mut SeededRandom) -> Vec<Sample> {
    let mut samples = prefixed("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], 20, || random.alnum(36));
    samples.extend(prefixed("github-fine-grained-token", &["github_pat_"], 20, || random.alnum(82)));
    samples.extend(prefixed("gitlab-token", &["glpat-", "gldt-", "glrt-", "glcbt-"], 12, || random.base64_url(20)));
    samples.extend(prefixed("gitlab-runner-token", &["GR1348941"], 12, || random.base64_url(20)));
    samples.extend(prefixed("bitbucket-app-password", &["ATBB"], 20, || random.alnum(32)));
    samples.extend(prefixed("atlassian-token", &["ATATT3xFfG", "ATCTT3xFfG"], 30, || random.base64_url(160)));
    samples.extend(prefixed("sourcegraph-token", &["sgp_"], 20, || random.hex(40)));
    samples.extend(prefixed("buildkite-token", &["bkua_"], 20, || random.hex(40)));
    samples.extend(prefixed("circleci-token", &["CCIPAT_"], 20, || random.alnum(60)));
    samples
}

fn model_providers(random: &mut SeededRandom) -> Vec<Sample> {
    let mut samples = prefixed("anthropic-key", &["sk-ant-api03-", "sk-ant-oat01-"], 10, || random.base64_url(95));
    samples.extend(prefixed("openai-key", &["sk-proj-", "sk-svcacct-"], 12, || random.base64_url(120)));
    samples.extend(prefixed("openrouter-key", &["sk-or-v1-"], 12, || random.hex(64)));
    samples.extend(prefixed("langfuse-key", &["sk-lf-"], 12, || random.hex(36)));
    samples.extend(prefixed("model-provider-key", &["sk-"], 12, || random.alnum(48)));
    samples.extend(prefixed("groq-key", &["gsk_"], 20, || random.alnum(52)));
    samples.extend(prefixed("xai-key", &["xai-"], 20, || random.alnum(80)));
    samples.extend(prefixed("huggingface-token", &["hf_"], 20, || random.alnum(34)));
    samples.extend(prefixed("huggingface-org-token", &["api_org_"], 20, || random.alnum(34)));
    samples.extend(prefixed("replicate-token", &["r8_"], 20, || random.alnum(37)));
    samples.extend(prefixed("perplexity-key", &["pplx-"], 20, || random.alnum(48)));
    samples.extend(prefixed("fireworks-key", &["fw_"], 12, || random.alnum(24)));
    samples.extend(prefixed("together-key", &["tgp_v1_"], 12, || random.base64_url(43)));
    samples.extend(prefixed("nvidia-key", &["nvapi-"], 20, || random.base64_url(64)));
    samples.extend(prefixed("cerebras-key", &["csk-"], 12, || random.lower(48)));
    samples.extend(prefixed("tavily-key", &["tvly-dev-"], 8, || random.alnum(32)));
    samples.extend(prefixed("voyage-key", &["pa-"], 20, || random.base64_url(43)));
    samples.extend(prefixed("elevenlabs-key", &["sk_"], 20, || random.hex(48)));
    samples.extend(prefixed("langsmith-key", &["lsv2_pt_"], 12, || random.hex(43)));
    samples.extend(prefixed("pinecone-key", &["pcsk_"], 20, || random.alnum(70)));
    samples.extend(prefixed("jina-key", &["jina_"], 20, || random.base64_url(60)));
    samples.extend(prefixed("anyscale-key", &["esecret_"], 12, || random.lower(26)));
    samples
}

fn chat(random: &mut SeededRandom) -> Vec<Sample> {
    let mut samples = prefixed("slack-token", &["xoxb-", "xoxp-", "xoxe-", "xapp-1-"], 4, || {
        format!("{}-{}", random.digits(12), random.alnum(24))
    });
    let path = format!("T{}/B{}/{}", random.upper(8), random.upper(8), random.alnum(24));
    samples.push(after(
        "slack-webhook",
        "https://hooks.slack.com/services/",
        path,
        "https://hooks.slack.com/services/T00".into(),
    ));
    let path = format!("{}/{}", random.digits(18), random.base64_url(68));
    samples.push(after(
        "discord-webhook",
        "https://discord.com/api/webhooks/",
        path,
        "https://discord.com/api/webhooks/123/messages".into(),
    ));
    let path = format!("{}@{}/IncomingWebhook/{}", random.hex(36), random.hex(36), random.hex(32));
    samples.push(after(
        "teams-webhook",
        "https://corp.webhook.office.com/webhookb2/",
        path,
        "https://corp.webhook.office.com/webhookb2/docs".into(),
    ));
    let (id, body) = (format!("1{}", random.digits(9)), random.base64_url(33));
    samples.push(token("telegram-bot-token", format!("{id}:AA{body}"), format!("{id}:AA{}", &body[..20])));
    let (time, signature) = (random.alnum(6), random.base64_url(38));
    let id = format!("M{}{}", "TA", random.alnum(21));
    samples.push(token("discord-bot-token", format!("{id}.{time}.{signature}"), format!("{id}.{time}.short")));
    let (name, body) = (random.alnum(8), random.alnum(20));
    samples.push(token("matrix-token", format!("syt_{name}_{body}_1a2b3c"), format!("syt_{name}_{}", &body[..8])));
    samples
}

fn registries(random: &mut SeededRandom) -> Vec<Sample> {
    let mut samples = prefixed("npm-token", &["npm_"], 20, || random.alnum(36));
    samples.extend(prefixed("pypi-token", &["pypi-AgEIcHlwaS5vcmc"], 20, || random.base64_url(150)));
    samples.extend(prefixed("crates-io-token", &["cio"], 20, || random.alnum(32)));
    samples.extend(prefixed("rubygems-token", &["rubygems_"], 20, || random.hex(48)));
    samples.extend(prefixed("nuget-key", &["oy2"], 30, || random.lower(43)));
    samples.extend(prefixed("docker-token", &["dckr_pat_", "dckr_oat_"], 12, || random.base64_url(27)));
    samples.extend(prefixed("artifactory-key", &["AKCp"], 40, || random.alnum(69)));
    samples.extend(prefixed("artifactory-reference-token", &["cmVmdGtuOj"], 30, || random.alnum(54)));
    samples.extend(prefixed("clojars-token", &["CLOJARS_"], 30, || random.hex(60)));
    samples
}

fn services(random: &mut SeededRandom) -> Vec<Sample> {
    let mut samples = prefixed("stripe-key", &["sk_live_", "sk_test_", "rk_live_"], 10, || random.alnum(24));
    samples.extend(prefixed("webhook-secret", &["whsec_"], 12, || random.alnum(32)));
    samples.extend(prefixed("twilio-key", &["SK"], 31, || random.hex(32)));
    let (id, key) = (random.base64_url(22), random.base64_url(43));
    samples.push(token("sendgrid-key", format!("SG.{id}.{key}"), format!("SG.{id}")));
    samples.extend(prefixed("sendinblue-key", &["xkeysib-"], 20, || random.hex(64)));
    samples.extend(prefixed("mailgun-key", &["key-"], 31, || random.hex(32)));
    let key = random.hex(32);
    samples.push(token("mailchimp-key", format!("{key}-us{}", 12), format!("{}-us12", &key[..30])));
    samples.extend(prefixed("shopify-token", &["shpat_", "shpss_"], 20, || random.hex(32)));
    samples.extend(prefixed("linear-key", &["lin_api_"], 20, || random.alnum(40)));
    samples.extend(prefixed("notion-token", &["ntn_"], 20, || random.alnum(46)));
    samples.extend(prefixed("notion-legacy-token", &["secret_"], 20, || random.alnum(43)));
    samples.extend(prefixed("square-token", &["sq0atp-"], 12, || random.base64_url(22)));
    let (id, key) = (random.lower(16), random.hex(32));
    samples.push(token(
        "paypal-token",
        format!("access_token$production${id}${key}"),
        format!("access_token$production${id}"),
    ));
    samples.extend(prefixed("postman-key", &["PMAK-"], 30, || random.hex(59)));
    samples.extend(prefixed("new-relic-key", &["NRAK-"], 12, || random.upper(27)));
    samples.extend(prefixed("grafana-token", &["glsa_"], 12, || random.alnum(41)));
    samples.extend(prefixed("sentry-token", &["sntryu_"], 20, || random.hex(64)));
    let (id, key) = (random.alnum(14), random.hex(64));
    samples.push(token("airtable-token", format!("pat{id}.{key}"), format!("pat{id}.{}", &key[..32])));
    samples.extend(prefixed("figma-token", &["figd_"], 20, || random.base64_url(40)));
    samples.extend(prefixed("easypost-key", &["EZAK"], 30, || random.alnum(54)));
    samples.extend(prefixed("flutterwave-key", &["FLWSECK_TEST-"], 6, || random.hex(32)));
    samples.extend(prefixed("duffel-token", &["duffel_test_"], 20, || random.base64_url(43)));
    let uuid = [random.hex(8), random.hex(4), random.hex(4), random.hex(4), random.hex(12)].join("-");
    samples.push(token("plaid-token", format!("access-sandbox-{uuid}"), format!("access-sandbox-{}", &uuid[..13])));
    samples.push(token("launchdarkly-key", format!("sdk-{uuid}"), format!("sdk-{}", &uuid[..13])));
    samples.extend(prefixed("prefect-key", &["pnu_"], 20, || random.alnum(36)));
    samples.extend(prefixed("shippo-key", &["shippo_live_"], 20, || random.hex(40)));
    samples.extend(prefixed("adafruit-key", &["aio_"], 20, || random.alnum(28)));
    samples.extend(prefixed("typeform-token", &["tfp_"], 20, || random.base64_url(59)));
    samples.extend(prefixed("contentful-token", &["CFPAT-"], 20, || random.base64_url(43)));
    let (head, tail) = (random.base64_url(60), random.base64_url(22));
    samples.push(token("mapbox-token", format!("sk.eyJ{head}.{tail}"), format!("sk.eyJ{}.{tail}", &head[..20])));
    samples.extend(prefixed("telnyx-key", &["KEY0"], 20, || random.alnum(54)));
    samples.extend(prefixed("posthog-key", &["phx_"], 20, || random.alnum(43)));
    samples.extend(prefixed("readme-key", &["rdme_"], 30, || random.lower(70)));
    samples.extend(prefixed("asaas-key", &["$aact_"], 30, || random.base64(96)));
    samples.extend(prefixed("ionic-token", &["ion_"], 20, || random.alnum(42)));
    samples.push(after("okta-token", "SSWS ", random.base64_url(42), "SSWS tokens".into()));
    samples
}
