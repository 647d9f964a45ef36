//! The user's folders for configuration, data, state, cache and sockets, as each system has them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::PathStyle;
use crate::{OsError, environment};

const HOME_VARIABLE: &str = "DISPATCH_HOME";
const FOLDER: &str = "dispatch";

/// Whose conventions for user folders apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// The XDG base directories.
    Xdg,
    /// `~/Library`.
    MacOs,
    /// `%APPDATA%` and `%LOCALAPPDATA%`.
    Windows,
}

impl Platform {
    /// The conventions of the system this runs on.
    pub const NATIVE: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::MacOs
    } else {
        Self::Xdg
    };

    fn style(self) -> PathStyle {
        match self {
            Self::Windows => PathStyle::Windows,
            Self::Xdg | Self::MacOs => PathStyle::Unix,
        }
    }
}

/// The user's folders; none of them is created by asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserDirs {
    /// What the user writes: `dispatch.toml`, personas, skills.
    pub config: PathBuf,
    /// What must not be lost: databases, tokens.
    pub data: PathBuf,
    /// What should survive a restart: logs, history.
    pub state: PathBuf,
    /// What can be made again.
    pub cache: PathBuf,
    /// Sockets and locks of the running session.
    pub runtime: PathBuf,
}

impl UserDirs {
    /// The folders by the environment of this process.
    pub fn discover() -> Result<Self, OsError> {
        Self::from_variables(Platform::NATIVE, environment::variable_os)
    }

    /// The folders by any set of variables.
    ///
    /// `DISPATCH_HOME` moves all of them: it is the data folder, with `config`, `state`, `cache` and `run` below it. Empty
    /// variables count as unset; relative XDG folders are ignored, as the XDG rules demand.
    pub fn from_variables(platform: Platform, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, OsError> {
        let lookup = Lookup { platform, variable };
        if let Some(home) = lookup.set(HOME_VARIABLE) {
            if !lookup.is_absolute(&home) {
                return Err(OsError::NotAbsolute { variable: HOME_VARIABLE });
            }
            return Ok(lookup.below_one_home(&home));
        }
        match platform {
            Platform::Xdg => lookup.xdg(),
            Platform::MacOs => lookup.mac_os(),
            Platform::Windows => lookup.windows(),
        }
    }
}

struct Lookup<F> {
    platform: Platform,
    variable: F,
}

impl<F: Fn(&str) -> Option<OsString>> Lookup<F> {
    fn xdg(&self) -> Result<UserDirs, OsError> {
        let folder = |variable: &str, default: &[&str]| -> Result<PathBuf, OsError> {
            let base = match self.absolute(variable) {
                Some(base) => base,
                None => self.join(&self.home("HOME")?, default),
            };
            Ok(self.join(&base, &[FOLDER]))
        };
        let state = folder("XDG_STATE_HOME", &[".local", "state"])?;
        Ok(UserDirs {
            config: folder("XDG_CONFIG_HOME", &[".config"])?,
            data: folder("XDG_DATA_HOME", &[".local", "share"])?,
            cache: folder("XDG_CACHE_HOME", &[".cache"])?,
            runtime: match self.absolute("XDG_RUNTIME_DIR") {
                Some(base) => self.join(&base, &[FOLDER]),
                None => self.join(&state, &["run"]),
            },
            state,
        })
    }

    fn mac_os(&self) -> Result<UserDirs, OsError> {
        let library = self.join(&self.home("HOME")?, &["Library"]);
        let support = self.join(&library, &["Application Support", FOLDER]);
        Ok(UserDirs {
            config: self.join(&support, &["config"]),
            data: self.join(&support, &["data"]),
            state: self.join(&support, &["state"]),
            cache: self.join(&library, &["Caches", FOLDER]),
            runtime: self.join(&support, &["run"]),
        })
    }

    fn windows(&self) -> Result<UserDirs, OsError> {
        let base = |variable: &str, default: &str| match self.absolute(variable) {
            Some(base) => Ok(base),
            None => Ok(self.join(&self.home("USERPROFILE")?, &["AppData", default])),
        };
        let roaming = base("APPDATA", "Roaming")?;
        let local = base("LOCALAPPDATA", "Local")?;
        Ok(UserDirs {
            config: self.join(&roaming, &[FOLDER, "config"]),
            data: self.join(&local, &[FOLDER, "data"]),
            state: self.join(&local, &[FOLDER, "state"]),
            cache: self.join(&local, &[FOLDER, "cache"]),
            runtime: self.join(&local, &[FOLDER, "run"]),
        })
    }

    fn below_one_home(&self, home: &Path) -> UserDirs {
        let below = |name| self.join(home, &[name]);
        UserDirs {
            config: below("config"),
            data: home.to_owned(),
            state: below("state"),
            cache: below("cache"),
            runtime: below("run"),
        }
    }

    fn set(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    fn absolute(&self, variable: &str) -> Option<PathBuf> {
        self.set(variable).filter(|path| self.is_absolute(path))
    }

    fn home(&self, variable: &'static str) -> Result<PathBuf, OsError> {
        self.absolute(variable).ok_or(OsError::HomeUnknown { variable })
    }

    /// By the platform's rules, not those of the system this runs on.
    fn is_absolute(&self, path: &Path) -> bool {
        let text = path.as_os_str().as_encoded_bytes();
        match self.platform.style() {
            PathStyle::Unix => text.starts_with(b"/"),
            PathStyle::Windows => {
                let is_drive = matches!(
                    text,
                    [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic()
                );
                is_drive || text.starts_with(br"\\")
            }
        }
    }

    fn join(&self, base: &Path, names: &[&str]) -> PathBuf {
        let separator = match self.platform.style() {
            PathStyle::Unix => "/",
            PathStyle::Windows => "\\",
        };
        let mut joined = base.as_os_str().to_os_string();
        for name in names {
            let ends_in_separator = matches!(
                joined.as_encoded_bytes().last(),
                Some(last) if separator.as_bytes() == [*last]
            );
            if !ends_in_separator {
                joined.push(separator);
            }
            joined.push(name);
        }
        PathBuf::from(joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs(platform: Platform, variables: &[(&str, &str)]) -> Result<[String; 5], OsError> {
        let lookup = |wanted: &str| {
            let found = variables.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| OsString::from(value))
        };
        let dirs = UserDirs::from_variables(platform, lookup)?;
        let all = [dirs.config, dirs.data, dirs.state, dirs.cache, dirs.runtime];
        Ok(all.map(|path| path.to_str().unwrap().to_owned()))
    }

    #[test]
    fn each_platform_has_its_places() {
        let linux = dirs(Platform::Xdg, &[("HOME", "/home/me")]).unwrap();
        assert_eq!(
            linux,
            [
                "/home/me/.config/dispatch",
                "/home/me/.local/share/dispatch",
                "/home/me/.local/state/dispatch",
                "/home/me/.cache/dispatch",
                "/home/me/.local/state/dispatch/run",
            ]
        );
        let mac = dirs(Platform::MacOs, &[("HOME", "/Users/me")]).unwrap();
        assert_eq!(mac[0], "/Users/me/Library/Application Support/dispatch/config");
        assert_eq!(mac[3], "/Users/me/Library/Caches/dispatch");
        let windows = dirs(Platform::Windows, &[("USERPROFILE", r"C:\Users\me")]).unwrap();
        assert_eq!(windows[0], r"C:\Users\me\AppData\Roaming\dispatch\config");
        assert_eq!(windows[1], r"C:\Users\me\AppData\Local\dispatch\data");
        let moved = dirs(Platform::Windows, &[("USERPROFILE", "C:/me"), ("LOCALAPPDATA", r"D:\")]);
        assert_eq!(moved.unwrap()[3], r"D:\dispatch\cache");
    }

    #[test]
    fn xdg_variables_move_one_folder_each_unless_relative_or_empty() {
        let linux = dirs(
            Platform::Xdg,
            &[
                ("HOME", "/home/me"),
                ("XDG_CONFIG_HOME", "/etc/me/"),
                ("XDG_DATA_HOME", "relative"),
                ("XDG_CACHE_HOME", ""),
                ("XDG_RUNTIME_DIR", "/run/user/1000"),
            ],
        )
        .unwrap();
        assert_eq!(linux[0], "/etc/me/dispatch");
        assert_eq!(linux[1], "/home/me/.local/share/dispatch");
        assert_eq!(linux[3], "/home/me/.cache/dispatch");
        assert_eq!(linux[4], "/run/user/1000/dispatch");
    }

    #[test]
    fn dispatch_home_moves_everything_and_needs_no_home() {
        let moved = dirs(Platform::Xdg, &[("DISPATCH_HOME", "/d"), ("XDG_DATA_HOME", "/x")]);
        assert_eq!(moved.unwrap(), ["/d/config", "/d", "/d/state", "/d/cache", "/d/run"]);
        let moved = dirs(Platform::Windows, &[("DISPATCH_HOME", r"D:\d")]);
        assert_eq!(moved.unwrap(), [r"D:\d\config", r"D:\d", r"D:\d\state", r"D:\d\cache", r"D:\d\run"]);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (platform, variables, text) in [
            (Platform::Xdg, vec![], "the home folder is unknown: HOME is not set"),
            (Platform::MacOs, vec![("HOME", "")], "the home folder is unknown: HOME is not set"),
            (Platform::Windows, vec![], "the home folder is unknown: USERPROFILE is not set"),
            (Platform::Xdg, vec![("DISPATCH_HOME", "here")], "DISPATCH_HOME must be an absolute path"),
            (Platform::Windows, vec![("DISPATCH_HOME", "/d")], "DISPATCH_HOME must be an absolute path"),
        ] {
            let error = dirs(platform, &variables).unwrap_err();
            assert_eq!(error.to_string(), text);
            assert!(error.hint().is_some());
        }
    }
}
