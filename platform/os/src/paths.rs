//! Where things are: user folders, project roots, and questions about paths that a guard relies on.

mod beneath;
mod closed;
mod confined;
mod file_name;
mod file_uri;
mod inside;
mod normalise;
mod project;
mod real_paths;
mod user_dirs;

pub use beneath::{Beneath, open_beneath};
pub use confined::{Confined, ConfinedPath, Opener};
pub use file_name::{MAX_FILE_NAME_BYTES, safe_file_name};
pub use file_uri::{path_of_uri, percent_decoded, uri_of_path};
pub use inside::{Containment, ResolvedPath, resolve_inside};
pub use normalise::{PathStyle, normalise_path, normalise_text};
pub use project::{ProjectMarker, ProjectRoot, find_project_root};
pub use real_paths::RealPaths;
pub use user_dirs::{Platform, UserDirs};
