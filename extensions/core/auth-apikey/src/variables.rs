//! Keys in environment variables: which variable is for which server.

use crate::audience::Audience;
use crate::error::KeyError;
use dispatch_contracts::secret::Secret;
use dispatch_os::environment;

/// The variable whose key is for the configured server, whichever that is.
pub const OWN_VARIABLE: &str = "DISPATCH_API_KEY";

/// The variables of well-known providers, and the one host that each key may be sent to.
pub const PROVIDER_VARIABLES: [(&str, &str); 20] = [
    ("ANTHROPIC_API_KEY", "api.anthropic.com"),
    ("CEREBRAS_API_KEY", "api.cerebras.ai"),
    ("DASHSCOPE_API_KEY", "dashscope.aliyuncs.com"),
    ("DEEPINFRA_API_KEY", "api.deepinfra.com"),
    ("DEEPSEEK_API_KEY", "api.deepseek.com"),
    ("FIREWORKS_API_KEY", "api.fireworks.ai"),
    ("GEMINI_API_KEY", "generativelanguage.googleapis.com"),
    ("GROQ_API_KEY", "api.groq.com"),
    ("HF_TOKEN", "router.huggingface.co"),
    ("MISTRAL_API_KEY", "api.mistral.ai"),
    ("MOONSHOT_API_KEY", "api.moonshot.ai"),
    ("NVIDIA_API_KEY", "integrate.api.nvidia.com"),
    ("OLLAMA_API_KEY", "ollama.com"),
    ("OPENAI_API_KEY", "api.openai.com"),
    ("OPENROUTER_API_KEY", "openrouter.ai"),
    ("PERPLEXITY_API_KEY", "api.perplexity.ai"),
    ("SAMBANOVA_API_KEY", "api.sambanova.ai"),
    ("TOGETHER_API_KEY", "api.together.xyz"),
    ("XAI_API_KEY", "api.x.ai"),
    ("ZAI_API_KEY", "api.z.ai"),
];

/// Reads a variable; passed in, so that what is decided about variables can be tested without any.
pub(crate) type ReadVariable = fn(&str) -> Result<Option<String>, dispatch_os::OsError>;

/// The process's own environment.
pub(crate) const ENVIRONMENT: ReadVariable = environment::variable;

/// A key in a variable.
#[derive(Debug)]
pub(crate) struct VariableKey {
    pub(crate) variable: &'static str,
    pub(crate) audience: Audience,
    pub(crate) key: Secret,
}

/// Every key in the environment; that of [`OWN_VARIABLE`] first. Without a configured server that one
/// is not used.
pub(crate) fn keys(read: ReadVariable, configured: Option<&Audience>) -> Result<Vec<VariableKey>, KeyError> {
    let own = configured.map(|audience| (OWN_VARIABLE, audience.clone()));
    let known = PROVIDER_VARIABLES.iter().filter_map(|(variable, host)| Some((*variable, Audience::parse(host).ok()?)));
    let mut found = Vec::new();
    for (variable, audience) in own.into_iter().chain(known) {
        let key = read(variable)?.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        found.extend(key.map(|key| VariableKey { variable, audience, key: Secret::new(key) }));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn every_variable_is_for_one_encrypted_host_and_reaches_no_child() {
        let names = PROVIDER_VARIABLES.iter().map(|(name, _)| *name).chain([OWN_VARIABLE]);
        for name in names {
            assert!(!dispatch_os::process::is_passed_on(OsStr::new(name)), "{name}");
        }
        for (name, host) in PROVIDER_VARIABLES {
            assert!(Audience::parse(host).unwrap().is_secure_server_of(host), "{name}");
        }
        let mut sorted = PROVIDER_VARIABLES;
        sorted.sort_unstable();
        assert_eq!(sorted, PROVIDER_VARIABLES, "easy to read");
    }

    #[test]
    fn the_own_variable_belongs_to_the_configured_server() {
        let read: ReadVariable =
            |name| Ok(["DISPATCH_API_KEY", "OPENAI_API_KEY"].contains(&name).then(|| format!(" {name} ")));
        let seen = |configured: Option<&str>| -> Vec<String> {
            let configured = configured.map(|address| Audience::parse(address).unwrap());
            let found = keys(read, configured.as_ref()).unwrap();
            found.iter().map(|key| format!("{} {}", key.key.expose(), key.audience)).collect()
        };
        assert_eq!(seen(None), ["OPENAI_API_KEY https://api.openai.com"]);
        assert_eq!(
            seen(Some("http://10.0.0.1:8000/v1")),
            ["DISPATCH_API_KEY http://10.0.0.1:8000", "OPENAI_API_KEY https://api.openai.com"]
        );
    }
}
