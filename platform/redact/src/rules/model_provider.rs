//! Keys of model providers and of the tools around them.

use crate::charset::{ALNUM, BASE64_URL, HEX, WORD};
use crate::rule::Part::{AtLeast, Exactly};
use crate::rule::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule::token("anthropic-key", &["sk-ant-"], &[AtLeast(BASE64_URL, 20)]),
    Rule::token("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], &[AtLeast(BASE64_URL, 20)]),
    Rule::token("openrouter-key", &["sk-or-"], &[AtLeast(BASE64_URL, 32)]).with_digit(),
    Rule::token("langfuse-key", &["sk-lf-"], &[AtLeast(BASE64_URL, 32)]).with_digit(),
    // OpenAI's first format, and the many providers that copied its prefix.
    Rule::token("model-provider-key", &["sk-"], &[AtLeast(ALNUM, 20)]).at_word_start().with_digit(),
    Rule::token("groq-key", &["gsk_"], &[AtLeast(ALNUM, 40)]),
    Rule::token("xai-key", &["xai-"], &[AtLeast(ALNUM, 60)]).at_word_start(),
    Rule::token("huggingface-token", &["hf_"], &[AtLeast(ALNUM, 30)]).at_word_start(),
    Rule::token("huggingface-org-token", &["api_org_"], &[AtLeast(ALNUM, 30)]),
    Rule::token("replicate-token", &["r8_"], &[AtLeast(ALNUM, 30)]).at_word_start(),
    Rule::token("perplexity-key", &["pplx-"], &[AtLeast(ALNUM, 40)]),
    Rule::token("fireworks-key", &["fw_"], &[AtLeast(ALNUM, 20)]).at_word_start().with_digit(),
    Rule::token("together-key", &["tgp_v1_"], &[AtLeast(BASE64_URL, 32)]),
    Rule::token("nvidia-key", &["nvapi-"], &[AtLeast(BASE64_URL, 40)]),
    Rule::token("cerebras-key", &["csk-"], &[AtLeast(ALNUM, 32)]).at_word_start().with_digit(),
    Rule::token("tavily-key", &["tvly-"], &[AtLeast(BASE64_URL, 24)]).with_digit(),
    Rule::token("voyage-key", &["pa-"], &[Exactly(BASE64_URL, 43)]).at_word_start().with_digit(),
    Rule::token("elevenlabs-key", &["sk_"], &[AtLeast(HEX, 48)]).at_word_start(),
    Rule::token("langsmith-key", &["lsv2_pt_", "lsv2_sk_"], &[AtLeast(WORD, 32)]),
    Rule::token("pinecone-key", &["pcsk_"], &[AtLeast(WORD, 40)]),
    Rule::token("jina-key", &["jina_"], &[AtLeast(BASE64_URL, 40)]).at_word_start().with_digit(),
    Rule::token("anyscale-key", &["esecret_"], &[AtLeast(ALNUM, 24)]).with_digit(),
];
