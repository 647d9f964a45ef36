//! Certificates for a test's server, made by the system's `openssl`: an authority of its own and what it signed.

use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// An authority with a certificate for one host.
pub struct Certificates {
    folder: TempDir,
}

impl Certificates {
    /// Makes an authority and lets it sign a certificate for a host, by name or by address (`DNS:...`, `IP:...`).
    ///
    /// # Panics
    /// When `openssl` is missing.
    #[must_use]
    pub fn for_host(host: &str) -> Self {
        let made = Self { folder: tempfile::tempdir().expect("a folder can be made") };
        let extensions = format!("subjectAltName={host}\nbasicConstraints=CA:FALSE\n");
        std::fs::write(made.folder.path().join("extensions"), extensions).expect("a file can be written");
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        let authority =
            ["req", "-x509", "-days", "2", "-subj", "/CN=test authority", "-keyout", "ca.key", "-out", "ca.pem"];
        made.openssl(&[&authority[..], &key].concat());
        let request = ["req", "-new", "-subj", "/CN=database", "-keyout", "server.key", "-out", "server.csr"];
        made.openssl(&[&request[..], &key].concat());
        let sign = "x509 -req -days 2 -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile extensions -out server.pem";
        made.openssl(&sign.split(' ').collect::<Vec<_>>());
        made
    }

    fn openssl(&self, arguments: &[&str]) {
        let done = Command::new("openssl").args(arguments).current_dir(self.folder.path()).output().expect("openssl");
        assert!(done.status.success(), "openssl: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The authority's certificate.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.file("ca.pem")
    }

    /// Puts the server's certificate and key into a folder.
    ///
    /// # Panics
    /// When the folder cannot be written to.
    pub fn install(&self, folder: &Path) {
        for name in ["server.pem", "server.key"] {
            std::fs::copy(self.file(name), folder.join(name)).expect("a file can be copied");
        }
    }
}
