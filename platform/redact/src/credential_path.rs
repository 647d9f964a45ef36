//! Which files hold credentials, by name and folder.
//!
//! Pure.

/// Files of these names, wherever they are.
const NAMES: &[&str] = &[
    ".env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".vault-token",
    ".s3cfg",
    ".boto",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "credentials.json",
    "service-account.json",
    "service_account.json",
    "secrets.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.toml",
];
/// Endings of key stores.
const ENDINGS: &[&str] = &[".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".key"];
/// Endings of files that only show what a real one looks like.
const SAMPLES: &[&str] = &["example", "sample", "template", "dist", "defaults", "schema", "test"];
/// Places that hold credentials, as the end of a path or as a folder in it.
const SECRET_FOLDERS: &[&str] = &[
    "/.gnupg",
    "/.aws/credentials",
    "/.aws/sso",
    "/.kube/config",
    "/.docker/config.json",
    "/.config/gcloud",
    "/.config/gh/hosts.yml",
    "/.config/op",
    "/.azure",
    "/.cargo/credentials",
    "/.cargo/credentials.toml",
    "/.password-store",
    "/.codex/auth.json",
    "/.claude/.credentials.json",
    "/.terraform.d/credentials.tfrc.json",
    "/etc/shadow",
    "/etc/gshadow",
    "/.local/share/keyrings",
    "/library/keychains",
];
/// Files of the SSH folder that hold nothing secret.
const PUBLIC_SSH: &[&str] = &["config", "known_hosts", "known_hosts.old", "authorized_keys", "environment"];

/// Whether a path names a file or folder that holds credentials.
#[must_use]
pub fn is_credential(path: &str) -> bool {
    let path = path.replace('\\', "/").to_ascii_lowercase();
    let path = path.trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or(path);
    let sample = SAMPLES.iter().any(|sample| name.ends_with(sample) || name.starts_with(sample));
    let environment = name.starts_with(".env.") || name.ends_with(".env");
    let private_key = name.ends_with(".pem") && (name.contains("key") || name.contains("priv"));
    let named =
        NAMES.contains(&name) || environment || private_key || ENDINGS.iter().any(|ending| name.ends_with(ending));
    (named && !sample && !name.ends_with(".pub")) || is_secret_folder(path) || is_ssh_secret(path, name)
}

/// Whether a path names a private key of the user.
#[must_use]
pub fn is_private_key(path: &str) -> bool {
    let path = path.replace('\\', "/").to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let named =
        ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"].iter().any(|key| name == *key || name == format!("{key}_sk"));
    let in_ssh = path.split_once("/.ssh/").is_some_and(|_| is_ssh_secret(&path, name));
    let in_gnupg = path.contains("/.gnupg/private-keys") || name == "secring.gpg";
    named || in_ssh || in_gnupg
}

/// Whether a path is the environment of a process.
#[must_use]
pub fn is_environment(path: &str) -> bool {
    path.starts_with("/proc/") && path.ends_with("/environ")
}

fn is_secret_folder(path: &str) -> bool {
    SECRET_FOLDERS
        .iter()
        .any(|folder| path.split_once(folder).is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with('/')))
        || path.ends_with("/.aws")
}

fn is_ssh_secret(path: &str, name: &str) -> bool {
    if name == ".ssh" {
        return true;
    }
    let inside = path.split_once("/.ssh/").is_some();
    inside && !PUBLIC_SSH.contains(&name) && !name.ends_with(".pub")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_from_what_only_looks_like_them() {
        let secret = [
            "/repo/.env",
            "/repo/.env.production",
            "/repo/prod.env",
            "/home/dev/.ssh",
            "/home/dev/.ssh/id_rsa",
            "/home/dev/.ssh/*",
            "/home/dev/.ssh/work",
            "/home/dev/.aws/credentials",
            "/home/dev/.aws",
            "/home/dev/.netrc",
            "/etc/shadow",
            "/repo/private.pem",
            "/repo/tls.key",
            "/home/dev/.kube/config",
            "C:\\Users\\d\\.ssh\\id_ed25519",
            "/home/dev/.gnupg/secring.gpg",
            "/home/dev/.config/gcloud/access_tokens.db",
            "/repo/app.p12",
        ];
        for path in secret {
            assert!(is_credential(path), "{path}");
        }
        let open = [
            "/repo/.env.example",
            "/repo/.env.sample",
            "/repo/example.env",
            "/home/dev/.ssh/config",
            "/repo/cert.pem",
            "/home/dev/.ssh/id_rsa.pub",
            "/home/dev/.ssh/known_hosts",
            "/home/dev/.aws/config",
            "/repo/src/env.rs",
            "/repo/keyboard.rs",
            "/etc/passwd",
            "/repo/environment",
            "/etc/shadowsocks.json",
            "",
        ];
        for path in open {
            assert!(!is_credential(path), "{path}");
        }
    }
}
