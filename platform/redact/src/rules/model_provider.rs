//! Keys of model providers and of the tools around them.
//!
//! Pure.

use crate::charset::{ALNUM, BASE64_URL, HEX, WORD};
use crate::rule::SecretRule;
use crate::rule::TokenPart::{AtLeast, Exactly};

pub(super) const RULES: &[SecretRule] = &[
    SecretRule::token("anthropic-key", &["sk-ant-"], &[AtLeast(BASE64_URL, 20)]),
    SecretRule::token("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], &[AtLeast(BASE64_URL, 20)]),
    SecretRule::token("openrouter-key", &["sk-or-"], &[AtLeast(BASE64_URL, 32)]).with_digit(),
    SecretRule::token("langfuse-key", &["sk-lf-"], &[AtLeast(BASE64_URL, 32)]).with_digit(),
    // OpenAI's first format, and the many providers that copied its prefix.
    SecretRule::token("model-provider-key", &["sk-"], &[AtLeast(ALNUM, 20)]).at_word_start().with_digit(),
    SecretRule::token("groq-key", &["gsk_"], &[AtLeast(ALNUM, 40)]),
    SecretRule::token("xai-key", &["xai-"], &[AtLeast(ALNUM, 60)]).at_word_start(),
    SecretRule::token("huggingface-token", &["hf_"], &[AtLeast(ALNUM, 30)]).at_word_start(),
    SecretRule::token("huggingface-org-token", &["api_org_"], &[AtLeast(ALNUM, 30)]),
    SecretRule::token("replicate-token", &["r8_"], &[AtLeast(ALNUM, 30)]).at_word_start(),
    SecretRule::token("perplexity-key", &["pplx-"], &[AtLeast(ALNUM, 40)]),
    SecretRule::token("fireworks-key", &["fw_"], &[AtLeast(ALNUM, 20)]).at_word_start().with_digit(),
    SecretRule::token("together-key", &["tgp_v1_"], &[AtLeast(BASE64_URL, 32)]),
    SecretRule::token("nvidia-key", &["nvapi-"], &[AtLeast(BASE64_URL, 40)]),
    SecretRule::token("cerebras-key", &["csk-"], &[AtLeast(ALNUM, 32)]).at_word_start().with_digit(),
    SecretRule::token("tavily-key", &["tvly-"], &[AtLeast(BASE64_URL, 24)]).with_digit(),
    SecretRule::token("voyage-key", &["pa-"], &[Exactly(BASE64_URL, 43)]).at_word_start().with_digit(),
    SecretRule::token("elevenlabs-key", &["sk_"], &[AtLeast(HEX, 48)]).at_word_start(),
    SecretRule::token("langsmith-key", &["lsv2_pt_", "lsv2_sk_"], &[AtLeast(WORD, 32)]),
    SecretRule::token("pinecone-key", &["pcsk_"], &[AtLeast(WORD, 40)]),
    SecretRule::token("jina-key", &["jina_"], &[AtLeast(BASE64_URL, 40)]).at_word_start().with_digit(),
    SecretRule::token("anyscale-key", &["esecret_"], &[AtLeast(ALNUM, 24)]).with_digit(),
];
