//! A value is redacted for the name it is given, if it has the shape of a secret.

use dispatch_redact::Redactor;

fn check(secret: &str, text: &str) {
    let redacted = Redactor::builtin().redact(text).into_owned();
    assert_eq!(redacted, text.replace(secret, "[REDACTED]"), "{text}");
    assert_ne!(redacted, text, "nothing was found");
}

fn check_stays(text: &str) {
    assert_eq!(Redactor::builtin().redact(text), text);
}

#[test]
fn passwords_go_in_every_form() {
    let secret = ["hunter2", "hunter2"].concat();
    for text in [
        "password={}",
        "PASSWORD={}",
        "export DB_PASSWORD={}\n",
        "DB_PASSWORD=\"{}\"",
        "password: {}",
        "  password: {}\n  host: db\n",
        "password: '{}'",
        "password = \"{}\"",
        "password = {}\n",
        "{\"password\":\"{}\"}",
        "{\"password\" : \"{}\", \"user\": \"bob\"}",
        "{\\\"password\\\":\\\"{}\\\"}",
        "\"cmd\": \"export DB_PASS={}\\nls\"",
        "mysql --password={} -u root",
        "mysql --password {} -u root",
        "[\"--password\", \"{}\"]",
        "https://x.org/?user=a&password={}&x=1",
        "Server=db;Database=x;Password={};Encrypt=true",
        "config['password'] = '{}'",
        "'password' => '{}',",
        "password := \"{}\"",
        "const PASSWORD: &str = \"{}\";",
        "let dbPassword: string = '{}';",
        "password = b\"{}\"",
        "<password>{}</password>",
        "user.passwd={}",
        "pwd={};",
        "passphrase: {}",
        "connect(password=\"{}\", host=\"x\")",
        "db.pass = \"{}\"",
        "password%3D{}",
    ] {
        check(&secret, &text.replace("{}", &secret));
    }
}

#[test]
fn tokens_go_in_every_form() {
    let secret = ["9fK2mQ7x", "Vb4TzL1wPc8R"].concat();
    for text in [
        "token={}",
        "API_KEY={}",
        "api-key: {}",
        "X-Api-Key: {}",
        "apiKey: \"{}\",",
        "access_key = {}\n",
        "aws_secret_access_key = {}",
        "client_secret={}&grant_type=x",
        "\"clientSecret\": \"{}\"",
        "private_key: {}",
        "//registry.example.org/:_authToken={}",
        "auth = '{}'",
        "SECRET_KEY='{}'",
        "signing-key: {}",
        "credentials: {}",
        "--token {} --verbose",
        "f(token={}, x=1)",
        "token = {};",
    ] {
        check(&secret, &text.replace("{}", &secret));
    }
}

#[test]
fn the_usual_cloud_secret_goes_with_slashes_and_the_word_example() {
    let secret = ["wJalrXUtnFEMI/K7MDENG", "/bPxRfiCYEXAMPLEKEY"].concat();
    check(&secret, &format!("aws_secret_access_key = {secret}\n"));
    check(&secret, &format!("AWS_SECRET_ACCESS_KEY={secret}\n"));
    check(&secret, &format!("\"SecretAccessKey\": \"{secret}\","));
}

#[test]
fn short_and_simple_passwords_go_where_the_form_is_clear() {
    for secret in ["hunter2", "letmein!", "12345678", "P@ssw0rd", "correcthorsebatterystaple"] {
        check(secret, &format!("{{\"password\": \"{secret}\"}}"));
    }
    for secret in ["hunter22", "P@ssw0rd!", "correcthorsebattery", "Hunter2Hunter2"] {
        check(secret, &format!("DB_PASSWORD={secret}\n"));
        check(secret, &format!("(DB_PASSWORD={secret})"));
    }
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "password = get_password()",
        "token: string",
        "secret=${SECRET}",
        "secret=$SECRET_2",
        "api_key=\"your-api-key-here\"",
        "password=***",
        "password=",
        "password: \"\"",
        "password: \"********\"",
        "password = None",
        "token = parse_token_v2(input)",
        "token = nextToken2",
        "token: u64,",
        "token: TokenV2,",
        "let token = lexer.next_token();",
        "password: process.env.DB_PASSWORD2,",
        "password = os.environ[\"DB_PASSWORD_1\"]",
        "PASSWORD=$(cat /run/secrets/db1)",
        "PWD=/home/user1/project2",
        "password: {{ .Values.db.password1 }}",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "Authorization: Bearer <token>",
        "Authorization: Bearer {token}",
        "f\"Bearer {token}\"",
        "passwords: 12345678",
        "token_count: 123456789012",
        "max_tokens: 4096",
        "\"token\": \"1234\"",
        "secretName: db-credentials-v2",
        "secret: db-credentials-v2",
        "password: \"Enter your password, 8 characters or more\"",
        "password_file=/run/secrets/db_password_1",
        "password=/run/secrets/db_password_1",
        "compass=northwest12345",
        "keyboard: qwerty12345",
        "primary_key: user12345id67",
        "tokenizer: cl100k_base_2024",
        "auth: OAuth2Config",
        "auth::token2::Parser3",
        "if token == other.token2 {",
        "-----BEGIN PRIVATE KEY-----",
        "\"auth.password.label2\": \"auth.password.hint2\"",
        "token: 'kubernetes-dashboard-token-2'",
        "password: [REDACTED]",
        "password=[REDACTED:0123abcd]",
        "<password>",
        "password: <password>",
        "password: %(password1)s",
        "api_key: %API_KEY_1%",
    ] {
        check_stays(text);
    }
}
